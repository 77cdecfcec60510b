import { fill, make } from "./dom.js";
import { icon } from "./icons.js";

const SHOWN = 90;
const MOST = 400;
const LONGEST_QUESTION = 1000;
const QUOTED = "\n\n> ";

/** What a question is asked beside: the page around, and text selected on it. */
export class Context {
  /**
   * @param {import("./store.js").Store} store
   * @param {{ say: (words: string) => void, focus: () => void }} does
   */
  constructor(store, does) {
    this.store = store;
    this.does = does;
    this.hasPage = false;
    this.selected = "";
    this.element = make("div", { class: "context", role: "group", "aria-label": "Your question is about", hidden: true });
  }

  /** On a page of the book's own site. */
  showPage() {
    this.hasPage = true;
    this.render();
  }

  /** @param {string} text What is selected on the page. */
  select(text) {
    const selected = text.replace(/\s+/g, " ").trim().slice(0, MOST);
    if (selected === this.selected) return;
    this.selected = selected;
    this.render();
    if (selected) this.does.say(`Your question will be about the selected text: ${shortened(selected)}`);
  }

  get pageFirst() {
    return this.hasPage && this.store.read("page-first", true);
  }

  /** Read when it is asked: on some sites pages change in place. */
  get request() {
    return this.pageFirst ? { page: location.href.slice(0, 2000) } : {};
  }

  /**
   * The question with the selected text quoted below it, which then is used up.
   * @param {string} question
   */
  quoted(question) {
    const room = LONGEST_QUESTION - question.length - QUOTED.length;
    const selected = this.selected.slice(0, Math.max(room, 0));
    this.selected = "";
    this.render();
    return selected ? question + QUOTED + selected : question;
  }

  render() {
    this.element.hidden = !this.hasPage && !this.selected;
    fill(this.element, this.hasPage ? this.pageButton() : null, this.selected ? this.selection() : null);
  }

  pageButton() {
    const label = "This page first";
    const title = "Look on this page first, then in the whole book";
    const flip = () => {
      this.store.write("page-first", !this.pageFirst);
      this.render();
      this.element.querySelector("button")?.focus();
    };
    return make("button", { type: "button", class: "choosable", "aria-pressed": String(this.pageFirst), title, onclick: flip }, icon(this.pageFirst ? "check" : "plus"), label);
  }

  selection() {
    const remove = () => {
      this.select("");
      this.does.focus();
    };
    return make(
      "p",
      { class: "selected" },
      make("span", { class: "hidden" }, "Selected text: "),
      make("span", { class: "words" }, `“${shortened(this.selected)}”`),
      make("button", { type: "button", class: "quiet", "aria-label": "Don’t ask about the selected text", title: "Remove", onclick: remove }, icon("close")),
    );
  }
}

/**
 * A question and what was quoted below it.
 * @param {string} message
 * @returns {[string, string]}
 */
export function withoutQuotation(message) {
  const [question, ...quoted] = message.split(QUOTED);
  return [question, quoted.join(" ")];
}

/** @param {string} text */
function shortened(text) {
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 1).trimEnd()}…` : text;
}
