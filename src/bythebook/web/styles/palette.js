/** Paper and ink; the text colours have a contrast of at least 4.5 on every background here. */
const LIGHT = {
  background: "#fdfcf9",
  surface: "#ffffff",
  sunken: "#f5f2ea",
  text: "#24211c",
  muted: "#655e53",
  border: "#e4ded1",
  edge: "#8f8778",
  accent: "#17595e",
  "accent-text": "#ffffff",
  "accent-soft": "#e3eeec",
  highlight: "#fbe9a2",
  "highlight-text": "#24211c",
  warning: "#8f4a0b",
  good: "#2f6b3b",
  danger: "#9b2c22",
};
const DARK = {
  background: "#191815",
  surface: "#211f1b",
  sunken: "#26241f",
  text: "#ebe6db",
  muted: "#aaa294",
  border: "#3a372f",
  edge: "#7d766a",
  accent: "#84c6c0",
  "accent-text": "#10211f",
  "accent-soft": "#21393a",
  highlight: "#5b4a13",
  "highlight-text": "#fdf4d3",
  warning: "#e9b071",
  good: "#93cf9d",
  danger: "#f0a297",
};

/**
 * The colours, for an element that carries `data-theme`. Whoever uses the chat may give each of them
 * as `--bythebook-NAME`.
 * @param {":host" | ":root"} where
 */
export function palette(where) {
  const when = (/** @type {string} */ attribute) => (where === ":host" ? `:host(${attribute})` : `:root${attribute}`);
  return `
${where} { color-scheme: light; ${variables(LIGHT)} }
@media (prefers-color-scheme: dark) {
  ${when(":not([data-theme=light])")} { color-scheme: dark; ${variables(DARK)} }
}
${when("[data-theme=dark]")} { color-scheme: dark; ${variables(DARK)} }
`;
}

/** @param {Record<string, string>} colours */
function variables(colours) {
  return Object.entries(colours).map(([name, colour]) => `--${name}: var(--bythebook-${name}, ${colour});`).join(" ");
}
