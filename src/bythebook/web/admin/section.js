import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { Problem } from "../chat/problem.js";

/** A part of the page that shows what the service says, or why it can't. */
export class Section {
  /** @param {string} title @param {...Node} tools What stands beside the title. */
  constructor(title, ...tools) {
    const id = `part-${title.toLowerCase().replaceAll(" ", "-")}`;
    this.body = make("div", {});
    this.element = make(
      "section",
      { "aria-labelledby": id },
      make("header", {}, make("h2", { id }, title), make("span", { class: "space" }), ...tools),
      this.body,
    );
  }

  /** @param {...(Node | string | null | undefined | false)} children */
  show(...children) {
    fill(this.body, ...children);
  }

  /**
   * Run what may fail; a failure is shown in place, with a way to try again.
   * @param {() => Promise<void>} work
   */
  async attempt(work) {
    try {
      await work();
    } catch (thrown) {
      const problem = Problem.from(thrown);
      const again = () => void this.attempt(work);
      this.show(
        make("p", { class: "what", role: "alert" }, problem.message),
        make("p", {}, problem.action),
        make("button", { type: "button", class: "plain", onclick: again }, icon("retry"), "Try again"),
      );
    }
  }
}

/**
 * A table that scrolls by itself.
 * @param {string} label
 * @param {string[]} heads
 * @param {(Node | string)[][]} rows
 */
export function table(label, heads, rows) {
  const head = make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name))));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  return make(
    "div",
    { class: "table", tabindex: "0", role: "region", "aria-label": label },
    make("table", {}, head, make("tbody", {}, ...body)),
  );
}

/**
 * Say in a status line what some work comes to.
 * @param {HTMLElement} line
 * @param {() => Promise<string>} work
 * @returns {Promise<boolean>} Whether it was done.
 */
export async function tell(line, work) {
  line.textContent = "…";
  try {
    line.textContent = await work();
    return true;
  } catch (thrown) {
    const problem = Problem.from(thrown);
    line.textContent = `${problem.message} ${problem.action}`;
    return false;
  }
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString("en-GB");
}

/** @param {string | null | undefined} moment */
export function when(moment) {
  if (!moment) return "–";
  const options = /** @type {const} */ ({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  return new Date(moment).toLocaleString("en-GB", options);
}

/** @typedef {{ title: string, url: string | null }} SectionLink */

/**
 * A section of a book; a link where there is an address that a browser should follow.
 * @param {SectionLink} section
 */
export function link({ title, url }) {
  const isSafe = url && /^https?:\/\//i.test(url);
  return isSafe ? make("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, title) : make("span", {}, title);
}

/** @param {(Node | string)[]} parts @param {string} between */
export function joined(parts, between) {
  return parts.flatMap((part, at) => (at ? [between, part] : [part]));
}
