import { make } from "../chat/dom.js";
import { number, Section, table } from "./section.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 120;
const STEP = 12;
const OUTCOMES = /** @type {const} */ (["answered", "refused", "failed"]);

/** @typedef {{ day: string, questions: number, answered: number, refused: number, failed: number }} Day */

/** How much is asked, day by day. */
export class Usage extends Section {
  /** @param {import("../chat/service.js").Service} service */
  constructor(service) {
    const options = [7, 30, 90].map((days) => make("option", { value: days, selected: days === 30 }, `${days} days`));
    const period = make("select", { "aria-label": "Period", onchange: () => void this.load() }, ...options);
    super("Usage", period);
    this.service = service;
    this.period = period;
  }

  load() {
    return this.attempt(async () => {
      const found = await this.service.read(`/admin/usage?days=${this.period.value}`);
      const { totals, feedback } = found;
      this.show(
        make(
          "dl",
          { class: "figures" },
          ...figure("Questions", number(totals.questions)),
          ...figure("Answered", share(totals.answered, totals.questions)),
          ...figure("Refused", share(totals.refused, totals.questions)),
          ...figure("Failed", share(totals.failed, totals.questions)),
          ...figure("Rated", `${number(feedback.up)} up, ${number(feedback.down)} down`),
          ...figure("Half take, at most", seconds(found.p50_ms)),
          ...figure("95 % take, at most", seconds(found.p95_ms)),
        ),
        chart(found.days),
        make("p", { class: "legend" }, ...OUTCOMES.map((name) => make("span", { "data-outcome": name }, name))),
        make("details", {}, make("summary", {}, "As a table"), byDay(found.days)),
      );
    });
  }
}

/** @param {string} name @param {string} value */
function figure(name, value) {
  return [make("div", {}, make("dt", {}, name), make("dd", {}, value))];
}

/** @param {number | null} milliseconds */
function seconds(milliseconds) {
  return milliseconds === null ? "–" : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** @param {number} part @param {number} whole */
function share(part, whole) {
  return whole ? `${number(part)} (${Math.round((100 * part) / whole)} %)` : number(part);
}

/** @param {Day[]} days */
function chart(days) {
  const most = Math.max(1, ...days.map((day) => day.questions));
  const svg = drawn("svg", { viewBox: `0 0 ${days.length * STEP} ${HEIGHT}`, class: "chart", role: "img", preserveAspectRatio: "none" });
  svg.setAttribute("aria-label", `Questions a day, at most ${most}`);
  days.forEach((day, at) => {
    let top = HEIGHT;
    for (const outcome of OUTCOMES) {
      const height = (day[outcome] / most) * (HEIGHT - 4);
      top -= height;
      if (height) svg.append(drawn("rect", { x: at * STEP + 1.5, y: top, width: STEP - 3, height, "data-outcome": outcome }));
    }
  });
  return svg;
}

/** @param {Day[]} days */
function byDay(days) {
  const asked = days.filter((day) => day.questions).reverse();
  if (!asked.length) return make("p", {}, "Nothing was asked.");
  return table("Questions a day", ["Day", "Answered", "Refused", "Failed"], asked.map((day) => [day.day, ...OUTCOMES.map((name) => number(day[name]))]));
}

/** @param {string} tag @param {Record<string, string | number>} attributes */
function drawn(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}
