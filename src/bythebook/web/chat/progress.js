/** What a reader is told while the service works; a state that says nothing new is left out. */
const STATES = {
  received: "Reading your question …",
  processing: "Reading your question …",
  tool_call_needed: "Looking in the book …",
};

/**
 * An event of the stream in words, or null when there is nothing to say.
 * @param {import("./types.js").StreamEvent} event
 * @returns {string | null}
 */
export function inWords({ name, data }) {
  if (name === "state") return STATES[/** @type {keyof typeof STATES} */ (data.state)] ?? null;
  if (name === "tool_call" && data.arguments?.query) {
    return `Searching for “${shortened(data.arguments.query)}” …`;
  }
  if (name === "retrieval") return found(data.passages ?? []);
  return null;
}

/** @param {{ title: string, section: string | null }[]} passages */
function found(passages) {
  if (!passages.length) return "Nothing found so far …";
  const count = passages.length === 1 ? "1 passage" : `${passages.length} passages`;
  return `Reading ${count}, first “${shortened(passages[0].section || passages[0].title)}” …`;
}

/** @param {string} text */
function shortened(text) {
  return text.length > 80 ? `${text.slice(0, 79).trimEnd()}…` : text;
}
