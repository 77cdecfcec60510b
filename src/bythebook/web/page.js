import "./chat/element.js";

const chat = /** @type {import("./chat/element.js").BythebookChat | null} */ (document.querySelector("bythebook-chat"));

/** The page around the chat is as light or dark as the chat. */
document.addEventListener("bythebook:theme", (event) => {
  document.documentElement.dataset.theme = /** @type {CustomEvent} */ (event).detail.theme;
});
document.documentElement.dataset.theme = chat?.dataset.theme ?? "auto";
chat?.focusQuestion();
