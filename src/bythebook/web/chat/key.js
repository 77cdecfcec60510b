import { make } from "./dom.js";

/** Where a reader gives the key that the service asks for. */
export class KeyDialog {
  /**
   * @param {import("./store.js").Store} store
   * @param {string} name Under which it is remembered: readers and admins have different ones.
   */
  constructor(store, name = "key") {
    this.store = store;
    this.name = name;
    /** @type {((key: string | null) => void) | null} */
    this.answer = null;
    this.why = make("p", {});
    this.field = make("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
    this.keep = make("input", { type: "checkbox" });
    this.element = make(
      "dialog",
      { class: "box", "aria-labelledby": "key-heading", onclose: () => this.done(null) },
      make(
        "form",
        { method: "dialog", onsubmit: (/** @type {Event} */ event) => this.onSubmit(event) },
        make("h2", { id: "key-heading" }, "This service asks for a key"),
        this.why,
        make("label", { class: "field" }, "Key", this.field),
        make("label", { class: "choice" }, this.keep, "Remember it on this device"),
        make(
          "div",
          { class: "row" },
          make("span", { class: "space" }),
          make("button", { type: "button", class: "quiet", onclick: () => this.element.close() }, "Cancel"),
          make("button", { type: "submit", class: "strong" }, "Use this key"),
        ),
      ),
    );
  }

  /** The key of an earlier visit. @returns {string | null} */
  get remembered() {
    return this.store.readTab(this.name, null) ?? this.store.read(this.name, null);
  }

  /**
   * @param {import("./problem.js").Problem} problem Why a key is needed.
   * @returns {Promise<string | null>}
   */
  ask(problem) {
    this.forget();
    this.why.textContent = `${problem.message} Ask the operator of the service for one.`;
    this.field.value = "";
    this.element.showModal();
    return new Promise((resolve) => (this.answer = resolve));
  }

  forget() {
    this.store.write(this.name, null);
    this.store.writeTab(this.name, null);
  }

  /** @param {Event} event */
  onSubmit(event) {
    event.preventDefault();
    const key = this.field.value.trim();
    if (!key) return;
    if (this.keep.checked) this.store.write(this.name, key);
    else this.store.writeTab(this.name, key);
    this.done(key);
    this.element.close();
  }

  /** @param {string | null} key */
  done(key) {
    this.answer?.(key);
    this.answer = null;
    this.field.value = "";
  }
}
