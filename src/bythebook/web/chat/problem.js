/** @typedef {"offline" | "key" | "forbidden" | "missing" | "limit" | "down" | "broken" | "other"} Kind */

/** @type {Record<number, Kind>} */
const KINDS = { 401: "key", 403: "forbidden", 404: "missing", 429: "limit", 503: "down" };

/** Why a question got no answer, in words for a reader. */
export class Problem extends Error {
  /**
   * @param {Kind} kind
   * @param {string} message What happened.
   * @param {string} [action] What to do about it.
   * @param {{ wait?: number, requestId?: string, status?: number }} [more]
   */
  constructor(kind, message, action = "", more = {}) {
    super(message);
    this.kind = kind;
    this.action = action;
    /** Seconds until it is worth trying again. */
    this.wait = more.wait ?? 0;
    this.requestId = more.requestId ?? "";
    this.status = more.status ?? 0;
  }

  /** @param {Response} response */
  static async of(response) {
    const told = await response.json().catch(() => ({}));
    const kind = KINDS[response.status] ?? "other";
    const message = told.message ?? `The service answered with the status ${response.status}.`;
    return new Problem(kind, message, told.suggested_action ?? "Try again in a moment.", {
      wait: seconds(response.headers.get("Retry-After")),
      requestId: told.request_id ?? response.headers.get("X-Request-ID") ?? "",
      status: response.status,
    });
  }

  /** The same for somebody who did not choose the key. */
  forReaders() {
    const action = `Report this to the operator of the site: ${this.message}`;
    return new Problem(this.kind, "This page is not allowed to ask the book.", action, this);
  }

  /**
   * The last event of a stream that failed.
   * @param {{ message?: string, suggested_action?: string, request_id?: string }} told
   */
  static ofEvent(told) {
    const message = told.message ?? "Something went wrong.";
    return new Problem("other", message, told.suggested_action, { requestId: told.request_id });
  }

  static offline() {
    return navigator.onLine === false
      ? new Problem("offline", "You are offline.", "Try again when you are connected.")
      : new Problem("offline", "The service can’t be reached.", "Check the connection and try again.");
  }

  static brokenOff() {
    return new Problem(
      "broken",
      "The connection broke before the answer was complete.",
      "The part shown is verified. Try again for the whole answer.",
    );
  }

  /**
   * Whatever was thrown, as a problem. Mistakes of our own are not dressed up.
   * @param {unknown} thrown
   */
  static from(thrown) {
    if (thrown instanceof Problem) return thrown;
    console.error(thrown);
    return new Problem("other", "Something went wrong on this page.", "Load it again.");
  }
}

/** @param {string | null} header */
function seconds(header) {
  const value = Number(header);
  return Number.isFinite(value) && value > 0 ? Math.ceil(value) : 0;
}
