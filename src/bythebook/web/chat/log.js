import { fill, make } from "./dom.js";

/** Pixels that stay free above a question. */
const MARGIN = 16;

/** The questions and answers of a conversation, one below the other. */
export class Log {
  constructor() {
    /** @type {import("./exchange.js").Exchange | null} */
    this.newest = null;
    this.follows = false;
    this.column = make("div", { class: "column" });
    const leave = () => (this.follows = false);
    this.element = make(
      "div",
      { class: "log", role: "region", "aria-label": "Answers", tabindex: "0", onwheel: leave, ontouchmove: leave, onkeydown: leave },
      this.column,
    );
  }

  /** @param {...(Node | null)} children */
  show(...children) {
    const hadFocus = this.hasFocus;
    this.newest = null;
    fill(this.column, ...children);
    this.element.scrollTop = 0;
    if (hadFocus) this.focus();
  }

  /**
   * @param {import("./exchange.js").Exchange} exchange
   * @param {import("./exchange.js").Exchange} [instead] The one whose place it takes.
   */
  add(exchange, instead) {
    const hadFocus = this.hasFocus;
    if (instead?.element.isConnected) instead.element.replaceWith(exchange.element);
    else this.column.append(exchange.element);
    if (hadFocus && !this.hasFocus) this.focus();
    this.newest = exchange;
    this.follows = true;
    exchange.element.scrollIntoView({ block: "start" });
  }

  get hasFocus() {
    return this.column.contains(/** @type {Document | ShadowRoot} */ (this.column.getRootNode()).activeElement);
  }

  /** When what was focused is gone, the keyboard goes on from here. */
  focus() {
    this.element.focus({ preventScroll: true });
  }

  /** Keep the end of a growing answer in sight, as long as its question is too. */
  follow() {
    if (!this.follows || !this.newest) return;
    const view = this.element.getBoundingClientRect();
    const part = this.newest.element.getBoundingClientRect();
    const hidden = part.bottom - view.bottom;
    const room = part.top - view.top - MARGIN;
    if (hidden > 0 && room > 0) this.element.scrollTop += Math.min(hidden, room);
  }
}
