import { dressCode } from "./code.js";
import { fill, make, showServiceHtml } from "./dom.js";
import { icon } from "./icons.js";
import { Problem } from "./problem.js";
import { Source } from "./source.js";

/**
 * @typedef {object} Wanted
 * @property {string} id
 * @property {[number, number][]} stretches What is cited of it.
 * @property {string} label Such as "Source 2".
 * @property {number | null} [page]
 * @property {string} [url] Where the cited words stand, such as a page of a PDF.
 */

/**
 * A passage of the book beside the conversation, or over it where there is little room. It is a
 * dialog: Escape closes it, and the focus goes back to what opened it.
 */
export class PassagePanel {
  /**
   * @param {import("./service.js").Service} service
   * @param {{ say: (words: string) => void, changed: (covers: boolean) => void }} around
   */
  constructor(service, around) {
    this.service = service;
    this.around = around;
    /** @type {string | null} */
    this.book = null;
    /** @type {HTMLElement | null} */
    this.opener = null;
    /** @type {Wanted | null} */
    this.cited = null;
    this.latest = 0;
    this.source = new Source(service);
    this.heading = make("h3", { id: "passage-heading", tabindex: "-1" });
    this.place = make("p", { class: "path" });
    this.body = make("div", { class: "text" });
    this.scroll = make("div", { class: "scroll" }, this.body);
    this.links = make("div", { class: "links" });
    this.element = make(
      "div",
      { class: "passage", role: "dialog", "aria-labelledby": "passage-heading", hidden: true },
      make(
        "div",
        { class: "crown" },
        make("div", {}, this.heading, this.place),
        make("button", { type: "button", class: "quiet", "aria-label": "Close the passage", title: "Close", onclick: () => this.close() }, icon("close")),
      ),
      this.scroll,
      this.links,
    );
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Whether it lies over the conversation; the style knows how much room there is. */
  get covers() {
    return this.isOpen && getComputedStyle(this.element).getPropertyValue("--covers").trim() === "1";
  }

  /** @param {Wanted} wanted @param {HTMLElement} opener */
  async open(wanted, opener) {
    this.opener?.removeAttribute("aria-expanded");
    this.opener = opener;
    this.cited = wanted;
    this.heading.textContent = wanted.label;
    if (!this.isOpen) for (const part of [this.place, this.body, this.links]) fill(part);
    this.element.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    this.around.changed(this.covers);
    this.heading.focus({ preventScroll: true });
    await this.show(wanted);
  }

  close() {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.source.forget();
    this.latest += 1;
    this.around.changed(false);
    this.opener?.removeAttribute("aria-expanded");
    this.opener?.focus();
    this.opener = null;
  }

  /** @param {Wanted} wanted */
  show(wanted) {
    return this.attempt(
      () => this.service.passage(wanted.id, this.book, wanted.stretches),
      (passage) => {
        if (!passage) throw new Problem("missing", "This passage is no longer in the book.");
        this.render(passage, wanted);
      },
    );
  }

  /**
   * Fetch something and show it, unless a later click is to be shown instead.
   * @template Found
   * @param {() => Promise<Found>} work
   * @param {(found: Found) => void} render
   */
  async attempt(work, render) {
    const own = (this.latest += 1);
    this.element.setAttribute("aria-busy", "true");
    try {
      const found = await work();
      if (own !== this.latest) return;
      render(found);
    } catch (thrown) {
      if (own !== this.latest) return;
      const problem = Problem.from(thrown);
      this.element.classList.remove("framing");
      fill(this.body, make("p", { class: "what" }, problem.message), make("p", {}, problem.action));
      fill(this.place);
      fill(this.links, make("button", { type: "button", class: "plain", onclick: () => void this.attempt(work, render) }, icon("retry"), "Try again"));
      this.around.say(problem.message);
    }
    this.element.removeAttribute("aria-busy");
  }

  /** @param {import("./types.js").Passage} passage @param {Wanted} wanted */
  render(passage, wanted) {
    const isCited = wanted.id === this.cited?.id;
    this.heading.textContent = isCited ? wanted.label : passage.section_title || passage.title;
    fill(this.place, ...breadcrumbs(passage, wanted.page ?? passage.page_number));
    this.fillBody(passage.html || make("p", { class: "raw" }, passage.text));
    const ways = this.source.ways(passage, wanted, this.book, { show: (work, links) => this.showSource(passage, wanted, work, links) });
    fill(
      this.links,
      this.step("left", "Previous passage", passage.prev_chunk_id),
      make("span", { class: "small" }, `${passage.chunk_index + 1} of ${passage.total_chunks}`),
      this.step("right", "Next passage", passage.next_chunk_id),
      make("span", { class: "space" }),
      ...ways,
      this.bookLink(passage, wanted),
    );
    this.scrollToMark();
  }

  /**
   * The page or file around the passage, with a way back.
   * @param {import("./types.js").Passage} passage
   * @param {Wanted} wanted
   * @param {() => Promise<HTMLElement | string>} work
   * @param {() => (Node | null)[]} links Known when the work is done.
   */
  async showSource(passage, wanted, work, links) {
    await this.attempt(work, (shown) => {
      this.fillBody(shown);
      const back = () => {
        this.render(passage, wanted);
        this.heading.focus({ preventScroll: true });
      };
      fill(
        this.links,
        make("button", { type: "button", class: "quiet", onclick: back }, icon("left"), "Back to the passage"),
        make("span", { class: "space" }),
        ...links(),
        this.bookLink(passage, wanted),
      );
      this.scrollToMark();
      this.around.say(typeof shown === "string" ? "The whole page is shown." : "The PDF is shown.");
    });
    this.heading.focus({ preventScroll: true });
  }

  /** @param {import("./types.js").Passage} passage @param {Wanted} wanted */
  bookLink(passage, wanted) {
    return bookLink(wanted.url || passage.url, this.body.querySelector("mark")?.textContent ?? "");
  }

  /** @param {HTMLElement | string} shown HTML of the service, or an element. */
  fillBody(shown) {
    if (typeof shown === "string") showServiceHtml(this.body, shown);
    else fill(this.body, shown);
    this.element.classList.toggle("framing", shown instanceof HTMLIFrameElement);
    dressCode(this.body, this.around.say);
    if (this.body.querySelector(".math")) void this.dressFormulas();
  }

  /** With what answers have loaded already; else formulas stay as the book writes them. */
  async dressFormulas() {
    try {
      const { dressMaths } = await import("./maths.js");
      dressMaths(this.body);
    } catch (problem) {
      console.warn("bythebook shows formulas as text", problem);
    }
  }

  /** The passage from its beginning, unless what is cited would be out of sight then. */
  scrollToMark() {
    this.scroll.scrollTo({ top: 0, behavior: "instant" });
    const view = this.scroll.getBoundingClientRect();
    const mark = this.body.querySelector("mark")?.getBoundingClientRect();
    if (mark && mark.bottom > view.bottom) this.scroll.scrollTo({ top: mark.top - view.top - view.height / 3 });
  }

  /** @param {"left" | "right"} arrow @param {string} label @param {string | null} id */
  step(arrow, label, id) {
    const go = async () => {
      if (!id) return;
      const back = this.cited && this.cited.id === id;
      await this.show(back && this.cited ? this.cited : { id, stretches: [], label });
      // The button was replaced; the keyboard goes on with its like, or reads the passage.
      const same = this.links.querySelector(`button[aria-label="${label}"]:not(:disabled)`);
      (same instanceof HTMLElement ? same : this.heading).focus({ preventScroll: true });
      this.around.say(`${this.heading.textContent}. ${this.place.textContent}`);
    };
    const attributes = { type: "button", class: "quiet", "aria-label": label, title: label };
    return make("button", { ...attributes, disabled: !id, onclick: go }, icon(arrow));
  }
}

/** @param {import("./types.js").Passage} passage @param {number | null | undefined} page */
function breadcrumbs(passage, page) {
  const path = passage.path?.length ? passage.path : [passage.chapter_title, passage.title, passage.section_title];
  const parts = path.filter((part, at) => part && part !== path[at - 1]).map(String);
  if (page) parts.push(`page ${page}`);
  return parts.flatMap((part, at) => (at ? [make("span", { class: "turn" }, " › "), part] : [part]));
}

/** Words at each end that say where a quotation begins and ends. */
const WORDS = 5;

/**
 * To the book's own page at these very words, where it has one. A book on this very site opens in place.
 * @param {string} address
 * @param {string} words
 */
function bookLink(address, words) {
  if (!/^https?:\/\//.test(address)) return null;
  const here = new URL(address).origin === location.origin;
  const elsewhere = here ? {} : { target: "_blank", rel: "noopener noreferrer" };
  return make("a", { href: atWords(address, words), ...elsewhere }, "Open in the book", here ? null : icon("open"));
}

/**
 * Browsers scroll to such words and mark them; where they don't find them, to the section before the
 * sign. A PDF opens at the page.
 * @param {string} address
 * @param {string} words
 */
function atWords(address, words) {
  const { pathname, hash } = new URL(address);
  const all = words.trim().split(/\s+/);
  if (!words.trim() || /\.pdf$/i.test(pathname) || hash.startsWith("#page=")) return address;
  const ends = all.length > 2 * WORDS ? [all.slice(0, WORDS), all.slice(-WORDS)] : [all];
  // A hyphen means something there.
  const text = ends.map((part) => encodeURIComponent(part.join(" ")).replaceAll("-", "%2D")).join(",");
  return `${address}${hash ? "" : "#"}:~:text=${text}`;
}
