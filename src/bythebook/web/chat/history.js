import { fill, make } from "./dom.js";
import { icon } from "./icons.js";

/** The list of conversations: a column where there is room, else a drawer. */
export class HistoryList {
  /**
   * @param {{ resume: (id: string) => void, remove: (id: string) => Promise<boolean>, startAnew: () => void, close: () => void }} does
   */
  constructor(does) {
    this.does = does;
    /** @type {string | null} */
    this.current = null;
    this.list = make("ul", {});
    this.heading = make("h2", { tabindex: "-1" }, "Conversations");
    this.element = make(
      "nav",
      { class: "history", "aria-label": "Conversations" },
      make(
        "header",
        {},
        this.heading,
        make("button", { type: "button", class: "quiet closes", "aria-label": "Close the list", title: "Close", onclick: () => does.close() }, icon("close")),
      ),
      make("button", { type: "button", class: "plain new", onclick: () => does.startAnew() }, icon("plus"), "New conversation"),
      this.list,
      make("p", { class: "small" }, "This list is kept in this browser only."),
    );
  }

  /** @param {import("./conversations.js").Kept[]} conversations @param {string | null} current */
  show(conversations, current) {
    const root = /** @type {Document | ShadowRoot} */ (this.list.getRootNode());
    const focused = root.activeElement?.closest("li")?.dataset.id;
    this.current = current;
    fill(this.list, ...conversations.map((kept) => this.entry(kept)));
    if (focused) this.focus(focused);
  }

  /** What was focused has been made anew. @param {string} id */
  focus(id) {
    const items = [...this.list.children].filter((item) => item instanceof HTMLElement);
    items.find((item) => item.dataset.id === id)?.querySelector("button")?.focus();
  }

  /** @param {import("./conversations.js").Kept} kept */
  entry(kept) {
    const isCurrent = kept.id === this.current;
    const resume = make(
      "button",
      { type: "button", class: "resume", "aria-current": isCurrent ? "true" : null, onclick: () => this.does.resume(kept.id) },
      make("span", { class: "what" }, kept.question),
      make("time", { datetime: new Date(kept.time).toISOString() }, when(kept.time)),
    );
    return make("li", { "data-id": kept.id }, resume, this.deleteButton(kept));
  }

  /** The first click asks, the second deletes. @param {import("./conversations.js").Kept} kept */
  deleteButton(kept) {
    const label = `Delete the conversation “${kept.question}”`;
    const button = make("button", { type: "button", class: "quiet delete", "aria-label": label, title: "Delete" }, icon("trash"));
    let isSure = false;
    const calm = () => {
      isSure = false;
      button.setAttribute("aria-label", label);
      button.classList.remove("sure");
      fill(button, icon("trash"));
    };
    button.addEventListener("blur", calm);
    button.addEventListener("click", async () => {
      if (isSure) {
        button.disabled = true;
        if (await this.does.remove(kept.id)) this.heading.focus();
        else button.disabled = false;
        return;
      }
      isSure = true;
      button.setAttribute("aria-label", `Really delete “${kept.question}”?`);
      button.classList.add("sure");
      fill(button, "Delete?");
    });
    return button;
  }
}

/** @param {number} time */
function when(time) {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  return today
    ? date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
