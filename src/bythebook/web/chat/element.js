import { sheets } from "../styles/sheets.js";
import { Chat } from "./chat.js";

/** Where this module came from is where the service answers, unless the page says otherwise. */
const OWN_ENDPOINT = new URL("../..", import.meta.url).href;

/**
 * `<bythebook-chat>`: a conversation with a book.
 *
 * Attributes, read when it is put on a page: `book` (only this one), `key` (a publishable key),
 * `endpoint` (another service than the one the script came from), `heading`, `theme` (light, dark or
 * auto), `closable` (has a button to close), `framed` (has a border), `on-page` (questions look on the
 * page around first, if it is one of the book's). `scheme` says
 * whether the page around is light or dark, and may change.
 *
 * Events: `bythebook:ask`, `bythebook:answer`, `bythebook:error`, and `bythebook:dismiss` when the reader wants it
 * closed.
 */
export class BythebookChat extends HTMLElement {
  /** @type {Chat | null} */
  #chat = null;
  /** @type {ShadowRoot} */
  #root;

  static observedAttributes = ["scheme"];

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = sheets();
  }

  connectedCallback() {
    if (this.#chat) return;
    this.#chat = new Chat(this, {
      endpoint: this.getAttribute("endpoint") ?? OWN_ENDPOINT,
      book: this.getAttribute("book"),
      key: this.getAttribute("key"),
      heading: this.getAttribute("heading") ?? "",
      theme: this.getAttribute("theme"),
      closable: this.hasAttribute("closable"),
      onPage: this.hasAttribute("on-page"),
    });
    this.#root.replaceChildren(this.#chat.element);
    void this.#chat.start();
  }

  disconnectedCallback() {
    // Moving an element within a page disconnects it for a moment only.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#chat?.end();
      this.#chat = null;
    });
  }

  attributeChangedCallback() {
    this.#chat?.theme.apply();
  }

  /** Ask a question as if the reader had written it. @param {string} question */
  ask(question) {
    void this.#chat?.ask(question);
  }

  /** What the next question is about. @param {string} text Selected on the page; empty: nothing. */
  select(text) {
    this.#chat?.context.select(text);
  }

  /** Put the keyboard where questions are written. */
  focusQuestion() {
    this.#chat?.composer.focus();
  }
}

if (!customElements.get("bythebook-chat")) customElements.define("bythebook-chat", BythebookChat);
