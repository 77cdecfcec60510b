import { fill, make } from "./dom.js";
import { icon } from "./icons.js";

const SHOWN_MS = 2000;

/**
 * A button that copies what `text` gives and says so for a moment.
 * @param {string} label
 * @param {() => string} text
 * @param {(words: string) => void} say
 */
export function copyButton(label, text, say) {
  const words = make("span", {}, label);
  const button = make("button", { type: "button", class: "quiet copy", title: label, onclick: copy }, icon("copy"), words);

  async function copy() {
    const done = await write(text());
    const told = done ? "Copied" : "Copying is not possible here";
    fill(button, icon(done ? "check" : "close"), words);
    words.textContent = told;
    say(told);
    setTimeout(() => {
      fill(button, icon("copy"), words);
      words.textContent = label;
    }, SHOWN_MS);
  }
  return button;
}

/** @param {string} text */
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not a secure context, or refused by the reader: the old way, through a selection.
    return writeBySelection(text);
  }
}

/** @param {string} text */
function writeBySelection(text) {
  const field = make("textarea", { class: "hidden", "aria-hidden": "true", tabindex: "-1" });
  const focused = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
