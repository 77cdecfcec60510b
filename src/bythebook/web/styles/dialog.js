export default /* css */ `
dialog { width: min(30em, calc(100vw - 2em)); max-height: calc(100dvh - 2em); padding: 1.5em; color: var(--text); background: var(--surface); border: 1px solid var(--border); border-radius: calc(var(--radius) * 1.4); box-shadow: 0 1em 4em rgb(0 0 0 / .3); overflow-y: auto; overscroll-behavior: contain; }
dialog::backdrop { background: rgb(0 0 0 / .4); }
dialog h2 { font: 600 1.2em/1.3 var(--reading-font); margin-bottom: .8em; }
dialog .row { margin-top: 1.5em; gap: .5em; }
.fields { display: grid; gap: 1.1em; }
.field, legend { font-size: .875em; font-weight: 600; }
.field { display: grid; gap: .35em; }
.field select, .field input { width: 100%; min-height: 2.6em; padding: .45em .7em; font-weight: 400; font-size: 1.0714em; color: var(--text); background: var(--background); border: 1px solid var(--edge); border-radius: calc(var(--radius) * .7); }
fieldset { min-width: 0; }
legend { padding: 0; margin-bottom: .35em; }
.choices { display: flex; flex-wrap: wrap; gap: .3em 1.2em; }
.choices label, .choice { display: inline-flex; align-items: center; gap: .5em; min-height: 2em; cursor: pointer; }
dialog form > p { color: var(--muted); margin-bottom: 1em; }
.choice { margin-top: .6em; }
input[type=checkbox], input[type=radio] { width: 1.1em; height: 1.1em; accent-color: var(--accent); }
`;
