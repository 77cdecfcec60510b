export default /* css */ `
:host {
  /* Nothing of the page around gets in but what is meant to. */
  all: initial;
  display: block;
  container-type: inline-size;
  --font: var(--bythebook-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif);
  --reading-font: var(--bythebook-reading-font, "Iowan Old Style", Charter, "Palatino Linotype", Palatino, "Book Antiqua", Georgia, "Noto Serif", "DejaVu Serif", serif);
  --mono-font: var(--bythebook-mono-font, ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace);
  --radius: var(--bythebook-radius, 10px);
  /* What the reader set in the browser, however large the page around makes its own text. */
  font: medium/1.5 var(--font);
  font-size: var(--bythebook-font-size, medium);
  color: var(--text);
  background: var(--background);
  -webkit-text-size-adjust: 100%;
}
:host([framed]) { border: 1px solid var(--border); border-radius: var(--radius); overflow: hidden; }
:host([hidden]) { display: none; }
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
h1, h2, h3, p, ul, ol, fieldset { margin: 0; padding: 0; border: 0; }
ul, ol { list-style: none; }
a { color: var(--accent); text-underline-offset: .15em; }
button, input, select, textarea { font: inherit; color: inherit; letter-spacing: inherit; }
button { cursor: pointer; border: 0; background: none; border-radius: calc(var(--radius) * .7); }
button:disabled { cursor: default; opacity: .45; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h2:focus, h3:focus { outline: none; }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; border: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { width: 1.25em; height: 1.25em; flex: none; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
.small { font-size: .8125em; color: var(--muted); }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: .25em; }
.space { flex: 1; }
.quiet, .plain, .strong { display: inline-flex; align-items: center; justify-content: center; gap: .45em; min-height: 2.25em; min-width: 2.25em; padding: .3em .5em; }
.quiet { color: var(--muted); }
.quiet:hover:not(:disabled) { color: var(--text); background: var(--sunken); }
.quiet[aria-pressed=true] { color: var(--accent); background: var(--accent-soft); }
.plain { border: 1px solid var(--border); background: var(--surface); padding: .4em .8em; }
.plain:hover:not(:disabled) { border-color: var(--edge); }
.strong { background: var(--accent); color: var(--accent-text); padding: .4em 1em; }
a.strong { text-decoration: none; border-radius: calc(var(--radius) * .7); }
.strong:hover { filter: brightness(1.1); }
.path { font-size: .8125em; color: var(--muted); }
@media (prefers-reduced-motion: no-preference) {
  button, a { transition: background-color .15s, border-color .15s, color .15s; }
  .scroll, .log { scroll-behavior: smooth; }
}
@media (forced-colors: active) { .strong, .send, .cite { border: 1px solid; } }
`;
