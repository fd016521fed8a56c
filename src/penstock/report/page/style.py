"""How the page looks: by the reader's setting light or dark, on a phone, on paper."""

from penstock.report.page.palette import DARK, LIGHT, PAPER, css_variables

_COLOURS = f"""
:root {{ {css_variables(LIGHT)} color-scheme: light dark; }}
@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}
@media print {{ :root {{ {css_variables(PAPER)} }} }}
"""
#: Colours by role. Pictures use the same roles, so they turn dark with the page.
STYLE = (
    _COLOURS
    + """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0 auto; max-width: 60rem; padding: 1rem 1.25rem 3rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans",
  sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; padding-top: 0.5rem;
     border-top: 1px solid var(--line); }
p { margin: 0.5rem 0; max-width: 44rem; }
main ul { margin: 0.5rem 0; padding-left: 1.2rem; max-width: 44rem; }
.subtitle, .caption, figcaption, .legend, summary { color: var(--faint); font-size: 0.9rem; }
.caption { margin: 1rem 0 0.25rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; margin: 0.75rem 0;
         padding: 0; font-size: 0.9rem; }
a { color: var(--blue); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr));
         gap: 0.75rem; margin: 1rem 0; }
.tiles div { background: var(--soft); border-radius: 0.4rem; padding: 0.6rem 0.8rem; }
.tiles dt { color: var(--faint); font-size: 0.85rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3;
            font-variant-numeric: tabular-nums; }
.tiles .unit { font-size: 0.85rem; font-weight: 400; white-space: nowrap; }
.tiles small { display: block; font-size: 0.8rem; font-weight: 400; color: var(--faint); }
/* A shadow at the edge where a table goes on. It belongs to the frame; covers that belong to the
   table hide it at either end. */
.scroll { overflow-x: auto; max-width: 100%; margin: 0.25rem 0 1rem;
          background:
            linear-gradient(to right, var(--ground) 40%, transparent) left / 2.5rem 100% local,
            linear-gradient(to left, var(--ground) 40%, transparent) right / 2.5rem 100% local,
            linear-gradient(to right, var(--shade), transparent) left / 1rem 100% scroll,
            linear-gradient(to left, var(--shade), transparent) right / 1rem 100% scroll;
          background-repeat: no-repeat; background-color: var(--ground); }
.scroll:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
details .scroll { max-height: 32rem; overflow-y: auto; }
table { border-collapse: collapse; width: max-content; font-size: 0.9rem;
        font-variant-numeric: tabular-nums; overflow-wrap: normal; }
table.few { width: auto; }
th, td { text-align: left; padding: 0.3rem 0.9rem 0.3rem 0; vertical-align: top;
         border-bottom: 1px solid var(--line); max-width: 22rem; }
td bdi { overflow-wrap: anywhere; display: inline-block; max-width: 22rem; min-width: 3rem; }
th, th.number { vertical-align: bottom; font-weight: 600; max-width: 8rem; white-space: normal; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--ground); }
@media (max-width: 700px) { td:first-child { max-width: 9rem; } }
th .unit { display: block; font-weight: 400; color: var(--faint); white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1rem 0; }
figure svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
figcaption { max-width: 44rem; margin-top: 0.25rem; }
details { margin: 0.5rem 0 1rem; }
summary { cursor: pointer; }
.fields { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem;
          margin: 0.75rem 0; }
.fields dt { color: var(--faint); } .fields dd { margin: 0; }
.note { background: var(--soft); border-left: 4px solid var(--line); padding: 0.5rem 0.75rem; }
.note.good { border-color: var(--good); } .note.fair { border-color: var(--fair); }
.note.bad { border-color: var(--bad); }
.tag { white-space: nowrap; font-weight: 600; }
.tag.good { color: var(--good); } .tag.fair { color: var(--fair); } .tag.bad { color: var(--bad); }
.mark { color: var(--bad); font-weight: 600; }
data.published, data.given { font-style: italic; }
footer { margin-top: 2.5rem; border-top: 1px solid var(--line); }
@media (max-width: 700px) {
  body { padding: 0.75rem 1rem 2rem; }
  .wide { display: none; } .narrow { display: block; }
  h1 { font-size: 1.35rem; }
  .tiles { grid-template-columns: 1fr 1fr; gap: 0.5rem; }
  .tiles dd { font-size: 1.1rem; } .tiles div { padding: 0.5rem 0.6rem; }
}
@media (max-width: 330px) { .tiles { grid-template-columns: 1fr; } }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .wide { display: block; } .narrow { display: none; }
  .scroll, details .scroll { overflow: visible; max-height: none; }
  .scroll { background: none; }
  table { font-size: 8pt; width: auto; max-width: 100%; }
  th, td { max-width: none; padding-right: 0.5rem; }
  td bdi { min-width: 0; max-width: none; }
  thead { display: table-header-group; }
  th:first-child, td:first-child { position: static; }
  h2 { break-after: avoid; } figure, tr, .tiles, .note { break-inside: avoid; }
}
"""
)
