/** What TeX's commands stand for. A command that is in none of these tables is not understood. */

/** Letters and other things that stand for a value. @type {Record<string, string>} */
export const LETTERS = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ",
  vartheta: "ϑ", iota: "ι", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ",
  tau: "τ", upsilon: "υ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", Gamma: "Γ", Delta: "Δ",
  Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω", infty: "∞",
  partial: "∂", nabla: "∇", ell: "ℓ", hbar: "ℏ", emptyset: "∅", top: "⊤", dots: "…", ldots: "…", cdots: "⋯",
};

/** Signs between values. @type {Record<string, string>} */
export const SIGNS = {
  cdot: "⋅", times: "×", div: "÷", pm: "±", mp: "∓", circ: "∘", ast: "∗", oplus: "⊕", otimes: "⊗", le: "≤",
  leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", approx: "≈", equiv: "≡", sim: "∼", propto: "∝", ll: "≪",
  gg: "≫", in: "∈", notin: "∉", subset: "⊂", subseteq: "⊆", cup: "∪", cap: "∩", forall: "∀", exists: "∃",
  neg: "¬", land: "∧", lor: "∨", to: "→", rightarrow: "→", leftarrow: "←", Rightarrow: "⇒", Leftarrow: "⇐",
  leftrightarrow: "↔", Leftrightarrow: "⇔", iff: "⇔", implies: "⇒", mapsto: "↦", mid: "∣", parallel: "∥",
  perp: "⊥", colon: ":", prime: "′",
};

/** Those that carry limits below and above. @type {Record<string, string>} */
export const LARGE = { sum: "∑", prod: "∏", int: "∫", iint: "∬", oint: "∮", bigcup: "⋃", bigcap: "⋂" };

/** Those that grow with what they enclose. @type {Record<string, string>} */
export const FENCES = {
  lVert: "‖", rVert: "‖", Vert: "‖", "|": "‖", lvert: "|", rvert: "|", vert: "|", langle: "⟨", rangle: "⟩",
  lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", "{": "{", "}": "}", lbrace: "{", rbrace: "}",
};

/** @type {Record<string, string>} */
export const ACCENTS = { hat: "^", widehat: "^", bar: "¯", overline: "¯", tilde: "~", vec: "→", dot: "˙", ddot: "¨" };

/** Widths in em. @type {Record<string, string>} */
export const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", " ": "0.33em", quad: "1em", qquad: "2em", "!": "0em" };

export const FUNCTIONS = new Set(
  "arccos arcsin arctan arg cos cosh cot deg det dim exp gcd inf ker lim ln log max min Pr sin sinh sup tan tanh argmin argmax".split(" "),
);

/** Matrices by what encloses them. @type {Record<string, [string, string]>} */
export const MATRICES = {
  matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"],
  cases: ["{", ""], aligned: ["", ""],
};

/** Where the alphabets that have letters of their own begin, and the letters that stand elsewhere. */
const ALPHABETS = {
  mathbb: { start: 0x1d538, elsewhere: { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" } },
  mathcal: { start: 0x1d49c, elsewhere: { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ" } },
  mathbf: { start: 0x1d400, elsewhere: {} },
};

/** @param {string} name @returns {name is keyof typeof ALPHABETS} */
export function isAlphabet(name) {
  return Object.hasOwn(ALPHABETS, name);
}

/** @param {keyof typeof ALPHABETS} name @param {string} text */
export function inAlphabet(name, text) {
  const { start, elsewhere } = ALPHABETS[name];
  return text.replace(/[A-Z]/g, (letter) => {
    const own = /** @type {Record<string, string>} */ (elsewhere)[letter];
    return own ?? String.fromCodePoint(start + letter.charCodeAt(0) - 65);
  });
}
