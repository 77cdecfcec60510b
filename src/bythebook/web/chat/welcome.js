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
    make("p", {}, "Ask a question. Every sentence of the answer comes from the book and shows where it stands. What the book does not say, you will be told."),
    suggestions.length ? make("p", { class: "small", id: "suggestions" }, "For example") : null,
    suggestions.length ? make("ul", { "aria-labelledby": "suggestions" }, ...suggestions) : null,
  );
}

function noBook() {
  return make(
    "div",
    { class: "welcome" },
    make("h2", {}, "There is no book here yet"),
    make("p", {}, "As soon as whoever runs this service has added one, you can ask it."),
  );
}
