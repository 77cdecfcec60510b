import { make } from "./dom.js";

/** @param {Element} text @returns {HTMLButtonElement[]} */
export function chipsIn(text) {
  return /** @type {HTMLButtonElement[]} */ ([...text.querySelectorAll("button.cite")]);
}

/**
 * A chip and the full stop after it stay on one line, and a chip whose source is not known yet
 * can't be pressed.
 * @param {Element} text
 * @param {import("./types.js").Citation[]} citations
 */
export function dressChips(text, citations) {
  for (const chip of chipsIn(text)) {
    chip.disabled = !citationOf(chip, citations);
    const after = chip.nextSibling;
    const signs = after instanceof Text ? /^[.,;:!?)\]»”’]+/.exec(after.data)?.[0] : undefined;
    if (!signs || !(after instanceof Text)) continue;
    after.data = after.data.slice(signs.length);
    const together = make("span", { class: "together" });
    chip.replaceWith(together);
    together.append(chip, signs);
  }
}

/**
 * @param {HTMLElement} chip
 * @param {import("./types.js").Citation[]} citations
 */
export function citationOf(chip, citations) {
  return citations.find(({ number }) => number === Number(chip.dataset.n));
}
