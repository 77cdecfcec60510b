import { copyButton } from "../chat/clipboard.js";
import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { Section, tell, when } from "./section.js";

/**
 * @typedef {object} ApiKey
 * @property {string} key_id
 * @property {string} name
 * @property {string[]} scopes
 * @property {string[] | null} books
 * @property {string[] | null} origins
 * @property {string} created_at
 * @property {"active" | "expired" | "revoked"} state
 */

/** Keys, and a new one for a web site with the line that puts the widget there. */
export class Keys extends Section {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {{ say: (words: string) => void, question: import("./question.js").Question, useKey: (key: string) => void }} parts
   */
  constructor(service, { say, question, useKey }) {
    super("Keys");
    this.service = service;
    this.say = say;
    this.question = question;
    this.useKey = useKey;
    this.told = make("p", { class: "told", role: "status" });
    this.made = make("div", {});
  }

  load() {
    return this.attempt(async () => {
      const [keys, { books }] = await Promise.all([this.service.read("/admin/keys"), this.service.read("/admin/books")]);
      this.show(this.made, keys.length ? make("ul", { class: "keys", "aria-label": "List of keys" }, ...keys.map((/** @type {ApiKey} */ key) => this.entry(key))) : null, this.told, this.newKey(books, !keys.length));
    });
  }

  /** Unless somebody is filling in the form. */
  booksChanged() {
    if (!this.body.querySelector("details[open]")) void this.load();
  }

  /** @param {ApiKey} key */
  entry(key) {
    const may = key.origins ? `for pages of ${key.origins.join(", ")}` : `secret: ${key.scopes.join(", ")}`;
    const facts = [may, key.books?.join(", ") ?? "all books", `made ${when(key.created_at)}`, key.state === "active" ? null : key.state];
    return make(
      "li",
      {},
      make("div", {}, make("strong", {}, key.name), make("p", { class: "small" }, facts.filter(Boolean).join(" · "))),
      key.state === "active" ? make("button", { type: "button", class: "plain danger", "aria-label": `Revoke ${key.name}`, onclick: () => void this.revoke(key) }, "Revoke") : null,
    );
  }

  /** @param {{ book_id: string, title: string, updated_at: string | null }[]} books @param {boolean} isFirst */
  newKey(books, isFirst) {
    const read = books.filter((book) => book.updated_at);
    if (!read.length) return make("p", { class: "small" }, "Add a book first; then a key for a web site can be made here.");
    const name = make("input", { required: true, maxlength: 100, autocomplete: "off", placeholder: "docs site" });
    const sites = make("textarea", { required: true, rows: 2, spellcheck: "false", placeholder: "https://docs.example.org" });
    const boxes = read.map((book) => make("input", { type: "checkbox", value: book.book_id, checked: read.length === 1 }));
    const warning =
      "There is no key yet, so the service is open to everybody on this machine, and to nobody else. Once there is a key, everybody needs one, also on this machine. " +
      "So this page also makes a secret key for you, and uses it from then on.";
    const form = make(
      "form",
      { "aria-label": "Make a key for a web site" },
      isFirst ? make("p", { class: "small" }, warning) : null,
      make("label", { class: "field" }, "Name", name),
      make("label", { class: "field" }, "Sites, one a line", sites),
      make("fieldset", {}, make("legend", {}, "Books that may be asked"), make("div", { class: "choices" }, ...read.map((book, at) => make("label", {}, boxes[at], book.title)))),
      make("button", { type: "submit", class: "plain" }, icon("plus"), "Make the key"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      const origins = sites.value.split(/[\s,]+/).filter(Boolean);
      void this.make({ name: name.value, books: chosen, origins, server: location.origin });
    });
    return make("details", { class: "add" }, make("summary", {}, "Make a key for a web site"), form);
  }

  /** @param {{ name: string, books: string[], origins: string[], server: string }} request */
  async make(request) {
    const done = await tell(this.told, async () => {
      if (!request.books.length) return "Choose the books that may be asked.";
      const made = await (await this.service.send("POST", "/admin/keys", request)).json();
      if (made.admin_key) this.useKey(made.admin_key);
      this.showMade(made);
      return `The key ${made.key.name} is made.`;
    });
    if (done && request.books.length) await this.load();
  }

  /** @param {{ key: ApiKey, text: string, line: string, admin_key: string | null }} made */
  showMade(made) {
    const shown = (/** @type {string} */ label, /** @type {string} */ text, /** @type {string} */ verb) =>
      make("div", {}, make("div", { class: "row" }, make("strong", {}, label), make("span", { class: "space" }), copyButton(verb, () => text, this.say)), make("pre", {}, text));
    fill(
      this.made,
      make(
        "div",
        { class: "made", role: "group", "aria-label": `The key ${made.key.name}` },
        make("p", {}, "Put this line into the pages of the site. It is shown only now."),
        shown("Line for the widget", made.line, "Copy the line"),
        shown("Key", made.text, "Copy the key"),
        made.admin_key ? shown("Your own secret key, for this page and for the chat: keep it safe", made.admin_key, "Copy your key") : null,
      ),
    );
  }

  /** @param {ApiKey} key */
  async revoke(key) {
    if (!(await this.question.ask(`Revoke ${key.name}?`, "Whoever uses it is refused from now on. A revoked key can’t be restored.", "Revoke the key"))) return;
    const done = await tell(this.told, async () => {
      await this.service.send("DELETE", `/admin/keys/${key.key_id}`);
      return `The key ${key.name} is revoked.`;
    });
    if (done) await this.load();
  }
}
