export default /* css */ `
.passage { --covers: 1; position: absolute; z-index: 3; inset: 12% 0 0; display: flex; flex-direction: column; background: var(--surface); border-top: 1px solid var(--border); border-radius: calc(var(--radius) * 1.6) calc(var(--radius) * 1.6) 0 0; box-shadow: 0 0 0 100vmax rgb(0 0 0 / .35); }
.crown { display: flex; align-items: flex-start; justify-content: space-between; gap: .5em; padding: .6em .75em .7em 1.25em; border-bottom: 1px solid var(--border); }
#passage-heading { font: 600 1em/1.3 var(--reading-font); padding: .45em 0 .2em; overflow-wrap: anywhere; }
.passage .scroll { position: relative; flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; padding: 1.25em 1.25em 2em; }
.crown .path { overflow-wrap: anywhere; text-wrap: pretty; }
.passage .text { font-size: 1em; }
.passage.framing .scroll { padding: 0; overflow: hidden; }
.passage.framing .text, .passage iframe { display: block; width: 100%; height: 100%; border: 0; }
.turn { color: var(--edge); }
.passage .links { display: flex; flex-wrap: wrap; align-items: center; gap: .25em; padding: .4em 1em .5em .6em; border-top: 1px solid var(--border); font-size: .875em; }
.passage .links a { display: inline-flex; align-items: center; gap: .35em; min-height: 2.25em; }
.links .way { color: var(--accent); text-decoration: underline; text-underline-offset: .15em; }
.passage[aria-busy] .text { opacity: .5; }
@media (prefers-reduced-motion: no-preference) {
  .passage { animation: rise .2s ease-out; }
  @keyframes rise { from { transform: translateY(2em); opacity: 0; } }
}
@container (min-width: 48em) {
  .passage { inset: 0 0 0 auto; width: min(28em, 60%); border-top: 0; border-left: 1px solid var(--border); border-radius: 0; }
  @keyframes rise { from { opacity: 0; } }
}
@container (min-width: 60em) {
  .shell:has(.passage.framing:not([hidden])) { grid-template-columns: 15em minmax(0, 1fr) minmax(20em, 45cqw); }
  .passage { --covers: 0; position: static; grid-area: 1 / 3; width: auto; box-shadow: none; }
  .shell:has(.passage:not([hidden])) { grid-template-columns: 15em minmax(0, 1fr) minmax(20em, 27em); }
}
`;
