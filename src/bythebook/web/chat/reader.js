/**
 * @typedef {object} Choice What a reader restricted a book to; null and empty mean all of it.
 * @property {string | null} module
 * @property {number | null} tier
 * @property {string[]} proficiency
 * @property {string | null} layer
 */

/** @type {Choice} */
const ALL = { module: null, tier: null, proficiency: [], layer: null };

/** Which book a reader asks, and which parts of it; remembered by the browser. */
export class Reader {
  /**
   * @param {import("./store.js").Store} store
   * @param {string | null} fixedBook The only book of this page, when it names one.
   */
  constructor(store, fixedBook) {
    this.store = store;
    this.fixedBook = fixedBook;
    /** @type {import("./types.js").Book[]} */
    this.books = [];
  }

  /** @param {import("./types.js").Book[]} books */
  setBooks(books) {
    this.books = this.fixedBook ? books.filter((book) => book.book_id === this.fixedBook) : books;
  }

  /** @returns {import("./types.js").Book | null} */
  get book() {
    const wanted = this.fixedBook ?? this.store.read("book", null);
    return this.books.find((book) => book.book_id === wanted) ?? this.books[0] ?? null;
  }

  get bookId() {
    return this.book?.book_id ?? null;
  }

  /** @param {string} id */
  chooseBook(id) {
    this.store.write("book", id);
  }

  /**
   * The choice for the book, without what the book no longer has.
   * @returns {Choice}
   */
  get choice() {
    const book = this.book;
    if (!book) return ALL;
    const kept = { ...ALL, ...this.store.read(`choice:${book.book_id}`, ALL) };
    return {
      module: book.modules.some(({ id }) => id === kept.module) ? kept.module : null,
      tier: kept.tier !== null && book.hardware_tiers.includes(kept.tier) ? kept.tier : null,
      proficiency: kept.proficiency.filter((level) => book.proficiency_levels.includes(level)),
      layer: kept.layer !== null && book.layers.includes(kept.layer) ? kept.layer : null,
    };
  }

  /** @param {Choice} choice */
  choose(choice) {
    if (this.book) this.store.write(`choice:${this.book.book_id}`, choice);
  }

  clear() {
    this.choose(ALL);
  }

  /** @returns {import("./types.js").Filters | null} */
  get filters() {
    const { module, tier, proficiency, layer } = this.choice;
    const filters = {
      ...(module ? { module_filter: module } : {}),
      ...(tier ? { hardware_tier_filter: tier } : {}),
      ...(proficiency.length ? { proficiency_levels: proficiency } : {}),
      ...(layer ? { layer_filter: layer } : {}),
    };
    return Object.keys(filters).length ? filters : null;
  }

  /** What the answers are restricted to, in words; empty for the whole book. */
  get inWords() {
    const { module, tier, proficiency, layer } = this.choice;
    const title = this.book?.modules.find(({ id }) => id === module)?.title;
    return [
      title,
      tier && `hardware up to tier ${tier}`,
      proficiency.length && `level ${proficiency.join(", ")}`,
      layer && `layer ${layer}`,
    ].filter(Boolean).join(" · ");
  }
}
