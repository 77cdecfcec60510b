/**
 * @typedef {object} Kept
 * @property {string} id The session at the service.
 * @property {string} book
 * @property {string} question The first one.
 * @property {number} time Of the last question, in milliseconds.
 */

const MOST = 50;

/** The reader's conversations, as this browser knows them; their text is at the service. */
export class Conversations {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
  }

  /** @param {string | null} book @returns {Kept[]} Newest first. */
  list(book) {
    return this.all().filter((kept) => kept.book === book);
  }

  /**
   * Note that a question was asked in a conversation.
   * @param {string} id
   * @param {string} book
   * @param {string} question
   */
  note(id, book, question) {
    const before = this.all();
    const known = before.find((kept) => kept.id === id);
    const noted = { id, book, question: known?.question ?? question, time: Date.now() };
    this.store.write("conversations", [noted, ...before.filter((kept) => kept.id !== id)].slice(0, MOST));
  }

  /** @param {string} id */
  forget(id) {
    this.store.write("conversations", this.all().filter((kept) => kept.id !== id));
  }

  /** @returns {Kept[]} */
  all() {
    const kept = this.store.read("conversations", /** @type {Kept[]} */ ([]));
    return Array.isArray(kept) ? kept : [];
  }
}
