import { copyButton } from "./clipboard.js";
import { make } from "./dom.js";

/**
 * Give every code block within a name, a button to copy it, and the keyboard a way to scroll it.
 * @param {Element} text
 * @param {(words: string) => void} say
 */
export function dressCode(text, say) {
  for (const block of text.querySelectorAll("pre")) {
    const code = block.textContent ?? "";
    const language = /language-([\w+#-]+)/.exec(block.firstElementChild?.className ?? "")?.[1] ?? "";
    const frame = make("div", { class: "code" });
    block.replaceWith(frame);
    block.tabIndex = 0;
    block.setAttribute("role", "region");
    block.setAttribute("aria-label", language ? `Code in ${language}` : "Code");
    const bar = make("div", { class: "bar" }, make("span", {}, language), copyButton("Copy", () => code, say));
    frame.append(bar, block);
  }
}
