import { readEvents } from "./events.js";
import { Problem } from "./problem.js";

/** The service's routes that a reader's page uses. Every failure is a Problem. */
export class Service {
  /**
   * @param {string} endpoint Where the service answers, such as `https://ask.example.org`.
   * @param {string | null} key
   */
  constructor(endpoint, key) {
    this.endpoint = endpoint.replace(/\/+$/, "");
    this.key = key;
    /** Whether the key is the page's, so that its readers can't do anything about it. */
    this.isPages = false;
    /**
     * Asks for a key when the service wants one; null: there is none.
     * @type {((problem: Problem) => Promise<string | null>) | null}
     */
    this.askForKey = null;
    /** @type {Promise<string | null> | null} */
    this.asking = null;
  }

  /** Whether the page is the service's own. */
  get isHere() {
    return new URL(this.endpoint, location.href).origin === location.origin;
  }

  /** @returns {Promise<import("./types.js").Book[]>} */
  books() {
    return this.read("/books");
  }

  /**
   * @param {object} question A ChatRequest.
   * @param {AbortSignal} signal
   * @returns {Promise<{ sessionId: string | null, events: AsyncGenerator<import("./types.js").StreamEvent> }>}
   */
  async ask(question, signal) {
    const response = await this.send("POST", "/chat/stream", { ...question, html: true }, signal);
    if (!response.body) throw Problem.brokenOff();
    return { sessionId: response.headers.get("X-Session-ID"), events: readEvents(response.body) };
  }

  /** @param {string} session @returns {Promise<import("./types.js").History>} */
  history(session) {
    return this.read(`/session/${encodeURIComponent(session)}/history?html=true`);
  }

  /** @param {string} session */
  async forget(session) {
    await this.send("DELETE", `/session/${encodeURIComponent(session)}`);
  }

  /**
   * @param {string} id
   * @param {string | null} book
   * @param {[number, number][]} stretches What to highlight in it.
   * @returns {Promise<import("./types.js").Passage | undefined>}
   */
  async passage(id, book, stretches) {
    const query = new URLSearchParams({ html: "true", before: "0", after: "0" });
    if (book) query.set("book_id", book);
    if (stretches.length) query.set("stretches", inWords(stretches));
    const found = await this.read(`/context/${encodeURIComponent(id)}?${query}`);
    return found.passages.find((/** @type {{ id: string }} */ passage) => passage.id === id);
  }

  /**
   * The whole page that a passage is from.
   * @param {import("./types.js").Passage} passage
   * @param {string | null} book
   * @param {[number, number][]} stretches What to highlight of the passage.
   * @returns {Promise<{ html: string }>}
   */
  page(passage, book, stretches) {
    const query = new URLSearchParams({ html: "true", chunk_id: passage.id, stretches: inWords(stretches) });
    if (book) query.set("book_id", book);
    return this.read(`/lesson/${encodeURIComponent(passage.parent_doc_id ?? "")}?${query}`);
  }

  /**
   * The PDF that a passage is from.
   * @param {string} id
   * @param {string | null} book
   */
  async file(id, book) {
    const query = book ? `?${new URLSearchParams({ book_id: book })}` : "";
    const response = await this.send("GET", `/source/${encodeURIComponent(id)}${query}`);
    // Whatever the service sends, nothing else is made of it.
    return new Blob([await response.arrayBuffer()], { type: "application/pdf" });
  }

  /** @param {string} answerId @param {"up" | "down"} rating @param {string} [reason] */
  async rate(answerId, rating, reason) {
    const body = { answer_id: answerId, rating, ...(reason ? { reason } : {}) };
    await this.send("POST", "/feedback", body);
  }

  /** @param {string} path @returns {Promise<any>} */
  async read(path) {
    return (await this.send("GET", path)).json();
  }

  /** A browser does not say when it is the service that refuses the page's site; so it is asked. */
  async whyUnreachable() {
    if (this.isHere) return Problem.offline();
    try {
      const response = await fetch(`${this.endpoint}/widget/settings`, { credentials: "omit", cache: "no-store" });
      const found = await response.json();
      if (found.allowed === false) return new Problem("forbidden", found.message, found.suggested_action, { status: 403 });
    } catch {
      // Not this either: it is really out of reach, or an older service.
    }
    return Problem.offline();
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @param {AbortSignal} [signal]
   * @returns {Promise<Response>}
   */
  async send(method, path, body, signal) {
    const used = this.key;
    const response = await this.fetch(method, path, body, signal);
    if (response.ok) return response;
    const problem = await Problem.of(response);
    if (this.isPages && (problem.kind === "key" || problem.kind === "forbidden")) throw problem.forReaders();
    if (problem.kind !== "key" || !this.askForKey) throw problem;
    // Meanwhile another request may have brought a key; then it is tried first.
    if (this.key === used && !(await this.newKey(problem))) throw problem;
    return this.send(method, path, body, signal);
  }

  /**
   * Requests that fail together ask together.
   * @param {Problem} problem
   */
  async newKey(problem) {
    this.asking ??= this.askForKey?.(problem) ?? Promise.resolve(null);
    const given = await this.asking.finally(() => (this.asking = null));
    if (given) this.key = given;
    return given;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body] A file is sent as it is, anything else as JSON.
   * @param {AbortSignal} [signal]
   */
  async fetch(method, path, body, signal) {
    /** @type {Record<string, string>} */
    const headers = {};
    if (this.key) headers["Authorization"] = `Bearer ${this.key}`;
    const isFile = body instanceof Blob;
    if (body) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
    try {
      return await fetch(this.endpoint + path, {
        method,
        headers,
        body: isFile ? body : body ? JSON.stringify(body) : undefined,
        signal,
        credentials: "omit",
        cache: "no-store",
      });
    } catch (thrown) {
      if (signal?.aborted) throw thrown;
      throw await this.whyUnreachable();
    }
  }
}

/** @param {[number, number][]} stretches */
function inWords(stretches) {
  return stretches.map((pair) => pair.join("-")).join(",");
}
