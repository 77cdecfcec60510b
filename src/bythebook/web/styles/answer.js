export default /* css */ `
.exchange { padding-bottom: 1.5em; margin-bottom: 1.75em; border-bottom: 1px solid var(--border); scroll-margin-top: 1em; }
.exchange:last-child { border-bottom: 0; margin-bottom: 0; }
.question { font: 600 1.2em/1.4 var(--reading-font); margin-bottom: .7em; overflow-wrap: anywhere; white-space: pre-line; }
.question + .selected { margin: -.3em 0 .9em; padding-left: .8em; border-left: 3px solid var(--border); color: var(--muted); font-size: .9375em; overflow-wrap: anywhere; }
.progress { display: flex; align-items: baseline; gap: .6em; color: var(--muted); font-size: .9375em; }
.text + .progress { margin-top: .75em; }
.text:empty + .progress { margin-top: 0; }
.pulse { flex: none; width: .55em; height: .55em; border-radius: 50%; background: var(--accent); }
@media (prefers-reduced-motion: no-preference) { .pulse { animation: pulse 1.2s ease-in-out infinite; } }
@keyframes pulse { 50% { opacity: .25; } }

.text { font: 1.0625em/1.65 var(--reading-font); overflow-wrap: anywhere; text-wrap: pretty; }
.text > * + * { margin-top: .8em; }
.text .raw { white-space: pre-wrap; }
.text ul, .text ol { padding-left: 1.5em; }
.text ul { list-style: disc; }
.text ol { list-style: decimal; }
.text li + li, .text li > * + * { margin-top: .3em; }
.text :is(h1, h2, h3, h4, h5, h6) { font: 600 1.0625em/1.35 var(--reading-font); margin: 1.2em 0 0; }
.text > :first-child { margin-top: 0; }
.text blockquote { margin: .8em 0 0; padding-left: 1em; border-left: 3px solid var(--border); color: var(--muted); }
.text hr { border: 0; border-top: 1px solid var(--border); }
.text code { font: .86em/1.5 var(--mono-font); padding: .1em .3em; background: var(--sunken); border-radius: .3em; }
.text pre { margin: 0; padding: .3em 1em 1em; overflow-x: auto; font: .8125em/1.55 var(--mono-font); white-space: pre; overflow-wrap: normal; outline-offset: -2px; }
.text pre code { font: inherit; padding: 0; background: none; }
.code { background: var(--sunken); border: 1px solid var(--border); border-radius: var(--radius); overflow: hidden; }
.code .bar { display: flex; align-items: center; justify-content: space-between; padding: .2em .3em 0 .9em; font: .75em/1.5 var(--font); color: var(--muted); }
.text .table { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
.text table { border-collapse: collapse; width: 100%; font: .875em/1.5 var(--font); overflow-wrap: normal; }
.text :is(th, td) { padding: .5em .8em; text-align: left; vertical-align: top; min-width: 6em; }
.text th { font-weight: 600; background: var(--sunken); }
.text tr + tr :is(th, td), .text tbody tr :is(th, td) { border-top: 1px solid var(--border); }
.text .math { font-family: var(--mono-font); font-size: .9em; }
.text .math:has(math) { font-size: 1em; }
.text math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math, serif; overflow-wrap: normal; }
.text div.math { overflow-x: auto; padding: .5em 0; text-align: center; white-space: pre; }
.text mark { background: var(--highlight); color: var(--highlight-text); border-radius: .15em; box-decoration-break: clone; -webkit-box-decoration-break: clone; padding: .1em 0; }
.text mark code { background: none; }

.cite { position: relative; min-width: 1.65em; margin: 0 .1em; padding: 0 .4em; font: 600 .72em/1.65 var(--font); vertical-align: .12em; color: var(--accent); background: var(--accent-soft); border-radius: 1em; }
.cite::after { content: ""; position: absolute; inset: -.35em -.1em; }
.cite:disabled { opacity: .7; }
.together { white-space: nowrap; }
.cite:hover:enabled, .cite[aria-expanded] { background: var(--accent); color: var(--accent-text); }

.foot { margin-top: 1em; }
.foot .row { margin-top: .75em; font-size: .875em; align-items: flex-start; }
.sources { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em; }
.sources li { min-width: 0; max-width: 100%; }
.source { display: flex; align-items: baseline; gap: .5em; width: 100%; padding: .35em .7em; text-align: left; border: 1px solid var(--border); background: var(--surface); }
.source:hover, .source[aria-expanded] { border-color: var(--accent); }
.source .number { font-weight: 600; color: var(--accent); }
.source .place { min-width: 0; overflow-wrap: anywhere; }

.confidence { color: var(--muted); max-width: 100%; }
.confidence[open] { flex-basis: 100%; }
.confidence summary { display: inline-flex; align-items: center; gap: .5em; min-height: 2.25em; padding: .3em .5em .3em 0; cursor: pointer; list-style: none; border-radius: calc(var(--radius) * .7); }
.confidence summary::-webkit-details-marker { display: none; }
.confidence summary::after { content: ""; width: .4em; height: .4em; border: solid currentColor; border-width: 0 1.5px 1.5px 0; transform: translateY(-.12em) rotate(45deg); }
.confidence[open] summary::after { transform: translateY(.1em) rotate(225deg); }
.confidence summary:hover { color: var(--text); }
.dot { width: .6em; height: .6em; border-radius: 50%; background: var(--good); }
[data-level=medium] .dot { background: linear-gradient(90deg, var(--good) 50%, transparent 50%); box-shadow: inset 0 0 0 1.5px var(--good); }
[data-level=low] .dot { background: none; box-shadow: inset 0 0 0 1.5px var(--warning); }
.explanation { padding: .2em 0 .6em 1.1em; line-height: 1.55; }
.explanation p + p { margin-top: .4em; }

@container (max-width: 30em) {
  /* The drawings say it; the words stay for screen readers. */
  .foot .quiet > span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
}

.refused .text { color: var(--muted); }
.refused .text, .refused .nearest { padding-left: 18px; border-left: 3px solid var(--border); }
.refused .foot { margin-top: 0; }
.refused .nearest { padding-top: .8em; color: var(--muted); font-size: .9375em; }
.nearest p + p { margin-top: .8em; }
.nearest .sources { flex-direction: column; margin-top: .5em; font-size: 1em; color: var(--text); }
.nearest .source { flex-direction: column; gap: .1em; }

.failure { padding: .9em 1.1em; border: 1px solid var(--border); border-left: 3px solid var(--warning); border-radius: var(--radius); background: var(--surface); font-size: .9375em; }
.failure p + p { margin-top: .25em; }
.failure .row { margin-top: .75em; }
.failure .small { margin-top: .75em; font-size: .75em; overflow-wrap: anywhere; }
.what { font-weight: 600; }
.resume .what { font-weight: inherit; }
.waiting { font-variant-numeric: tabular-nums; }

.reason { font-size: .875em; color: var(--muted); }
.reason form { display: grid; gap: .5em; justify-items: start; margin-top: .5em; }
.reason label { width: 100%; }
.reason textarea { display: block; width: 100%; margin-top: .35em; padding: .5em .7em; color: var(--text); background: var(--surface); border: 1px solid var(--edge); border-radius: calc(var(--radius) * .7); resize: vertical; }
.reason p { text-align: right; }
`;
