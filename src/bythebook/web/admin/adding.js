import { fill, make } from "../chat/dom.js";
import { icon } from "../chat/icons.js";
import { Problem } from "../chat/problem.js";
import { tell } from "./section.js";

const LONGEST_ID = 60;

/**
 * Send files to a book's folder, one after the other; what can't be read is left out.
 * @param {import("../chat/service.js").Service} service
 * @param {string} bookId
 * @param {File[]} files
 * @param {(words: string) => void} progress
 * @returns {Promise<string[]>} Why files were left out.
 */
export async function upload(service, bookId, files, progress) {
  const problems = [];
  const names = new Set();
  for (const [at, file] of files.entries()) {
    if (names.has(file.name)) {
      problems.push(`A second ${file.name} was left out. Give it another name, or pack the folders as a .zip file.`);
      continue;
    }
    names.add(file.name);
    progress(`Uploading ${at + 1} of ${files.length}: ${file.name} …`);
    try {
      await sent(service, `/admin/books/${bookId}/files/${encodeURIComponent(file.name)}`, file);
    } catch (thrown) {
      const problem = Problem.from(thrown);
      if (problem.kind === "key") throw problem;
      problems.push(`${file.name} was left out: ${problem.message} ${problem.action}`);
    }
  }
  return problems;
}

/**
 * A key may make so many requests a minute; then the next file waits.
 * @param {import("../chat/service.js").Service} service
 * @param {string} path
 * @param {File} file
 */
async function sent(service, path, file) {
  for (;;) {
    try {
      return await service.send("PUT", path, file);
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.kind !== "limit" || !thrown.wait) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, thrown.wait * 1000));
    }
  }
}

/** A place to drop files on, which is also a button to choose them. */
export class DropZone {
  /** @param {string[]} kinds Endings. @param {string} hint @param {(files: File[]) => void} changed */
  constructor(kinds, hint, changed) {
    /** @type {File[]} */
    this.files = [];
    this.changed = changed;
    this.words = make("span", {});
    this.input = make("input", { type: "file", class: "hidden", multiple: true, accept: kinds.join(","), onchange: () => this.take([...(this.input.files ?? [])]) });
    this.element = make("label", { class: "drop field" }, icon("save"), this.words, make("span", { class: "small" }, hint), this.input);
    this.element.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.element.classList.add("over");
    });
    this.element.addEventListener("dragleave", () => this.element.classList.remove("over"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.element.classList.remove("over");
      const items = [...(event.dataTransfer?.items ?? [])];
      const folder = items.find((item) => item.webkitGetAsEntry?.()?.isDirectory);
      if (folder) this.refuse("That is a folder. Pack it as a .zip file and drop that.");
      else this.take([...(event.dataTransfer?.files ?? [])]);
    });
    this.show();
  }

  /** @param {File[]} files */
  take(files) {
    this.files = files;
    this.show();
    this.changed(files);
  }

  show() {
    const names = this.files.slice(0, 5).map((file) => file.name).join(", ");
    const more = this.files.length > 5 ? ` and ${this.files.length - 5} more` : "";
    this.words.textContent = names ? names + more : "Drop files here, or choose them";
  }

  /** @param {string} words */
  refuse(words) {
    this.take([]);
    this.words.textContent = words;
  }
}

/** The ways to add a book: files, an address, a folder on the server. */
export class Adding {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {HTMLElement} line Where what happens is told.
   * @param {(job: import("./jobs.js").Job) => void} started
   */
  constructor(service, line, started) {
    this.service = service;
    this.line = line;
    this.started = started;
    this.element = make("details", { class: "add" });
  }

  /** @param {import("./books.js").Managed} found */
  show(found) {
    if (this.element.childElementCount) return;
    this.element.open = !found.books.length;
    fill(
      this.element,
      make("summary", {}, "Add a book"),
      this.byFiles(found),
      found.takes_addresses ? this.byAddress() : null,
      found.books_folder ? this.byFolder() : null,
    );
  }

  /** @param {import("./books.js").Managed} found */
  byFiles(found) {
    const title = make("input", { maxlength: 200, autocomplete: "off" });
    const hint = `PDF, EPUB, DOCX, Markdown and others, up to ${found.max_file_mb} MB each; a folder as a .zip file`;
    const zone = new DropZone(found.kinds, hint, (files) => {
      const first = files[0]?.name ?? "";
      if (!title.value || title.dataset.proposed === title.value) title.value = title.dataset.proposed = nameOf(first);
    });
    const form = make(
      "form",
      { "aria-label": "Add files" },
      zone.element,
      make("label", { class: "field" }, "Title", title),
      make("button", { type: "submit", class: "strong" }, icon("plus"), "Add these files"),
    );
    this.submits(form, async () => {
      if (!zone.files.length) return "Drop files above, or choose them, first.";
      const name = title.value.trim() || nameOf(zone.files[0].name);
      const bookId = freeId(name, new Set((await this.service.read("/admin/books")).books.map((/** @type {{ book_id: string }} */ book) => book.book_id)));
      const problems = await upload(this.service, bookId, zone.files, (words) => (this.line.textContent = words));
      if (problems.length === zone.files.length) return problems.join(" ");
      const told = await this.read({ book_id: bookId, ...(name ? { title: name } : {}) });
      zone.input.value = title.value = "";
      zone.take([]);
      return [told, ...problems].join(" ");
    });
    return form;
  }

  byAddress() {
    const address = make("input", { required: true, maxlength: 1000, inputmode: "url", autocomplete: "off", spellcheck: "false", placeholder: "https://book.example/docs/" });
    const title = make("input", { maxlength: 200, autocomplete: "off", placeholder: "the book’s own" });
    const form = make(
      "form",
      { "aria-label": "Add an address" },
      make("label", { class: "field" }, "Address of a web site or git repository", address),
      make("label", { class: "field" }, "Its title", title),
      make("button", { type: "submit", class: "plain" }, icon("plus"), "Add this address"),
    );
    this.submits(form, async () => {
      const given = address.value.trim();
      const whole = given.includes("://") ? given : `https://${given}`;
      const told = await this.read({ address: whole, ...(title.value.trim() ? { title: title.value.trim() } : {}) });
      address.value = title.value = "";
      return told;
    });
    return form;
  }

  byFolder() {
    const path = make("input", { required: true, maxlength: 1000, placeholder: "folder below the books folder" });
    const id = make("input", { maxlength: 100, placeholder: "chosen for you" });
    const form = make(
      "form",
      { "aria-label": "Add a folder" },
      make("label", { class: "field" }, "Folder on the server", path),
      make("label", { class: "field" }, "Id", id),
      make("button", { type: "submit", class: "plain" }, icon("plus"), "Add this folder"),
    );
    this.submits(form, async () => {
      const request = { path: path.value.trim(), ...(id.value.trim() ? { book_id: id.value.trim() } : {}) };
      return this.told(await (await this.service.send("POST", "/ingestion/trigger", request)).json());
    });
    return form;
  }

  /** @param {object} request */
  async read(request) {
    return this.told(await (await this.service.send("POST", "/admin/books", request)).json());
  }

  /** @param {import("./jobs.js").Job} job */
  told(job) {
    this.started(job);
    return `${job.book_id} is being read: job ${job.job_id}.`;
  }

  /** @param {HTMLFormElement} form @param {() => Promise<string>} work */
  submits(form, work) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = /** @type {HTMLButtonElement} */ (form.querySelector("button[type=submit]"));
      button.disabled = true;
      await tell(this.line, work);
      button.disabled = false;
    });
  }
}

/** A title for a file. @param {string} file */
function nameOf(file) {
  const words = file.replace(/\.[^.]*$/, "").replaceAll(/[_-]+/g, " ").trim();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** @param {string} title @param {Set<string>} taken */
function freeId(title, taken) {
  const plain = title.normalize("NFKD").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const id = plain.slice(0, LONGEST_ID).replaceAll(/^-+|-+$/g, "") || "book";
  let free = id;
  for (let number = 2; taken.has(free); number += 1) free = `${id}-${number}`;
  return free;
}
