"""This file holds the look of the report: light or dark, as the reader's system is."""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f5f7fa; --paper: #ffffff; --ink: #16202e; --quiet: #526075; --line: #dce3eb;
  --blue: #1d4ed8; --green: #166534; --amber: #92400e; --red: #b91c1c;
  --wash-green: #dcfce7; --wash-amber: #fef3c7; --wash-red: #fee2e2; --wash-blue: #e5edff;
  --s0: #2563eb; --s1: #d97706; --s2: #15803d; --s3: #dc2626; --s4: #7c3aed; --s5: #0891b2;
  --shadow: 0 1px 2px rgb(15 23 42 / .06), 0 4px 16px rgb(15 23 42 / .05);
  --ink-filter: none;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0c111a; --paper: #151c28; --ink: #e4eaf2; --quiet: #9fadc2; --line: #2a3546;
    --blue: #8ab4ff; --green: #6ee7a0; --amber: #fbc756; --red: #ff9b95;
    --wash-green: #12351f; --wash-amber: #3c2d0a; --wash-red: #431b1b; --wash-blue: #1b2b4d;
    --s0: #6ea0ff; --s1: #f5b041; --s2: #4ade80; --s3: #f87171; --s4: #b794ff; --s5: #38c6e0;
    --shadow: none; --ink-filter: invert(1);
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  -webkit-text-size-adjust: 100%; overflow-wrap: anywhere; }
body > header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
body > header { padding-top: 2.25rem; padding-bottom: 1rem; }
h1 { font-size: clamp(1.6rem, 4.5vw, 2.3rem); line-height: 1.15; margin: 0 0 .35rem;
  letter-spacing: -.02em; }
h2 { font-size: 1.35rem; margin: 0 0 .75rem; letter-spacing: -.01em; }
h3 { font-size: 1.08rem; margin: 1.6rem 0 .6rem; }
h4 { font-size: .95rem; margin: 1.1rem 0 .5rem; }
.groups h3, .groups h4 { font-size: .95rem; margin: .9rem 0 .4rem; }
.card > header h4, .card > header h5 { margin: 0; font-size: .92rem; font-weight: 600; }
p { margin: 0 0 .75rem; max-width: 70ch; }
a { color: var(--blue); }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--ground);
  border: 1px solid var(--line); border-radius: 4px; padding: .05em .35em; }
.eyebrow { color: var(--quiet); font-size: .82rem; letter-spacing: .04em; margin: 0 0 .3rem; }
.meta { color: var(--quiet); margin: 0; font-size: .95rem; max-width: none; }
nav { position: sticky; top: 0; z-index: 2; background: var(--ground);
  border-bottom: 1px solid var(--line); }
nav ul { display: flex; gap: 1.2rem; list-style: none; margin: 0 auto; padding: .55rem 1.25rem;
  max-width: 76rem; overflow-x: auto; white-space: nowrap; scrollbar-width: none; }
nav a { text-decoration: none; color: var(--quiet); font-size: .92rem; }
nav a:hover, nav a:focus { color: var(--blue); }
section.part { background: var(--paper); border: 1px solid var(--line); border-radius: 14px;
  box-shadow: var(--shadow); padding: 1.3rem 1.4rem; margin: 1.25rem 0; }
section.part > :first-child { margin-top: 0; }
section.run > h2 { margin: 2.2rem 0 .2rem; font-size: 1.5rem; }
section.run > .meta { margin-bottom: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.2rem, 1fr)); gap: .75rem;
  list-style: none; margin: 1rem 0 0; padding: 0; }
.tiles li { background: var(--paper); border: 1px solid var(--line); border-radius: 12px;
  padding: .75rem .9rem; box-shadow: var(--shadow); }
.tiles .number { display: block; font-size: 1.65rem; font-weight: 650; line-height: 1.2;
  letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.tiles .what { color: var(--quiet); font-size: .85rem; line-height: 1.35; display: block; }
.tiles li.main .number { color: var(--blue); }
.note { color: var(--quiet); font-size: .9rem; }
td.left { text-align: left; }
table + .note, table + .warn, main > .warn, div > .warn { margin-top: .9rem; }
.warn { background: var(--wash-amber); color: var(--amber); border-radius: 10px;
  padding: .65rem .9rem; max-width: none; }
.wide { overflow-x: auto; margin: 0 -.2rem; padding: 0 .2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .34rem .7rem; text-align: right; overflow-wrap: normal; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--quiet); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
tbody tr, tfoot tr { border-top: 1px solid var(--line); }
tbody th { font-weight: 400; }
table.full { width: 100%; }
tr.ours th, tr.ours td { font-weight: 650; }
tr.mean th, tr.mean td { background: var(--wash-blue); font-weight: 600; }
td.meter { width: 38%; min-width: 5rem; }
td.meter span { display: block; height: .6rem; border-radius: .3rem; background: var(--line); }
td.meter i { display: block; height: 100%; border-radius: .3rem; background: var(--quiet); }
tr.ours td.meter i { background: var(--s0); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(17.5rem, 1fr));
  gap: 1rem 1.4rem; }
figure { margin: 0; }
figcaption { color: var(--quiet); font-size: .88rem; margin-bottom: .2rem; }
.chart svg { display: block; width: 100%; height: auto; }
.chart text { fill: var(--quiet); font-size: 12.5px; }
.chart .grid { stroke: var(--line); }
.chart .before { fill: var(--ground); }
.line { fill: none; stroke: var(--c); stroke-width: 2.2; stroke-linejoin: round; }
.dashed { stroke-dasharray: 6 4; }
.line.dotted { stroke-dasharray: 1.5 4.5; stroke-linecap: round; }
.chart circle, .bar .strong { fill: var(--c); }
.bar .pale { fill: var(--c); opacity: .38; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); }
.s3 { --c: var(--s3); } .s4 { --c: var(--s4); } .s5 { --c: var(--s5); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0;
  margin: .8rem 0 0; font-size: .88rem; color: var(--quiet); }
.legend li { display: flex; align-items: center; gap: .45rem; }
.swatch { width: .8rem; height: .8rem; border-radius: .22rem; background: var(--c); flex: none; }
.stroke { width: 1.7rem; border-top: 2px dotted var(--quiet); flex: none; }
.stroke.dashed { border-top-style: dashed; }
.shares { display: flex; height: 1.35rem; border-radius: .45rem; overflow: hidden; gap: 2px;
  background: var(--line); margin: .2rem 0 .4rem; }
.shares i { display: block; background: var(--c); min-width: 2px; }
.k-good { --c: var(--s2); } .k-bad { --c: var(--s3); } .k-work { --c: var(--s0); }
.k-odd { --c: var(--s1); } .k-none { --c: var(--quiet); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 1.4rem 2.2rem; }
table.heat { width: 100%; max-width: 34rem; table-layout: fixed; font-size: .78rem; }
table.heat caption { text-align: left; font-size: .92rem; padding-bottom: .4rem; }
table.heat th, table.heat td { text-align: center; padding: .28rem .05rem; overflow-wrap: normal; }
table.heat td { border: 1px solid var(--paper); border-radius: 4px; }
table.heat tbody tr { border: 0; }
table.heat th { color: var(--quiet); font-weight: 500; }
table.heat.words { font-size: .85rem; }
table.heat .zero { color: var(--quiet); opacity: .55; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19.5rem), 1fr));
  gap: 1rem; align-items: start; }
.cards.big { grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); }
.card { border: 1px solid var(--line); border-radius: 12px; padding: .85rem 1rem; min-width: 0; }
.card > header { display: flex; justify-content: space-between; margin: 0 0 .6rem;
  align-items: center; gap: .6rem; }
.badge { font-size: .78rem; font-weight: 600; border-radius: 99px; padding: .1rem .6rem; }
.badge.failed { background: var(--wash-red); color: var(--red); }
.badge.corrected { background: var(--wash-amber); color: var(--amber); }
.badge.right { background: var(--wash-green); color: var(--green); }
img { image-rendering: pixelated; filter: var(--ink-filter); }
.changed { color: var(--amber); font-weight: 600; } .wrong { color: var(--red); font-weight: 600; }
.answer { font-weight: 650; margin: 0 0 .5rem; }
.answer.failed { color: var(--red); } .answer.corrected, .answer.right { color: var(--green); }
.answer small { color: var(--ink); font-weight: 400; font-size: .9rem; margin-left: .6rem; }
.why { font-size: .87rem; margin: 0; }
.why p { margin: 0 0 .35rem; }
.why dl { margin: 0; } .why dt { color: var(--quiet); font-size: .8rem; margin-top: .3rem; }
.why dd { margin: 0; }
.why ul { margin: .1rem 0 .2rem; padding-left: 1.1rem; }
.groups { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr));
  gap: .4rem 2rem; }
.groups table { width: 100%; font-size: .9rem; }
.groups th, .groups td { padding: .18rem .2rem; white-space: normal; overflow-wrap: anywhere; }
.groups th { color: var(--quiet); }
summary { cursor: pointer; color: var(--blue); font-size: .92rem; padding: .25rem 0; }
footer { color: var(--quiet); font-size: .85rem; padding-top: 1rem; padding-bottom: 2.5rem; }
@media (max-width: 40rem) {
  body > header, main, footer { padding-left: .9rem; padding-right: .9rem; }
  section.part { padding: 1rem .95rem; border-radius: 12px; }
  th, td { padding: .34rem .4rem; }
  td.meter { width: 24%; min-width: 3rem; }
}
@media print {
  nav { display: none; }
  section.part, .card { break-inside: avoid; box-shadow: none; }
}
"""
