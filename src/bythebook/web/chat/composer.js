import { make } from "./dom.js";
import { icon } from "./icons.js";

const MAX_QUESTION = 1000;
const NEAR_MAX = 800;

/** Where a question is written: Enter sends, Shift+Enter makes a line, Escape stops an answer. */
export class Composer {
  /**
   * @param {{ begin: () => void, ask: (question: string) => void, stop: () => void }} does
   * @param {import("./context.js").Context} context Stands above the field.
   */
  constructor(does, context) {
    this.does = does;
    this.context = context;
    this.busy = false;
    this.field = make("textarea", {
      id: "question",
      rows: 1,
      maxlength: MAX_QUESTION,
      placeholder: "Ask a question …",
      "aria-describedby": "hint",
      enterkeyhint: "send",
      oninput: () => {
        does.begin();
        this.sized();
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
    });
    this.button = make("button", { type: "submit", class: "send" });
    this.count = make("span", { class: "count", hidden: true });
    this.hint = make("p", { id: "hint", class: "small" }, "Answers come from the book only. Enter sends, Shift+Enter makes a new line.");
    this.element = make(
      "form",
      { class: "composer", autocomplete: "off", onsubmit: (/** @type {Event} */ event) => this.onSubmit(event) },
      make("label", { class: "hidden", for: "question" }, "Your question"),
      context.element,
      make("div", { class: "box" }, this.field, this.count, this.button),
      this.hint,
    );
    this.setBusy(false);
  }

  /** @param {boolean} busy While an answer comes, the button stops it. */
  setBusy(busy) {
    this.busy = busy;
    const label = busy ? "Stop" : "Ask";
    this.button.replaceChildren(icon(busy ? "stop" : "send"));
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    this.button.classList.toggle("stop", busy);
  }

  focus() {
    this.field.focus();
  }

  /** @param {string} text */
  write(text) {
    this.field.value = text.slice(0, MAX_QUESTION);
    this.sized();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const sends = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (sends) {
      event.preventDefault();
      if (!this.busy) this.send();
    }
  }

  /** @param {Event} event */
  onSubmit(event) {
    event.preventDefault();
    if (this.busy) this.does.stop();
    else this.send();
  }

  send() {
    const question = this.field.value.trim();
    if (!question) return;
    this.write("");
    this.does.ask(this.context.quoted(question));
  }

  /** As high as its text, up to a limit that the style sets. */
  sized() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    const length = this.field.value.length;
    this.count.hidden = length < NEAR_MAX;
    this.count.textContent = `${length} of ${MAX_QUESTION}`;
  }
}
