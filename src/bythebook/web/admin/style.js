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
.actions { display: flex; gap: .35em; align-items: center; }
.told { min-height: 1.5em; margin: .5em 0; color: var(--muted); }
details summary { cursor: pointer; color: var(--muted); min-height: 1.5em; }
section form { display: flex; flex-wrap: wrap; gap: .75em; align-items: flex-end; margin-top: .75em; }
section form .field { flex: 1 1 14em; }
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
