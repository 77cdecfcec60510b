import answer from "./answer.js";
import base from "./base.js";
import dialog from "./dialog.js";
import history from "./history.js";
import layout from "./layout.js";
import { palette } from "./palette.js";
import passage from "./passage.js";

/** @type {CSSStyleSheet[] | null} */
let made = null;

/**
 * The style sheets of the chat, shared by all of its elements. They are made by script, which a
 * page that forbids inline styles allows.
 */
export function sheets() {
  made ??= sheetsOf([palette(":host"), base, layout, history, answer, passage, dialog]);
  return made;
}

/** @param {string[]} texts */
export function sheetsOf(texts) {
  return texts.map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
}
