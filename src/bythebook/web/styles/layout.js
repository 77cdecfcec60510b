export default /* css */ `
.shell { position: relative; display: grid; grid-template: minmax(0, 1fr) / minmax(0, 1fr); height: 100%; overflow: clip; background: var(--background); }
.main { grid-area: 1 / 1; display: flex; flex-direction: column; min-width: 0; min-height: 0; }

.head { display: flex; align-items: center; gap: .25em; padding: .6em .75em; border-bottom: 1px solid var(--border); }
.title { flex: 1; min-width: 0; font: 600 1em/1.3 var(--reading-font); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding: 0 .35em; }
.offline { padding: .5em 1em; text-align: center; font-size: .875em; background: var(--sunken); border-bottom: 1px solid var(--border); }

.log { position: relative; flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; outline-offset: -3px; }
.column { max-width: 44em; margin: 0 auto; padding: 1.5em 1.25em 2em; }

.limits, .composer { width: 100%; max-width: 44em; margin: 0 auto; padding: 0 1.25em; }
.limits { display: flex; align-items: center; justify-content: space-between; gap: .5em; color: var(--muted); }
.limits > * { font-size: .8125em; }
.composer { padding-top: .5em; padding-bottom: max(.6em, env(safe-area-inset-bottom)); }
.composer .box { display: flex; align-items: flex-end; gap: .5em; padding: .4em .4em .4em .9em; background: var(--surface); border: 1px solid var(--edge); border-radius: calc(var(--radius) * 1.6); box-shadow: 0 1px 2px rgb(0 0 0 / .04), 0 4px 16px rgb(0 0 0 / .05); }
.composer .box:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.composer textarea { flex: 1; min-width: 0; max-height: 9.5em; padding: .45em 0; border: 0; outline: 0; background: none; resize: none; line-height: 1.45; }
.composer textarea::placeholder { color: var(--muted); opacity: 1; white-space: nowrap; text-overflow: ellipsis; }
.context { display: flex; flex-wrap: wrap; align-items: center; gap: .4em; margin-bottom: .45em; font-size: .8125em; color: var(--muted); }
.choosable { display: inline-flex; align-items: center; gap: .35em; min-height: 2.1em; padding: .2em .8em .2em .6em; border: 1px solid var(--edge); border-radius: 2em; }
.choosable .icon { width: 1em; height: 1em; }
.choosable[aria-pressed=true] { color: var(--accent); border-color: var(--accent); background: var(--accent-soft); }
.context .selected { display: flex; align-items: center; gap: .25em; min-width: 0; max-width: 100%; padding-left: .7em; border-left: 3px solid var(--accent); }
.context .words { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.count { align-self: center; font-size: .75em; color: var(--muted); white-space: nowrap; }
.send { display: grid; place-items: center; flex: none; width: 2.35em; height: 2.35em; border-radius: 50%; background: var(--accent); color: var(--accent-text); }
.send:hover { filter: brightness(1.1); }
.send.stop .icon { fill: currentColor; }
#hint { margin-top: .5em; text-align: center; font-size: .75em; }

.welcome { padding: 8cqh 0 0; }
.welcome h2 { font: 600 1.75em/1.25 var(--reading-font); letter-spacing: -.01em; text-wrap: balance; margin-bottom: .5em; }
.welcome > p { color: var(--muted); max-width: 36em; text-wrap: pretty; }
.welcome .field { max-width: 24em; margin-top: 1.25em; }
.welcome .add { margin-top: 1.25em; }
.welcome .small { margin: 2.25em 0 .6em; }
.welcome ul { display: grid; gap: .5em; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17em), 1fr)); }
.suggestion { width: 100%; height: 100%; padding: .75em 1em; text-align: left; font-family: var(--reading-font); line-height: 1.4; background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius); }
.suggestion:hover { border-color: var(--accent); }

@container (max-width: 34em) {
  .column { padding: 1.1em 1em 1.5em; }
  .limits, .composer { padding-left: .75em; padding-right: .75em; }
  #hint { display: none; }
  .welcome { padding-top: 1em; }
  .welcome h2 { font-size: 1.4em; }
}
`;
