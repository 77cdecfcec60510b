import { make } from "../chat/dom.js";
import { number, Section, table, when } from "./section.js";

const SHOWN = 20;
/** A key may make 100 requests a minute; this leaves most of them. */
const WHILE_RUNNING_MS = 2000;
const OTHERWISE_MS = 15000;

/**
 * @typedef {object} Job
 * @property {number} job_id
 * @property {string} book_id
 * @property {string} mode
 * @property {"queued" | "running" | "completed" | "failed"} status
 * @property {number} files_processed
 * @property {number} files_to_process
 * @property {number} files_failed
 * @property {number} chunks_created
 * @property {string} started_at
 * @property {number | null} duration_seconds
 * @property {string | null} error_message
 * @property {string[]} warnings
 */

/** The ingestion jobs, followed while one runs. */
export class Jobs extends Section {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {(words: string) => void} say
   * @param {() => void} bookChanged
   */
  constructor(service, say, bookChanged) {
    super("Jobs");
    this.service = service;
    this.say = say;
    this.bookChanged = bookChanged;
    /** @type {Set<number>} */
    this.active = new Set();
    this.timer = 0;
  }

  load() {
    clearTimeout(this.timer);
    return this.attempt(async () => {
      /** @type {Job[]} */
      const jobs = await this.service.read(`/ingestion/status?limit=${SHOWN}`);
      this.render(jobs);
      const isBusy = this.active.size > 0;
      this.timer = setTimeout(() => void this.load(), isBusy ? WHILE_RUNNING_MS : OTHERWISE_MS);
    });
  }

  /** @param {Job} job */
  add(job) {
    this.active.add(job.job_id);
    void this.load();
  }

  /** @param {Job[]} jobs */
  render(jobs) {
    const active = jobs.filter((job) => job.status === "queued" || job.status === "running");
    for (const ended of jobs.filter((job) => this.active.has(job.job_id) && !active.includes(job))) {
      this.say(`Job ${ended.job_id} is ${ended.status}.`);
      this.bookChanged();
    }
    this.active = new Set(active.map((job) => job.job_id));
    if (!jobs.length) this.show(make("p", {}, "No book has been read here yet."));
    else this.show(table("List of jobs", ["Job", "Book", "State", "Passages made", "Started", "Took"], jobs.map(row)));
  }
}

/** @param {Job} job */
function row(job) {
  return [
    String(job.job_id),
    make("div", {}, job.book_id, make("div", { class: "small" }, job.mode)),
    state(job),
    number(job.chunks_created),
    when(job.started_at),
    job.duration_seconds === null ? "–" : `${number(job.duration_seconds)} s`,
  ];
}

/** @param {Job} job */
function state(job) {
  const running = job.status === "running" && job.files_to_process > 0;
  const label = `${number(job.files_processed)} of ${number(job.files_to_process)} files`;
  const more = [job.files_failed ? `${job.files_failed} ${job.files_failed === 1 ? "file" : "files"} could not be read` : null, ...job.warnings].filter(Boolean);
  return make(
    "div",
    { class: "state", "data-status": job.status },
    running ? make("progress", { max: job.files_to_process, value: job.files_processed, "aria-label": label }) : job.status,
    running ? make("div", { class: "small" }, label) : null,
    job.error_message ? make("p", { class: "small" }, job.error_message) : null,
    more.length ? make("details", {}, make("summary", {}, more.length === 1 ? "1 note" : `${more.length} notes`), ...more.map((words) => make("p", { class: "small" }, String(words)))) : null,
  );
}
