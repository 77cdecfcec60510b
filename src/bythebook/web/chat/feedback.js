import { fill, make } from "./dom.js";
import { icon } from "./icons.js";
import { Problem } from "./problem.js";

const MAX_REASON = 500;

/** Thumbs up or down for an answer, and a reason for the latter. */
export class Feedback {
  /**
   * @param {string} answerId
   * @param {import("./service.js").Service} service
   * @param {(words: string) => void} say
   */
  constructor(answerId, service, say) {
    this.answerId = answerId;
    this.service = service;
    this.say = say;
    this.up = this.thumb("up", "Helpful");
    this.down = this.thumb("down", "Not helpful");
    this.thumbs = make("div", { class: "thumbs", role: "group", "aria-label": "Was this helpful?" }, this.up, this.down);
    /** Stands below the row of buttons. */
    this.below = make("div", { class: "reason" });
    /** One after the other, so that a reason is never overtaken by the rating before it. */
    this.sent = Promise.resolve();
  }

  /** @param {"up" | "down"} rating @param {string} label */
  thumb(rating, label) {
    const attributes = { type: "button", class: "quiet", "aria-pressed": "false", "aria-label": label, title: label };
    return make("button", { ...attributes, onclick: () => this.rate(rating) }, icon(rating));
  }

  /** @param {"up" | "down"} rating @param {string} [reason] */
  async rate(rating, reason) {
    // Asked at once: whoever goes on typing means the reason.
    const asks = rating === "down" && reason === undefined;
    if (asks) this.askWhy();
    const sending = this.sent.then(() => this.service.rate(this.answerId, rating, reason));
    this.sent = sending.catch(() => undefined);
    try {
      await sending;
    } catch (thrown) {
      this.tellProblem(`Your rating was not saved. ${Problem.from(thrown).message}`);
      return;
    }
    this.up.setAttribute("aria-pressed", String(rating === "up"));
    this.down.setAttribute("aria-pressed", String(rating === "down"));
    if (asks) this.forgetProblem();
    else this.tell("Thank you.");
  }

  /** Once: pressed again, the button leads back to what was typed. */
  askWhy() {
    const open = this.below.querySelector("textarea");
    if (open) {
      open.focus();
      return;
    }
    const field = make("textarea", { rows: 2, maxlength: MAX_REASON });
    const send = () => this.rate("down", field.value.trim());
    const label = make("label", {}, "What was wrong? You may leave this empty.", field);
    const button = make("button", { type: "submit", class: "plain" }, "Send");
    const form = make("form", {}, label, button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send();
    });
    fill(this.below, form);
    field.focus({ preventScroll: true });
    form.scrollIntoView({ block: "nearest" });
  }

  /** Beside the reason that was typed, which can be sent again. @param {string} words */
  tellProblem(words) {
    this.forgetProblem();
    this.below.prepend(make("p", {}, words));
    this.say(words);
  }

  forgetProblem() {
    this.below.querySelector("p")?.remove();
  }

  /** @param {string} words */
  tell(words) {
    const hadFocus = this.below.contains(/** @type {ShadowRoot} */ (this.below.getRootNode()).activeElement);
    fill(this.below, make("p", {}, words));
    if (hadFocus) this.down.focus();
    this.say(words);
  }
}
