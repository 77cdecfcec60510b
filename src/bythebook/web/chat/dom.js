/**
 * Make an element. An attribute that is null or false is left out, true gives an empty one, and a
 * function under a name like `onclick` listens. Children that are text stay text.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...present(children));
  return element;
}

/**
 * Put other children into an element; empty places are left out.
 * @param {Element} element
 * @param {...(Node | string | null | undefined | false)} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/**
 * Show HTML that the service made and sanitised. Nothing else on the page goes through here, and
 * no other function turns text into elements.
 * @param {Element} target
 * @param {string} html
 */
export function showServiceHtml(target, html) {
  const template = document.createElement("template");
  template.innerHTML = trusted(html);
  target.replaceChildren(template.content);
}

/** @param {(Node | string | null | undefined | false)[]} children */
function present(children) {
  return /** @type {(Node | string)[]} */ (children.filter((child) => child || child === ""));
}

/** A host page may demand Trusted Types; then HTML must pass a named policy. */
const policy = makePolicy();

function makePolicy() {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return null;
  try {
    return types.createPolicy("bythebook", { createHTML: (/** @type {string} */ html) => html });
  } catch {
    // The host page allows no policy of this name: plain text is assigned, which it may refuse.
    return null;
  }
}

/** @param {string} html @returns {string} */
function trusted(html) {
  return policy ? policy.createHTML(html) : html;
}

/**
 * @param {string} label
 * @param {string[][]} options Pairs of value and name.
 * @param {string} chosen
 * @param {(value: string) => void} change
 */
export function select(label, options, chosen, change) {
  const entries = options.map(([value, name]) => make("option", { value, selected: value === chosen }, name));
  const list = make("select", { onchange: () => change(list.value) }, ...entries);
  return make("label", { class: "field" }, label, list);
}
