import { make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { link, number, Section, when } from "./section.js";

const SHOWN = 20;
/** As many as the service gives at once. */
const MOST = 1000;
const FILE = "gaps.csv";

/** What may be chosen, and how it is told. */
const KINDS = [
  ["", "Refused or uncertain", "refused or answered with low confidence"],
  ["refused", "Refused", "refused"],
  ["low", "Uncertain", "answered with low confidence"],
  ["down", "Rated down", "rated down"],
];

/**
 * @typedef {object} Gap
 * @property {string} question
 * @property {string[]} wordings
 * @property {number} different
 * @property {string} book_id
 * @property {number} asked
 * @property {number} sessions
 * @property {number} refused
 * @property {number} low
 * @property {import("./section.js").SectionLink | null} nearest
 * @property {number} up
 * @property {number} down
 * @property {string[]} reasons
 * @property {string} last_asked
 */

/** What readers asked and the book did not say well, grouped by meaning. */
export class Gaps extends Section {
  /** @param {import("../chat/service.js").Service} service */
  constructor(service) {
    const options = [7, 30, 90].map((days) => make("option", { value: days, selected: days === 30 }, `${days} days`));
    const period = make("select", { "aria-label": "Period of gaps", onchange: () => void this.load() }, ...options);
    const kind = make("select", { "aria-label": "Kind of gaps", onchange: () => void this.load() }, ...KINDS.map(([value, name]) => make("option", { value }, name)));
    const download = make("button", { type: "button", class: "plain", onclick: () => void this.attempt(() => this.download()) }, icon("save"), "CSV");
    download.title = `Download as ${FILE}`;
    super("Gaps", download, kind, period);
    this.service = service;
    this.period = period;
    this.kind = kind;
    this.shown = SHOWN;
    /** Which answer is waited for: an earlier one that comes late is not shown. */
    this.turn = 0;
  }

  load() {
    if (!this.body.querySelector(".gaps")) this.show(make("p", { class: "small", role: "status" }, "Comparing questions …"));
    return this.attempt(async () => {
      const turn = ++this.turn;
      const found = await this.service.read(this.path(this.shown));
      if (turn !== this.turn) return;
      const kind = KINDS[this.kind.selectedIndex]?.[2] ?? "";
      const { gaps, groups, questions, left_out: leftOut } = found;
      if (!gaps.length) {
        const why = found.days ? `Nothing was ${kind}.` : "Questions are not kept: BYTHEBOOK_KEEP_QUESTIONS_DAYS is 0.";
        this.show(make("p", {}, why));
        return;
      }
      this.show(
        make("p", { class: "small" }, `${counted(questions, "question")} ${kind}, ${counted(groups, "gap")}.`),
        make("ol", { class: "gaps" }, ...gaps.map(entry)),
        leftOut ? make("p", { class: "small" }, `The oldest ${number(leftOut)} questions are left out.`) : null,
        groups > gaps.length && this.shown < MOST
          ? make("button", { type: "button", class: "plain", onclick: () => this.more() }, "More gaps")
          : null,
      );
    });
  }

  /** @param {number} most */
  path(most) {
    const only = this.kind.value ? `&outcome=${this.kind.value}` : "";
    return `/admin/gaps?days=${this.period.value}&limit=${most}${only}`;
  }

  more() {
    this.shown = Math.min(MOST, this.shown * 5);
    void this.load();
  }

  /** A plain link would come without the key. */
  async download() {
    const response = await this.service.send("GET", `${this.path(MOST)}&format=csv`);
    const address = URL.createObjectURL(await response.blob());
    make("a", { href: address, download: FILE }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}

/** @param {Gap} gap */
function entry(gap) {
  const sessions = ` in ${counted(gap.sessions, "session")}`;
  const kinds = [gap.refused ? `${number(gap.refused)} refused` : null, gap.low ? `${number(gap.low)} with low confidence` : null];
  const facts = [gap.book_id, ...kinds, thumbs(gap), `last ${when(gap.last_asked)}`].filter(Boolean);
  return make(
    "li",
    {},
    make("p", { class: "often" }, make("strong", {}, `${number(gap.asked)}×`), make("span", { class: "small" }, sessions)),
    make(
      "div",
      {},
      make("p", { class: "question" }, gap.question),
      make("p", { class: "small" }, facts.join(" · ")),
      ...gap.reasons.map((reason) => make("p", { class: "small" }, `“${reason}”`)),
      gap.nearest ? make("p", { class: "small" }, "Nearest: ", link(gap.nearest)) : null,
      gap.different > 1 ? wordings(gap) : null,
    ),
  );
}

/** @param {Gap} gap */
function wordings(gap) {
  const rest = gap.different - 1 - gap.wordings.length;
  return make(
    "details",
    { class: "small" },
    make("summary", {}, counted(gap.different - 1, "other wording")),
    make("ul", {}, ...gap.wordings.map((words) => make("li", {}, words)), rest > 0 ? make("li", {}, `and ${number(rest)} more`) : null),
  );
}

/** @param {Gap} gap */
function thumbs(gap) {
  const said = [gap.up ? `${number(gap.up)} up` : null, gap.down ? `${number(gap.down)} down` : null].filter(Boolean);
  return said.length ? `rated ${said.join(", ")}` : null;
}

/** @param {number} count @param {string} thing */
function counted(count, thing) {
  return `${number(count)} ${thing}${count === 1 ? "" : "s"}`;
}
