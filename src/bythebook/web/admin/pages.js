import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { number, tell } from "./section.js";

/** @typedef {import("./books.js").ManagedBook} ManagedBook */

/** The pages of a book, each of which can be removed and brought back. */
export class Pages {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {{ line: HTMLElement, question: import("./question.js").Question, started: (job: import("./jobs.js").Job) => void, changed: () => Promise<void> }} around
   */
  constructor(service, around) {
    this.service = service;
    this.around = around;
    /** Ids of books whose pages are shown. @type {Set<string>} */
    this.shown = new Set();
  }

  /** @param {ManagedBook} book */
  of(book) {
    const place = make("div", { class: "paging" });
    const open = () => void tell(this.around.line, () => this.show(book, place));
    fill(place, make("button", { type: "button", class: "plain", onclick: open }, icon("list"), "Show its pages"));
    if (this.shown.has(book.book_id)) void this.show(book, place).catch(() => this.shown.delete(book.book_id));
    return place;
  }

  /** @param {ManagedBook} book @param {Element} place */
  async show(book, place) {
    const path = `/admin/books/${book.book_id}`;
    /** @type {[{ page: string, title: string }[], { pages: string[] }]} */
    const [found, { pages: removed }] = await Promise.all([this.service.read(`${path}/pages`), this.service.read(`${path}/removed`)]);
    this.shown.add(book.book_id);
    const rows = found.map(({ page, title }) =>
      make(
        "li",
        {},
        make("span", {}, title, title === page ? null : make("span", { class: "small" }, ` ${page}`)),
        make("button", { type: "button", class: "quiet", "aria-label": `Remove the page ${title}`, onclick: () => void this.remove(book, page, title) }, icon("trash")),
      ),
    );
    const gone = removed.map((page) =>
      make(
        "li",
        {},
        make("span", {}, page),
        make(
          "span",
          { class: "actions" },
          make("button", { type: "button", class: "plain", "aria-label": `Bring back the page ${page}`, onclick: () => void this.bringBack(book, page) }, icon("retry"), "Bring back"),
          book.kind === "uploaded" ? make("button", { type: "button", class: "quiet", "aria-label": `Delete the file ${page}`, onclick: () => void this.deleteFile(book, page) }, icon("trash"), "Delete") : null,
        ),
      ),
    );
    const list = (/** @type {string} */ label, /** @type {HTMLElement[]} */ entries) => make("ul", { class: "pages", tabindex: "0", "aria-label": label }, ...entries);
    fill(
      place,
      make("p", { class: "small" }, `${number(found.length)} ${found.length === 1 ? "page" : "pages"}`),
      list(`Pages of ${book.title}`, rows),
      gone.length ? make("p", { class: "small" }, `${number(gone.length)} removed`) : null,
      gone.length ? list(`Removed pages of ${book.title}`, gone) : null,
    );
    return "";
  }

  /** @param {ManagedBook} book @param {string} page @param {string} title */
  async remove(book, page, title) {
    const words = `No answer will use ${page} any more, and it is passed over when the book is read again. You can bring it back.`;
    if (!(await this.around.question.ask(`Remove the page ${title}?`, words, "Remove the page"))) return;
    await this.change(async () => {
      await this.service.send("DELETE", `/admin/books/${book.book_id}/pages/${inPath(page)}`);
      return `The page ${title} is removed.`;
    });
  }

  /** @param {ManagedBook} book @param {string} page */
  bringBack(book, page) {
    return this.change(async () => {
      const job = await (await this.service.send("PUT", `/admin/books/${book.book_id}/pages/${inPath(page)}`)).json();
      this.around.started(job);
      return `${page} is being read: job ${job.job_id}.`;
    });
  }

  /** @param {ManagedBook} book @param {string} page */
  async deleteFile(book, page) {
    if (!(await this.around.question.ask(`Delete the file ${page}?`, "The uploaded file is deleted for good. To have the page again, upload it again.", "Delete the file"))) return;
    await this.change(async () => {
      await this.service.send("DELETE", `/admin/books/${book.book_id}/removed/${inPath(page)}`);
      return `The file ${page} is deleted.`;
    });
  }

  /** @param {() => Promise<string>} work */
  async change(work) {
    if (await tell(this.around.line, work)) await this.around.changed();
  }
}

/** @param {string} page */
function inPath(page) {
  return page.split("/").map(encodeURIComponent).join("/");
}
