import { make } from "../chat/dom.js";
import { joined, link, Section, when } from "./section.js";

const SHOWN = 25;
const CHOICES = [
  ["refused", "Not answered"],
  ["down", "Rated down"],
  ["low", "Low confidence"],
  ["failed", "Failed"],
  ["answered", "Answered"],
  ["", "All"],
];

/**
 * @typedef {object} Asked
 * @property {string} asked_at
 * @property {string} book_id
 * @property {string} question
 * @property {string} outcome
 * @property {number | null} confidence
 * @property {"up" | "down" | null} rating
 * @property {string | null} reason
 * @property {import("./section.js").SectionLink[]} nearest
 */

/** What was asked; first of all, what the book could not answer. */
export class Questions extends Section {
  /** @param {import("../chat/service.js").Service} service */
  constructor(service) {
    const options = CHOICES.map(([value, name]) => make("option", { value }, name));
    const choice = make("select", { "aria-label": "Which questions", onchange: () => void this.load() }, ...options);
    super("Questions", choice);
    this.service = service;
    this.choice = choice;
    this.list = make("ul", { class: "questions" });
  }

  load() {
    return this.attempt(async () => {
      this.list.replaceChildren();
      await this.more(null);
    });
  }

  /** @param {string | null} before */
  async more(before) {
    const query = new URLSearchParams({ limit: String(SHOWN) });
    if (this.choice.value) query.set("outcome", this.choice.value);
    if (before) query.set("before", before);
    const found = await this.service.read(`/admin/questions?${query}`);
    this.list.append(...found.items.map(entry));
    const next = found.next;
    this.show(
      this.list.childElementCount ? this.list : make("p", {}, "There are none."),
      next ? make("button", { type: "button", class: "plain", onclick: () => void this.attempt(() => this.more(next)) }, "Older ones") : null,
    );
  }
}

/** @param {Asked} asked */
function entry(asked) {
  const confidence = asked.confidence ? `, confidence ${asked.confidence.toFixed(2)}` : "";
  const rating = asked.rating ? `, rated ${asked.rating}` : "";
  return make(
    "li",
    {},
    make("p", { class: "question" }, asked.question),
    make("p", { class: "small" }, `${when(asked.asked_at)} · ${asked.book_id} · ${asked.outcome}${confidence}${rating}`),
    asked.reason ? make("p", { class: "small" }, `“${asked.reason}”`) : null,
    asked.nearest.length ? make("p", { class: "small" }, asked.outcome === "answered" ? "Cites: " : "Nearest: ", ...joined(asked.nearest.map(link), "; ")) : null,
  );
}
