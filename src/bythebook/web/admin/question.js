import { make } from "../chat/dom.js";

/** Asks before something is done that can't be taken back. */
export class Question {
  constructor() {
    this.heading = make("h2", { id: "question-heading" });
    this.words = make("p", {});
    this.yes = make("button", { type: "submit", class: "plain danger", value: "yes" });
    this.element = make(
      "dialog",
      { class: "box", "aria-labelledby": "question-heading" },
      make(
        "form",
        { method: "dialog" },
        this.heading,
        this.words,
        make("div", { class: "row" }, make("span", { class: "space" }), make("button", { type: "submit", class: "plain", value: "", autofocus: true }, "Cancel"), this.yes),
      ),
    );
  }

  /**
   * @param {string} heading
   * @param {string} words What will happen.
   * @param {string} verb On the button that does it.
   * @returns {Promise<boolean>}
   */
  ask(heading, words, verb) {
    this.heading.textContent = heading;
    this.words.textContent = words;
    this.yes.textContent = verb;
    this.element.returnValue = "";
    this.element.showModal();
    return new Promise((resolve) => {
      this.element.addEventListener("close", () => resolve(this.element.returnValue === "yes"), { once: true });
    });
  }
}
