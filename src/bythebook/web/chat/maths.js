import { ACCENTS, FENCES, FUNCTIONS, inAlphabet, isAlphabet, LARGE, LETTERS, MATRICES, SIGNS, SPACES } from "./mathsigns.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TOKEN = /\s+|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[\s\S]/gu;

/** Longer ones are no formulas. */
const MAX_LENGTH = 1000;

/** TeX that uses more than is understood here; it is shown as it is written. */
class NotUnderstood extends Error {}

/**
 * Show the formulas within as a browser shows mathematics. One that is not wholly understood stays
 * as the book writes it.
 * @param {Element} text
 */
export function dressMaths(text) {
  for (const formula of text.querySelectorAll(".math")) {
    // A formula of which only a part is cited keeps its marks.
    const [only, ...more] = formula.childNodes;
    const holder = only instanceof Element && !more.length ? only : formula;
    const source = holder.textContent ?? "";
    if (holder.childElementCount || source.length > MAX_LENGTH) continue;
    try {
      holder.replaceChildren(toMathml(source, formula.tagName === "DIV"));
      formula.setAttribute("title", source.trim());
    } catch (problem) {
      if (!(problem instanceof NotUnderstood)) throw problem;
    }
  }
}

/** @param {string} tex @param {boolean} display */
export function toMathml(tex, display) {
  const reader = new Reader(tex, display);
  const parts = reader.until(null);
  return node("math", display ? { display: "block" } : {}, ...parts);
}

class Reader {
  /** @param {string} tex @param {boolean} display */
  constructor(tex, display) {
    /** @type {string[]} */
    this.tokens = tex.match(TOKEN) ?? [];
    this.at = 0;
    this.display = display;
  }

  /** The token that comes; white space means nothing in TeX but within a text. */
  get next() {
    while (this.tokens[this.at] !== undefined && !this.tokens[this.at].trim()) this.at += 1;
    return this.tokens[this.at];
  }

  take() {
    const token = this.next;
    if (token === undefined) throw new NotUnderstood();
    this.at += 1;
    return token;
  }

  /** @param {string} token */
  expect(token) {
    if (this.take() !== token) throw new NotUnderstood();
  }

  /** Everything up to a token, which is taken too; null is the end. @param {string | null} end */
  until(end) {
    const parts = [];
    while (this.next !== undefined && this.next !== end) parts.push(this.scripted());
    if (end !== null) this.expect(end);
    return parts;
  }

  /** Something with what stands below and above it. */
  scripted() {
    const isLarge = Object.hasOwn(LARGE, this.next?.slice(1)) || ["\\min", "\\max", "\\lim", "\\argmin", "\\argmax"].includes(this.next);
    const base = this.next === "^" || this.next === "_" ? node("mrow") : this.one();
    let below = null;
    let above = null;
    while (this.next === "_" || this.next === "^" || this.next === "'") {
      const sign = this.take();
      const part = sign === "'" ? node("mo", {}, "′") : this.one();
      if (sign === "_" ? below : above) throw new NotUnderstood();
      if (sign === "_") below = part;
      else above = part;
    }
    const [under, over, both] = isLarge && this.display ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return node(both, {}, base, below, above);
    if (below) return node(under, {}, base, below);
    return above ? node(over, {}, base, above) : base;
  }

  /** A sign, a number, a group or a command with what belongs to it. @returns {Element} */
  one() {
    const token = this.take();
    if (token === "{") return node("mrow", {}, ...this.until("}"));
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return node("mn", {}, token);
    if (/^\p{L}$/u.test(token)) return node("mi", {}, token);
    if ("()[]|".includes(token)) return node("mo", { stretchy: "false" }, token);
    if ("+-=<>,;:.!/*".includes(token)) return node("mo", {}, token === "-" ? "−" : token);
    throw new NotUnderstood();
  }

  /** @param {string} name @returns {Element} */
  command(name) {
    if (Object.hasOwn(LETTERS, name)) return node("mi", {}, LETTERS[name]);
    if (Object.hasOwn(SIGNS, name)) return node("mo", {}, SIGNS[name]);
    if (Object.hasOwn(LARGE, name)) return node("mo", {}, LARGE[name]);
    if (Object.hasOwn(FENCES, name)) return node("mo", { stretchy: "false" }, FENCES[name]);
    if (Object.hasOwn(SPACES, name)) return node("mspace", { width: SPACES[name] });
    if (Object.hasOwn(ACCENTS, name)) return node("mover", { accent: "true" }, this.one(), node("mo", {}, ACCENTS[name]));
    if (FUNCTIONS.has(name)) return this.named(name);
    if (isAlphabet(name)) return node("mi", { mathvariant: "normal" }, inAlphabet(name, this.word()));
    if (["frac", "tfrac", "dfrac"].includes(name)) return node("mfrac", {}, this.one(), this.one());
    if (name === "sqrt") return this.root();
    if (name === "operatorname" || name === "mathrm") return this.named(this.word());
    if (name === "text" || name === "textrm") return node("mtext", {}, this.word().replaceAll(" ", "\u00a0"));
    if (name === "left") return this.fenced();
    if (name === "begin") return this.matrix(this.word());
    if ("%$#&_".includes(name)) return node("mo", {}, name);
    throw new NotUnderstood();
  }

  /** @param {string} name */
  named(name) {
    const space = this.next && /^[\p{L}\d\\]/u.test(this.next) ? node("mspace", { width: SPACES[","] }) : null;
    return node("mrow", {}, node("mi", { mathvariant: "normal" }, name), space);
  }

  root() {
    if (this.next !== "[") return node("msqrt", {}, this.one());
    this.take();
    const degree = node("mrow", {}, ...this.until("]"));
    return node("mroot", {}, this.one(), degree);
  }

  fenced() {
    const open = this.fence();
    const inside = this.until("\\right");
    return node("mrow", {}, open, ...inside, this.fence());
  }

  fence() {
    const token = this.take();
    const sign = Object.hasOwn(FENCES, token.slice(1)) ? FENCES[token.slice(1)] : "()[]|.".includes(token) ? token : undefined;
    if (sign === undefined) throw new NotUnderstood();
    return node("mo", { fence: "true", stretchy: "true" }, sign === "." ? "" : sign);
  }

  /** Plain words in braces, white space and all. */
  word() {
    this.expect("{");
    const end = this.tokens.indexOf("}", this.at);
    const words = this.tokens.slice(this.at, end).join("");
    if (end < 0 || !/^[\p{L}\p{N}\s.,;:!?()*-]*$/u.test(words)) throw new NotUnderstood();
    this.at = end + 1;
    return words;
  }

  /** @param {string} kind */
  matrix(kind) {
    if (!Object.hasOwn(MATRICES, kind)) throw new NotUnderstood();
    const fences = MATRICES[kind];
    const rows = [[/** @type {Element[]} */ ([])]];
    while (this.next !== "\\end") {
      if (this.next === "&") rows.at(-1)?.push([]);
      else if (this.next === "\\\\") rows.push([[]]);
      else {
        rows.at(-1)?.at(-1)?.push(this.scripted());
        continue;
      }
      this.take();
    }
    this.take();
    if (this.word() !== kind) throw new NotUnderstood();
    const filled = rows.filter((cells) => cells.some((cell) => cell.length));
    const table = filled.map((cells) => node("mtr", {}, ...cells.map((cell) => node("mtd", {}, ...cell))));
    const [open, close] = fences.map((sign) => (sign ? node("mo", { fence: "true", stretchy: "true" }, sign) : null));
    return node("mrow", {}, open, node("mtable", {}, ...table), close);
  }
}

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string | null)} children
 */
function node(tag, attributes = {}, ...children) {
  const element = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}
