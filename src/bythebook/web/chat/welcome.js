import { make } from "./dom.js";

const SHOWN = 4;

/**
 * What stands in an empty conversation: what this is, and questions to begin with.
 * @param {import("./types.js").Book | null} book
 * @param {(question: string) => void} ask
 */
export function welcome(book, ask) {
  if (!book) return noBook();
  const suggestions = (book.suggestions ?? []).slice(0, SHOWN).map((question) =>
    make("li", {}, make("button", { type: "button", class: "suggestion", onclick: () => ask(question) }, question)),
  );
  return make(
    "div",
    { class: "welcome" },
    make("h2", {}, book.title),
    make("p", {}, "Ask a question. Every sentence of the answer comes from the book, with its source. If the book has no answer, you will read that."),
    suggestions.length ? make("p", { class: "small", id: "suggestions" }, "For example") : null,
    suggestions.length ? make("ul", { "aria-labelledby": "suggestions" }, ...suggestions) : null,
  );
}

function noBook() {
  return make(
    "div",
    { class: "welcome" },
    make("h2", {}, "There is no book here yet"),
    make("p", {}, "You can ask as soon as the operator of this service has added one."),
  );
}
