import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { Adding, DropZone, upload } from "./adding.js";
import { Pages } from "./pages.js";
import { number, Section, tell, when } from "./section.js";

/**
 * @typedef {object} ManagedBook
 * @property {string} book_id
 * @property {string} title
 * @property {"uploaded" | "folder" | "site" | "repository"} kind
 * @property {string} source
 * @property {number} files
 * @property {number} passages
 * @property {string | null} updated_at
 * @property {Changes | null} changes
 *
 * @typedef {object} Changes
 * @property {number} added
 * @property {number} changed
 * @property {number} removed
 * @property {string[]} added_files
 * @property {string[]} changed_files
 * @property {string[]} removed_files
 *
 * @typedef {object} Managed
 * @property {ManagedBook[]} books
 * @property {string[]} kinds
 * @property {number} max_file_mb
 * @property {boolean} takes_addresses
 * @property {boolean} books_folder
 */

const MODES = [["incremental", "What changed"], ["full", "Every file"], ["recreate", "From nothing"]];

/** The books that the service has: reading them again, changing and removing them, and adding one. */
export class Books extends Section {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {{ started: (job: import("./jobs.js").Job) => void, question: import("./question.js").Question, ask: (bookId: string) => void }} parts
   */
  constructor(service, { started, question, ask }) {
    super("Books");
    this.service = service;
    this.started = started;
    this.question = question;
    this.ask = ask;
    this.told = make("p", { class: "told", role: "status" });
    this.pages = new Pages(service, { line: this.told, question, started, changed: () => this.load() });
    this.adding = new Adding(service, this.told, started);
    /** Ids of books whose part for changes is open. @type {Set<string>} */
    this.open = new Set();
  }

  load() {
    return this.attempt(async () => {
      /** @type {Managed} */
      const found = await this.service.read("/admin/books");
      this.adding.show(found);
      const list = make("ul", { class: "books", "aria-label": "List of books" }, ...found.books.map((book) => this.entry(book, found)));
      this.show(found.books.length ? list : make("p", {}, "There is no book yet. Add one here."), this.told, this.adding.element);
    });
  }

  /** @param {ManagedBook} book @param {Managed} found */
  entry(book, found) {
    const { book_id: id, kind } = book;
    const from = kind === "uploaded" ? "uploaded" : book.source;
    const facts = book.updated_at
      ? [counted(book.files, "file"), counted(book.passages, "passage"), `read ${when(book.updated_at)}`]
      : ["not read yet"];
    return make(
      "li",
      {},
      make(
        "div",
        { class: "book" },
        make("div", {}, make("strong", {}, book.title), make("p", { class: "small" }, [id, from].join(" · ")), make("p", { class: "small" }, facts.join(" · ")), changed(book)),
        this.actions(book),
      ),
      this.changes(book, found),
    );
  }

  /** @param {ManagedBook} book */
  actions({ book_id: id, title, updated_at: wasRead }) {
    const labelled = (/** @type {string} */ words) => ({ type: "button", "aria-label": `${words} ${title}` });
    const mode = make("select", { "aria-label": `How to read ${title}` }, ...MODES.map(([value, name]) => make("option", { value }, name)));
    const read = () =>
      tell(this.told, async () => {
        const [path, request] = wasRead ? ["/ingestion/trigger", { book_id: id, mode: mode.value }] : ["/admin/books", { book_id: id }];
        const job = await (await this.service.send("POST", path, request)).json();
        this.started(job);
        return `${title} is being read: job ${job.job_id}.`;
      });
    return make(
      "div",
      { class: "actions" },
      wasRead ? make("button", { ...labelled("Ask"), class: "strong", onclick: () => this.ask(id) }, "Ask") : null,
      wasRead ? mode : null,
      make("button", { ...labelled("Read"), class: "plain", onclick: read }, icon("retry"), "Read"),
      wasRead ? make("button", { ...labelled("Check"), class: "quiet", onclick: () => this.check(id) }, "Check") : null,
    );
  }

  /** What is seldom wanted. @param {ManagedBook} book @param {Managed} found */
  changes(book, found) {
    const details = make("details", { open: this.open.has(book.book_id) }, make("summary", {}, `Change ${book.title}`));
    const inside = make("div", { class: "change" });
    details.append(inside);
    const fillIt = () => {
      if (details.open) this.open.add(book.book_id);
      else this.open.delete(book.book_id);
      if (!details.open || inside.childElementCount) return;
      fill(inside, book.updated_at ? this.renaming(book) : null, book.kind === "uploaded" ? this.moreFiles(book, found) : null, book.updated_at ? this.pages.of(book) : null, this.removing(book));
    };
    details.addEventListener("toggle", fillIt);
    return details;
  }

  /** @param {ManagedBook} book */
  renaming({ book_id: id, title }) {
    const field = make("input", { required: true, maxlength: 200, value: title, autocomplete: "off" });
    const form = make("form", { "aria-label": `Rename ${title}` }, make("label", { class: "field" }, "New title", field), make("button", { type: "submit", class: "plain" }, "Rename"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.change(async () => {
        const renamed = await (await this.service.send("PATCH", `/admin/books/${id}`, { title: field.value })).json();
        return `The book is called ${renamed.title} now.`;
      });
    });
    return form;
  }

  /** @param {ManagedBook} book @param {Managed} found */
  moreFiles({ book_id: id, title }, found) {
    const zone = new DropZone(found.kinds, "A file of the same name is replaced", (files) => {
      if (!files.length) return;
      void tell(this.told, async () => {
        const problems = await upload(this.service, id, files, (words) => (this.told.textContent = words));
        if (problems.length === files.length) return problems.join(" ");
        const job = await (await this.service.send("POST", "/admin/books", { book_id: id })).json();
        this.started(job);
        return [`${title} is being read: job ${job.job_id}.`, ...problems].join(" ");
      });
    });
    return zone.element;
  }

  /** @param {ManagedBook} book */
  removing(book) {
    const kept = { uploaded: "The uploaded files are deleted.", folder: "Its folder on the server stays.", site: "What was fetched is deleted.", repository: "What was fetched is deleted." };
    const remove = async () => {
      const words = `Nobody can ask ${book.book_id} any more. ${kept[book.kind]}`;
      if (!(await this.question.ask(`Remove ${book.title}?`, words, "Remove the book"))) return;
      await this.change(async () => {
        await this.service.send("DELETE", `/admin/books/${book.book_id}`);
        return `${book.title} is removed.`;
      });
    };
    return make("div", { class: "row" }, make("button", { type: "button", class: "plain danger", onclick: () => void remove() }, icon("trash"), "Remove this book"));
  }

  /** @param {string} bookId */
  async check(bookId) {
    await tell(this.told, async () => {
      const found = await this.service.read(`/ingestion/changes?book_id=${encodeURIComponent(bookId)}`);
      if (found.up_to_date) return `${bookId} is up to date.`;
      const counts = ["new", "modified", "moved", "deleted", "failed"].filter((kind) => found[kind].length);
      return `${bookId}: ${counts.map((kind) => `${found[kind].length} ${kind}`).join(", ")}.`;
    });
  }

  /** @param {() => Promise<string>} work After which the books are others. */
  async change(work) {
    if (await tell(this.told, work)) await this.load();
  }
}

/** @param {number} count @param {string} noun */
function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** What the last reading found changed. @param {ManagedBook} book */
function changed({ title, changes }) {
  if (!changes) return null;
  const kinds = /** @type {const} */ (["added", "changed", "removed"]).filter((kind) => changes[kind]);
  if (!kinds.length) return make("p", { class: "small" }, "Last reading: no change.");
  const names = kinds.flatMap((kind) => {
    const files = changes[`${kind}_files`];
    const rest = changes[kind] - files.length;
    return [...files.map((file) => make("li", {}, `${kind}: ${file}`)), rest ? make("li", {}, `and ${number(rest)} more ${kind}`) : null];
  });
  const words = `Last reading: ${kinds.map((kind) => `${number(changes[kind])} ${kind}`).join(", ")}`;
  return make("details", { class: "small" }, make("summary", {}, words), make("ul", { class: "pages", tabindex: "0", "aria-label": `Changes of ${title}` }, ...names));
}
