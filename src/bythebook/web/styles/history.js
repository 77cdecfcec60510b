export default /* css */ `
.history { --drawer: 1; position: absolute; z-index: 2; inset: 0 auto 0 0; width: min(19em, 88%); display: flex; flex-direction: column; min-height: 0; padding: .6em .75em; background: var(--sunken); border-right: 1px solid var(--border); visibility: hidden; transform: translateX(-102%); }
.listing .history { visibility: visible; transform: none; box-shadow: 0 0 0 100vmax rgb(0 0 0 / .35); }
.history header { display: flex; align-items: center; justify-content: space-between; min-height: 2.25em; padding-left: .35em; }
.history h2 { font: 600 .8125em/1.3 var(--font); color: var(--muted); }
.history .new { margin: .6em 0; font-size: .9375em; }
.history ul { position: relative; flex: 1; min-height: 0; overflow-y: auto; margin: 0 -.4em; padding: .2em .4em; }
.history li { display: flex; align-items: center; border-radius: calc(var(--radius) * .7); }
.history li:hover, .history li:has([aria-current]) { background: color-mix(in srgb, var(--text) 7%, transparent); }
.resume { flex: 1; min-width: 0; display: grid; gap: .1em; text-align: left; padding: .5em .6em; }
.resume .what { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; overflow-wrap: anywhere; line-height: 1.35; font-size: .9375em; }
.resume time { font-size: .75em; color: var(--muted); }
.delete { font-size: .875em; }
.delete.sure { color: var(--danger); }
.history > .small { padding: .6em .35em 0; font-size: .75em; }
@media (prefers-reduced-motion: no-preference) {
  .history { transition: transform .2s ease, visibility .2s; }
}
@container (min-width: 60em) {
  .shell { grid-template-columns: 17em minmax(0, 1fr); }
  .history { --drawer: 0; position: static; grid-area: 1 / 1; width: auto; visibility: visible; transform: none; box-shadow: none !important; }
  .main { grid-area: 1 / 2; }
  .opens-list, .closes { display: none; }
}
`;
