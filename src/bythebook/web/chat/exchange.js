import { chipsIn, citationOf, dressChips } from "./chips.js";
import { copyButton } from "./clipboard.js";
import { dressCode } from "./code.js";
import { confidence } from "./confidence.js";
import { withoutQuotation } from "./context.js";
import { fill, make, showServiceHtml } from "./dom.js";
import { failure } from "./failure.js";
import { Feedback } from "./feedback.js";
import { icon } from "./icons.js";
import { dressMaths } from "./maths.js";
import { nearestSections, sources, withSources } from "./sources.js";

/**
 * @typedef {object} Surroundings What an exchange may use of the chat around it.
 * @property {import("./service.js").Service} service
 * @property {(words: string) => void} say
 * @property {() => string} bookTitle
 * @property {(citation: import("./types.js").Citation, chip: HTMLElement) => void} openCitation
 * @property {(near: import("./types.js").NearSection, chip: HTMLElement) => void} openSection
 * @property {(question: string, instead?: Exchange) => void} ask
 * @property {() => void} startAnew
 */

/** One question and what became of it. */
export class Exchange {
  /** @param {string} question @param {Surroundings} around */
  constructor(question, around) {
    this.question = question;
    this.around = around;
    /** @type {import("./types.js").Citation[]} */
    this.citations = [];
    this.state = make("p", { class: "progress" });
    this.text = make("div", { class: "text", onclick: (/** @type {Event} */ event) => this.onChip(event) });
    this.foot = make("div", { class: "foot" });
    const [own, selected] = withoutQuotation(question);
    this.element = make(
      "article",
      { class: "exchange" },
      make("h2", { class: "question" }, make("span", { class: "hidden" }, "You asked: "), own),
      selected ? make("blockquote", { class: "selected" }, selected) : null,
      this.text,
      this.state,
      this.foot,
    );
  }

  /**
   * The exchanges of a kept conversation.
   * @param {import("./types.js").Message[]} messages
   * @param {Surroundings} around
   */
  static ofMessages(messages, around) {
    /** @type {Exchange[]} */
    const exchanges = [];
    for (const message of messages) {
      if (message.role === "user") exchanges.push(new Exchange(message.content, around));
      else exchanges.at(-1)?.showAnswer(answerOf(message));
    }
    return exchanges;
  }

  /** @param {string} words */
  showProgress(words) {
    fill(this.state, make("span", { class: "pulse", "aria-hidden": "true" }), words);
  }

  /**
   * The answer so far; HTML when the service sent it.
   * @param {string} text
   * @param {string | null | undefined} html
   */
  showText(text, html) {
    const focused = this.focusedChip();
    if (html) showServiceHtml(this.text, html);
    else fill(this.text, make("p", { class: "raw" }, text));
    dressCode(this.text, this.around.say);
    dressMaths(this.text);
    dressChips(this.text, this.citations);
    // What was focused has been replaced by its like.
    if (focused >= 0) chipsIn(this.text)[focused]?.focus();
  }

  /** @param {import("./types.js").Answer} answer */
  finish(answer) {
    this.showAnswer(answer);
    this.around.say(spoken(answer, this.text));
  }

  /** @param {import("./types.js").Answer} answer */
  showAnswer(answer) {
    this.citations = answer.citations;
    this.showText(answer.response, answer.html);
    this.state.remove();
    this.element.classList.toggle("refused", answer.refused);
    const feedback = answer.answer_id ? new Feedback(answer.answer_id, this.around.service, this.around.say) : null;
    fill(
      this.foot,
      answer.refused ? nearestSections(answer, this.around.openSection) : sources(answer.citations, this.around.openCitation),
      make(
        "div",
        { class: "row" },
        answer.refused ? null : confidence(answer),
        make("span", { class: "space" }),
        answer.refused ? null : copyButton("Copy with sources", () => withSources(answer, this.around.bookTitle()), this.around.say),
        this.againButton("Ask again"),
        feedback?.thumbs,
      ),
      feedback?.below,
    );
  }

  /** What was shown stays: it has been checked. */
  stop() {
    fill(this.state, "Stopped.");
    fill(this.foot, make("div", { class: "row" }, this.againButton("Try again")));
    this.foot.scrollIntoView({ block: "nearest" });
    this.around.say("Stopped.");
  }

  /** @param {import("./problem.js").Problem} problem */
  fail(problem) {
    this.state.remove();
    const retry = () => this.around.ask(this.question, this);
    fill(this.foot, failure(problem, { retry, startAnew: this.around.startAnew, say: this.around.say }));
    this.foot.scrollIntoView({ block: "nearest" });
    const wait = problem.wait ? ` You can try again in ${problem.wait} seconds.` : "";
    this.around.say(`${problem.message} ${problem.action}${wait}`);
  }

  /** @param {string} label */
  againButton(label) {
    const unfinished = label === "Try again";
    const again = () => this.around.ask(this.question, unfinished ? this : undefined);
    return make("button", { type: "button", class: "quiet", title: label, onclick: again }, icon("retry"), make("span", {}, label));
  }

  /** @param {Event} event */
  onChip(event) {
    const chip = /** @type {Element} */ (event.target).closest("button.cite");
    if (!(chip instanceof HTMLElement)) return;
    const citation = citationOf(chip, this.citations);
    if (citation) this.around.openCitation(citation, chip);
  }

  focusedChip() {
    const root = /** @type {ShadowRoot} */ (this.text.getRootNode());
    return chipsIn(this.text).findIndex((chip) => chip === root.activeElement);
  }
}

/** @param {import("./types.js").Message} message @returns {import("./types.js").Answer} */
function answerOf({ content, refused, citations, ...rest }) {
  return { ...rest, response: content, refused: Boolean(refused), citations: citations ?? [] };
}

/** @param {import("./types.js").Answer} answer @param {Element} text */
function spoken(answer, text) {
  const words = text.textContent?.replace(/\s+/g, " ").trim() ?? "";
  if (answer.refused) return `The book does not answer this. ${words}`;
  const count = answer.citations.length === 1 ? "1 source" : `${answer.citations.length} sources`;
  return `Answer, with ${count}: ${words}`;
}
