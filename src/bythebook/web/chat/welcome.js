import { make, select } from "./dom.js";

const SHOWN = 4;

/**
 * What stands in an empty conversation: what this is, which book it is about, and questions to begin with.
 * @param {{ book: import("./types.js").Book | null, books: import("./types.js").Book[] }} reader
 * @param {(question: string) => void} ask
 * @param {(bookId: string) => void} choose
 * @param {boolean} [isOwnPage] The service's own page, whose reader may be its operator.
 */
export function welcome({ book, books }, ask, choose, isOwnPage = false) {
  if (!book) return noBook(isOwnPage);
  const suggestions = (book.suggestions ?? []).slice(0, SHOWN).map((question) =>
    make("li", {}, make("button", { type: "button", class: "suggestion", onclick: () => ask(question) }, question)),
  );
  return make(
    "div",
    { class: "welcome" },
    make("h2", {}, book.title),
    make("p", {}, "Ask a question. Every sentence of the answer comes from the book, with its source. If the book has no answer, the reply says so."),
    books.length > 1 ? select("Book", books.map((each) => [each.book_id, each.title]), book.book_id, choose) : null,
    suggestions.length ? make("p", { class: "small", id: "suggestions" }, "For example") : null,
    suggestions.length ? make("ul", { "aria-labelledby": "suggestions" }, ...suggestions) : null,
  );
}

/** @param {boolean} isOwnPage */
function noBook(isOwnPage) {
  const words = isOwnPage ? "You can ask as soon as one is added: in the browser, or with " : "You can ask as soon as the operator of this service has added one.";
  return make(
    "div",
    { class: "welcome" },
    make("h2", {}, "There is no book here yet"),
    make("p", {}, words, isOwnPage ? make("code", {}, "bythebook ingest PATH") : null, isOwnPage ? "." : null),
    isOwnPage ? make("p", { class: "add" }, make("a", { class: "strong", href: "/admin" }, "Add a book")) : null,
  );
}
