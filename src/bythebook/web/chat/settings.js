import { fill, make, select } from "./dom.js";
import { icon } from "./icons.js";

/** Where the reader chooses book, parts of it, and how the page looks. */
export class SettingsDialog {
  /**
   * @param {import("./reader.js").Reader} reader
   * @param {import("./theme.js").Theme} theme
   * @param {{ bookChosen: () => void, partsChosen: () => void }} does
   */
  constructor(reader, theme, does) {
    this.reader = reader;
    this.theme = theme;
    this.does = does;
    this.fields = make("div", { class: "fields" });
    this.element = make(
      "dialog",
      { class: "box", "aria-labelledby": "settings-heading" },
      make(
        "form",
        { method: "dialog", onsubmit: (/** @type {Event} */ event) => this.onSubmit(event) },
        make("h2", { id: "settings-heading" }, "Reader settings"),
        this.fields,
        make(
          "div",
          { class: "row" },
          make("button", { type: "button", class: "quiet", onclick: () => this.clear() }, "The whole book"),
          make("span", { class: "space" }),
          make("button", { type: "submit", class: "strong" }, icon("check"), "Done"),
        ),
      ),
    );
    // A click beside the dialog closes it, as Escape does.
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  open() {
    this.render();
    this.element.showModal();
  }

  /** @param {Event} event */
  onSubmit(event) {
    event.preventDefault();
    this.element.close();
  }

  clear() {
    this.reader.clear();
    this.render();
    this.does.partsChosen();
  }

  render() {
    const { book, books, choice } = this.reader;
    const change = (/** @type {Partial<import("./reader.js").Choice>} */ part) => {
      this.reader.choose({ ...this.reader.choice, ...part });
      this.does.partsChosen();
    };
    fill(
      this.fields,
      books.length > 1 &&
        select("Book", books.map((each) => [each.book_id, each.title]), book?.book_id ?? "", (id) => {
          this.reader.chooseBook(id);
          this.render();
          this.does.bookChosen();
        }),
      several(book?.modules) &&
        select("Part of the book", [["", "The whole book"], ...pairs(book?.modules)], choice.module ?? "", (id) => change({ module: id || null })),
      several(book?.hardware_tiers) &&
        select("Hardware", [["", "Any tier"], ...tiers(book?.hardware_tiers)], String(choice.tier ?? ""), (tier) => change({ tier: Number(tier) || null })),
      several(book?.proficiency_levels) && this.levels(book?.proficiency_levels ?? [], choice.proficiency, change),
      several(book?.layers) &&
        select("Layer", [["", "All layers"], ...(book?.layers ?? []).map(same)], choice.layer ?? "", (layer) => change({ layer: layer || null })),
      this.theme.isFixed ? null : this.appearance(),
    );
  }

  /**
   * @param {string[]} levels
   * @param {string[]} chosen
   * @param {(part: { proficiency: string[] }) => void} change
   */
  levels(levels, chosen, change) {
    const boxes = levels.map((level) => {
      const checked = chosen.includes(level);
      return make("input", { type: "checkbox", value: level, checked, onchange: () => change({ proficiency: ticked() }) });
    });
    const ticked = () => boxes.filter((box) => box.checked).map((box) => box.value);
    const labels = boxes.map((box) => make("label", {}, box, box.value));
    return make("fieldset", {}, make("legend", {}, "Proficiency"), make("div", { class: "choices" }, ...labels));
  }

  appearance() {
    const labels = /** @type {const} */ (["auto", "light", "dark"]).map((value) => {
      const checked = this.theme.chosen === value;
      const choose = () => this.theme.choose(value);
      const radio = make("input", { type: "radio", name: "appearance", value, checked, onchange: choose });
      return make("label", {}, radio, value === "auto" ? "Automatic" : value === "light" ? "Light" : "Dark");
    });
    return make("fieldset", {}, make("legend", {}, "Appearance"), make("div", { class: "choices" }, ...labels));
  }
}

/** A choice with one value is none. @param {unknown[] | undefined} values */
function several(values) {
  return (values?.length ?? 0) > 1;
}

/** @param {import("./types.js").BookModule[]} [modules] */
function pairs(modules = []) {
  return modules.map(({ id, title }) => [id, title]);
}

/** @param {number[]} [values] */
function tiers(values = []) {
  return values.map((tier) => [String(tier), `Up to tier ${tier}`]);
}

/** @param {string} value */
function same(value) {
  return [value, value];
}
