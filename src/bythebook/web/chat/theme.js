/** @typedef {"auto" | "light" | "dark"} Appearance */

/** Light or dark: as the system wants it, as the reader chose, or as the host page fixed it. */
export class Theme {
  /**
   * @param {HTMLElement} host
   * @param {import("./store.js").Store} store
   * @param {string | null} fixed What the host page says; "auto" leaves it to the reader.
   */
  constructor(host, store, fixed) {
    this.host = host;
    this.store = store;
    this.isFixed = fixed === "light" || fixed === "dark";
    /** @type {Appearance} */
    this.chosen = this.isFixed ? /** @type {Appearance} */ (fixed) : store.read("appearance", /** @type {Appearance} */ ("auto"));
    this.apply();
  }

  /** As chosen; else as the page around is, where it says so (`scheme`). */
  get shown() {
    return this.chosen === "auto" ? (this.host.getAttribute("scheme") ?? "auto") : this.chosen;
  }

  get isDark() {
    return this.shown === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : this.shown === "dark";
  }

  toggle() {
    this.choose(this.isDark ? "light" : "dark");
  }

  /** @param {Appearance} appearance */
  choose(appearance) {
    this.chosen = appearance;
    this.store.write("appearance", appearance === "auto" ? null : appearance);
    this.apply();
  }

  apply() {
    this.host.dataset.theme = this.shown;
    const detail = { theme: this.shown, chosen: this.chosen };
    this.host.dispatchEvent(new CustomEvent("bythebook:theme", { bubbles: true, composed: true, detail }));
  }
}
