import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { Problem } from "../chat/problem.js";
import { number, Section, table, when } from "./section.js";

/** The books that the service has, bringing them up to date, and adding one. */
export class Books extends Section {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {(words: string) => void} say
   * @param {(job: import("./jobs.js").Job) => void} started
   */
  constructor(service, say, started) {
    super("Books");
    this.service = service;
    this.say = say;
    this.started = started;
    this.told = make("p", { class: "told", role: "status" });
  }

  load() {
    return this.attempt(async () => {
      const { books } = await this.service.read("/info");
      this.show(
        books.length ? this.list(books) : make("p", {}, "There is no book yet. Add one below."),
        this.told,
        this.newBook(),
      );
    });
  }

  /** @param {{ book_id: string, title: string, total_files: number, total_chunks: number, updated_at: string }[]} books */
  list(books) {
    const rows = books.map((book) => [
      make("div", {}, make("strong", {}, book.title), make("div", { class: "small" }, book.book_id)),
      number(book.total_files),
      number(book.total_chunks),
      when(book.updated_at),
      this.actions(book.book_id),
    ]);
    return table("List of books", ["Book", "Files", "Passages", "Last read", "Bring up to date"], rows);
  }

  /** @param {string} bookId */
  actions(bookId) {
    const modes = [["incremental", "What changed"], ["full", "Every file"], ["recreate", "From nothing"]];
    const mode = make("select", { "aria-label": `How to read ${bookId}` }, ...modes.map(([value, name]) => make("option", { value }, name)));
    const check = make("button", { type: "button", class: "quiet", onclick: () => this.check(bookId) }, "Check");
    const start = make("button", { type: "button", class: "plain", onclick: () => this.start({ book_id: bookId, mode: mode.value }) }, icon("retry"), "Read");
    return make("div", { class: "actions" }, mode, start, check);
  }

  newBook() {
    const path = make("input", { required: true, maxlength: 1000, placeholder: "folder below the books folder" });
    const id = make("input", { maxlength: 100, placeholder: "chosen by itself" });
    const form = make(
      "form",
      {},
      make("label", { class: "field" }, "Folder", path),
      make("label", { class: "field" }, "Id", id),
      make("button", { type: "submit", class: "plain" }, icon("plus"), "Add"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start({ path: path.value.trim(), ...(id.value.trim() ? { book_id: id.value.trim() } : {}) });
    });
    return make("details", {}, make("summary", {}, "Add a book"), form);
  }

  /** @param {object} request */
  async start(request) {
    await this.tell(async () => {
      const job = await (await this.service.send("POST", "/ingestion/trigger", request)).json();
      this.started(job);
      return `Job ${job.job_id} was started.`;
    });
  }

  /** @param {string} bookId */
  async check(bookId) {
    await this.tell(async () => {
      const found = await this.service.read(`/ingestion/changes?book_id=${encodeURIComponent(bookId)}`);
      if (found.up_to_date) return `${bookId} is up to date.`;
      const counts = ["new", "modified", "moved", "deleted", "failed"].filter((kind) => found[kind].length);
      return `${bookId}: ${counts.map((kind) => `${found[kind].length} ${kind}`).join(", ")}.`;
    });
  }

  /** @param {() => Promise<string>} work What it comes to is told below the list. */
  async tell(work) {
    fill(this.told, "…");
    try {
      this.told.textContent = await work();
    } catch (thrown) {
      const problem = Problem.from(thrown);
      this.told.textContent = `${problem.message} ${problem.action}`;
    }
  }
}
