export default /* css */ `
:host { min-height: 100vh; }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: .25em 1em; max-width: 62em; margin: 0 auto; padding: 1em 1.25em; }
h1 { font: 600 1.25em/1.3 var(--reading-font); }
main { display: grid; gap: 1.25em; max-width: 62em; margin: 0 auto; padding: .25em 1.25em 4em; grid-template-columns: minmax(0, 1fr); }
section { padding: 1.1em 1.25em 1.25em; background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius); }
section > header { display: flex; flex-wrap: wrap; align-items: center; gap: .5em; margin-bottom: .75em; }
h2 { font: 600 1.1em/1.3 var(--reading-font); }
select, input:not([type=checkbox]) { min-height: 2.25em; padding: .25em .5em; background: var(--background); border: 1px solid var(--edge); border-radius: calc(var(--radius) * .7); max-width: 100%; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9375em; }
th, td { padding: .55em 1em .55em 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--border); }
th { font-size: .8125em; font-weight: 600; color: var(--muted); white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
td { font-variant-numeric: tabular-nums; }
.actions { display: flex; flex-wrap: wrap; gap: .35em; align-items: center; }
.books > li { padding: .9em 0; border-bottom: 1px solid var(--border); }
.book { display: flex; flex-wrap: wrap; gap: .6em 1em; align-items: flex-start; justify-content: space-between; }
.book > :first-child { flex: 1 1 16em; min-width: 0; }
.books .small, .pages span, .told, .keys .small { overflow-wrap: anywhere; }
.books details, .add { margin-top: .6em; }
.change { display: grid; gap: 1em; padding: .9em 1em 1em; margin-top: .4em; background: var(--sunken); border-radius: var(--radius); }
.change form, .change .row { margin: 0; }
.pages { max-height: 20em; overflow-y: auto; }
.pages li { display: flex; gap: .75em; align-items: center; justify-content: space-between; padding: .2em 0; border-bottom: 1px solid var(--border); }
.paging { display: grid; gap: .5em; justify-items: start; }
.paging .pages { width: 100%; }
.add > form + form, .add details { margin-top: 1.25em; }
.drop { display: grid; gap: .35em; justify-items: center; padding: 1.6em 1em; text-align: center; border: 1.5px dashed var(--edge); border-radius: var(--radius); cursor: pointer; }
.drop:hover, .drop.over, .drop:focus-within { border-color: var(--accent); background: var(--accent-soft); }
.drop:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.drop .icon { width: 1.75em; height: 1.75em; color: var(--accent); }
.drop .small { font-weight: 400; font-size: .9286em; }
input:disabled { opacity: .55; cursor: not-allowed; }
textarea { width: 100%; font-weight: 400; min-height: 4.5em; padding: .45em .7em; font-size: 1.0714em; background: var(--background); border: 1px solid var(--edge); border-radius: calc(var(--radius) * .7); }
.danger { color: var(--danger); border-color: currentColor; }
section form > fieldset { flex: 1 1 100%; }
section form > .row, section form > p { flex: 1 1 100%; gap: .5em; }
.checks li { padding: .5em 0 .5em 1.4em; position: relative; border-bottom: 1px solid var(--border); }
.checks li::before { content: "✓"; position: absolute; left: 0; color: var(--good); }
.checks li[data-found=failed]::before { content: "✕"; color: var(--danger); }
.checks li[data-found=note]::before { content: "!"; font-weight: 700; color: var(--warning); }
.made { display: grid; gap: .9em; padding: 1em; margin-bottom: 1em; background: var(--accent-soft); border-radius: var(--radius); }
.made pre { margin: .3em 0 0; padding: .7em; white-space: pre-wrap; overflow-wrap: anywhere; font: .875em/1.5 var(--mono-font); background: var(--surface); border-radius: calc(var(--radius) * .7); }
.keys li { display: flex; flex-wrap: wrap; gap: .35em 1em; align-items: center; justify-content: space-between; padding: .6em 0; border-bottom: 1px solid var(--border); }
.keys li > :first-child { flex: 1 1 16em; min-width: 0; }
.told { margin: .5em 0; color: var(--muted); }
.told:empty { margin: 0; }
details summary { cursor: pointer; color: var(--muted); min-height: 1.5em; }
section form { display: flex; flex-wrap: wrap; gap: .75em; align-items: flex-end; margin-top: .75em; }
section form .field { flex: 1 1 14em; }
section form .drop { flex-basis: 100%; }
section form:has(textarea) { align-items: flex-start; }
progress { width: 10em; max-width: 100%; height: .6em; accent-color: var(--accent); }
.parts { display: flex; flex-wrap: wrap; gap: .25em 1.25em; margin-top: .5em; font-size: .875em; color: var(--muted); }
.parts li { display: flex; align-items: center; gap: .45em; }
.dot { width: .55em; height: .55em; border-radius: 50%; background: var(--good); }
[data-status="down"] .dot { background: var(--danger); }
[data-status="not used"] .dot { background: none; box-shadow: inset 0 0 0 1.5px var(--edge); }
.state[data-status=failed], .state[data-status=down] { color: var(--danger); }
.state[data-status=degraded] { color: var(--warning); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5em, 1fr)); gap: .75em 1em; margin: 0 0 1.25em; }
dt { font-size: .8125em; color: var(--muted); }
dd { margin: 0; font-size: 1.0625em; font-variant-numeric: tabular-nums; }
.chart { display: block; width: 100%; height: 8em; border-bottom: 1px solid var(--edge); }
rect[data-outcome=answered] { fill: var(--accent); }
rect[data-outcome=refused] { fill: var(--edge); }
rect[data-outcome=failed] { fill: var(--danger); }
.legend { display: flex; gap: 1.25em; margin: .5em 0 1em; font-size: .8125em; color: var(--muted); }
.legend span::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .4em; border-radius: 2px; background: var(--accent); }
.legend [data-outcome=refused]::before { background: var(--edge); }
.legend [data-outcome=failed]::before { background: var(--danger); }
.gaps { list-style: none; margin: 0; padding: 0; }
.gaps > li { display: grid; grid-template-columns: 6.5em minmax(0, 1fr); gap: .25em 1em; padding: .8em 0; border-bottom: 1px solid var(--border); }
.gaps > li:last-child { border-bottom: 0; }
.often strong { font-variant-numeric: tabular-nums; }
.often .small { display: block; }
.gaps details ul { margin: 0; padding-left: 1.2em; list-style: disc; }
.gaps .small { overflow-wrap: anywhere; }
@media (max-width: 34em) { .gaps > li { grid-template-columns: minmax(0, 1fr); } .often .small { display: inline; } }
.questions li { padding: .7em 0; border-bottom: 1px solid var(--border); }
.questions li:last-child { border-bottom: 0; }
.question { font-family: var(--reading-font); overflow-wrap: anywhere; }
.what { font-weight: 600; }
`;
