import { make } from "./dom.js";
import { icon } from "./icons.js";

/**
 * The head of the chat: its title, and buttons for what is not the conversation itself.
 * @param {{ list: () => void, settings: () => void, theme: import("./theme.js").Theme, close: (() => void) | null }} does
 */
export function head(does) {
  const title = make(does.close ? "h2" : "h1", { class: "title" });
  const list = button("list", "Conversations", does.list, "opens-list");
  const element = make(
    "div",
    { class: "head" },
    list,
    title,
    does.theme.isFixed ? null : themeButton(does.theme),
    button("settings", "Reader settings", does.settings),
    does.close ? button("close", "Close", does.close) : null,
  );
  return { element, title, list };
}

/** Shows what a press leads to. @param {import("./theme.js").Theme} theme */
export function themeButton(theme) {
  const element = button("moon", "", () => theme.toggle());
  const show = () => {
    const label = theme.isDark ? "Light appearance" : "Dark appearance";
    element.replaceChildren(icon(theme.isDark ? "sun" : "moon"));
    element.setAttribute("aria-label", label);
    element.title = label;
  };
  theme.host.addEventListener("bythebook:theme", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  return element;
}

/** What answers are restricted to, and a way back to the whole book. @param {() => void} clear */
export function limits(clear) {
  const words = make("span", {});
  const element = make(
    "p",
    { class: "limits", hidden: true },
    words,
    make("button", { type: "button", class: "quiet", onclick: clear }, "Whole book"),
  );
  return {
    element,
    /** @param {string} parts */
    show(parts) {
      element.hidden = !parts;
      words.textContent = `Looking only in: ${parts}`;
    },
  };
}

/** Something is under way. @param {string} words */
export function waiting(words) {
  return make("p", { class: "progress" }, make("span", { class: "pulse", "aria-hidden": "true" }), words);
}

/** Says so while the browser is offline. @param {AbortSignal} until */
export function offlineNote(until) {
  const element = make("p", { class: "offline", role: "status", hidden: navigator.onLine !== false }, "You are offline. Answers need a connection.");
  window.addEventListener("offline", () => (element.hidden = false), { signal: until });
  window.addEventListener("online", () => (element.hidden = true), { signal: until });
  return element;
}

/**
 * @param {Parameters<typeof icon>[0]} name
 * @param {string} label
 * @param {() => void} does
 * @param {string} [extra]
 */
function button(name, label, does, extra = "") {
  const attributes = { type: "button", class: `quiet ${extra}`.trim(), "aria-label": label, title: label };
  return make("button", { ...attributes, onclick: does }, icon(name));
}
