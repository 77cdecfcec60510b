import { make } from "./dom.js";
import { icon } from "./icons.js";

/** A page of more passages is not shown as a whole. */
const MOST_PASSAGES = 60;

/** The page or the PDF that a passage is from, in the place of the passage. */
export class Source {
  /** @param {import("./service.js").Service} service */
  constructor(service) {
    this.service = service;
    /** The PDF that was fetched last. @type {{ of: string, url: string } | null} */
    this.file = null;
  }

  /**
   * Ways to see more than the passage.
   * @param {import("./types.js").Passage} passage
   * @param {import("./passage.js").Wanted} wanted
   * @param {string | null} book
   * @param {{ show: (work: () => Promise<HTMLElement | string>, links: () => (Node | null)[]) => Promise<void> }} panel
   */
  ways(passage, wanted, book, panel) {
    const page = wanted.page ?? passage.page_number;
    if (passage.has_file) {
      const words = page ? `PDF, page ${page}` : "PDF";
      const show = () => panel.show(() => this.pdf(passage, page, book), () => [this.tab(page)]);
      return [make("button", { type: "button", class: "quiet way", onclick: () => void show() }, words)];
    }
    if (passage.total_chunks < 2 || passage.total_chunks > MOST_PASSAGES || page) return [];
    const show = () => panel.show(async () => (await this.service.page(passage, book, wanted.stretches)).html, () => []);
    return [make("button", { type: "button", class: "quiet way", onclick: () => void show() }, "Whole page")];
  }

  /**
   * In a frame, where that is possible.
   * @param {import("./types.js").Passage} passage
   * @param {number | null | undefined} page
   * @param {string | null} book
   */
  async pdf(passage, page, book) {
    const of = JSON.stringify([book, passage.source_file]);
    if (this.file?.of !== of) {
      const url = URL.createObjectURL(await this.service.file(passage.id, book));
      this.forget();
      this.file = { of, url };
    }
    // Another site may forbid frames, and phones have no viewer for them.
    if (!this.service.isHere || navigator.pdfViewerEnabled === false) return make("p", {}, "The PDF opens in a tab of its own.");
    // Without the viewer's own list of pages, which would take half of the room.
    return make("iframe", { src: `${this.at(page ?? 1)}&navpanes=0&pagemode=none`, title: `${passage.title}${page ? `, page ${page}` : ""}` });
  }

  /** @param {number | null | undefined} page */
  tab(page) {
    return this.file && make("a", { href: this.at(page), target: "_blank", rel: "noopener" }, "Open in a tab", icon("open"));
  }

  /** @param {number | null | undefined} page */
  at(page) {
    return `${this.file?.url}${page ? `#page=${page}` : ""}`;
  }

  forget() {
    if (this.file) URL.revokeObjectURL(this.file.url);
    this.file = null;
  }
}
