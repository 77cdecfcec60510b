import { make } from "./dom.js";

/** A level as a word, and what it means. The levels are the service's. */
const LEVELS = {
  high: ["High confidence", "Several passages fit the question closely."],
  medium: ["Medium confidence", "Some passages fit the question well, but not many."],
  low: ["Low confidence", "Few passages fit the question. Read the quoted passages before you rely on the answer."],
  insufficient: ["Not covered", "No passage fits the question well enough to answer from it."],
};

/**
 * How sure the book answers, as a word that explains itself when it is opened.
 * @param {import("./types.js").Answer} answer
 */
export function confidence(answer) {
  const level = /** @type {keyof typeof LEVELS} */ (answer.confidence_level ?? levelOf(answer.confidence));
  const [word, meaning] = LEVELS[level] ?? LEVELS.insufficient;
  const passages = answer.metrics?.num_chunks;
  return make(
    "details",
    { class: "confidence", "data-level": level },
    make("summary", {}, make("span", { class: "dot", "aria-hidden": "true" }), word),
    make(
      "div",
      { class: "explanation" },
      make("p", {}, meaning, " It says how well the book covers the question, not whether the book is right."),
      answer.searched ? make("p", {}, `Searched for “${answer.searched}”${counted(passages)}.`) : null,
      ...(answer.notes ?? []).map((note) => make("p", {}, note)),
    ),
  );
}

/**
 * A kept answer has the number but not the level.
 * @param {number | null | undefined} value
 */
function levelOf(value) {
  if (!value) return "insufficient";
  return value >= 0.85 ? "high" : value >= 0.75 ? "medium" : "low";
}

/** @param {number | undefined} passages */
function counted(passages) {
  if (!passages) return "";
  return passages === 1 ? "; 1 passage was good enough to use" : `; ${passages} passages were good enough to use`;
}
