import { make } from "./dom.js";

/** Says to screen readers what happens: states and finished answers, never every word of a stream. */
export class Announcer {
  constructor() {
    this.element = make("div", { class: "hidden", role: "status", "aria-live": "polite", "aria-atomic": "true" });
    this.last = "";
  }

  /** @param {string} text */
  say(text) {
    if (text === this.last) return;
    this.last = text;
    this.element.textContent = text;
  }
}
