// Private to this folder: the style sheet of pages, for light and dark mode, from phones to wide
// screens.
#pragma once

namespace gpuemu::cli {

inline constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--soft:#f6f8fa;--line:#d8dee4;--mute:#57606a;
--good:#1a7f37;--bad:#cf222e;--link:#0969da;--bar:#4a8fdc;--err:#b3121d;--neg:#0a58ca;--pos:#c2570c;
--nf:#8250df;--mark:#fff1c2}
@media (prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--soft:#161b22;--line:#30363d;
--mute:#9aa5b1;--good:#4ac26b;--bad:#ff7b72;--link:#58a6ff;--bar:#4a8fdc;--err:#ff6a5e;
--neg:#58a6ff;--pos:#f0a050;--nf:#bc8cff;--mark:#4a3a10}}
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:72rem;padding:0 1rem;
color:var(--fg);background:var(--bg)}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}h3{font-size:1.05rem;margin:.2rem 0}
h4{font-size:.9rem;margin:1rem 0 .3rem;font-weight:600}
table{border-collapse:collapse;width:100%}
td,th{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}.scroll td{min-width:4.5rem}td:has(.share){white-space:nowrap}
code,pre{font:13px ui-monospace,monospace}code{overflow-wrap:anywhere}
pre{background:var(--soft);padding:.6rem;overflow-x:auto;border-radius:6px}
mark{background:var(--mark);color:inherit}
.copy{user-select:all;cursor:copy;background:var(--soft);border:1px solid var(--line);
border-radius:5px;padding:.1rem .4rem;display:inline-block;margin:.1rem 0}
a{color:var(--link)}.good{color:var(--good)}.bad{color:var(--bad);font-weight:600}
.mute{color:var(--mute);font-weight:400}
section{border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;margin:1rem 0}
section h3,section p,dd{overflow-wrap:anywhere}
.figures{columns:3 280px;column-gap:1.2rem}
figure{margin:0 0 1rem;max-width:440px;break-inside:avoid}
figcaption{font-size:.8rem;color:var(--mute)}
figcaption strong{color:var(--fg)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem .9rem;margin:.8rem 0 0}
dt{color:var(--mute)}dd{margin:0}
@media (max-width:36rem){dl{grid-template-columns:1fr}dt{margin-top:.3rem}body{padding:0 .6rem}
section{padding:.6rem}}
.share{display:inline-block;width:120px;max-width:100%;height:10px;background:var(--line);
border-radius:3px;overflow:hidden;vertical-align:middle;margin-right:.5rem}
/* Each section says where its finding is. */
@media (max-width:36rem){.overview td:nth-child(3),.overview th:nth-child(3){display:none}
.overview td{overflow-wrap:anywhere}}
@media (max-width:36rem){.share{width:60px}td,th{padding:.3rem .35rem}.scroll td{min-width:0}}
.share i{display:block;height:100%;background:var(--good)}.share.no i{background:var(--bad)}
summary{cursor:pointer;margin:.6rem 0}
svg{max-width:100%;height:auto;display:block}
svg text{font:11px system-ui,sans-serif;fill:var(--mute)}
.frame{fill:none;stroke:var(--mute)}.tiles{fill:none;stroke:var(--fg);stroke-opacity:.45}
path.err,rect.err{fill:var(--err)}path.nf,rect.nf{fill:var(--nf)}
path.pos,rect.pos{fill:var(--pos)}path.neg,rect.neg{fill:var(--neg)}
rect.bar{fill:var(--bar)}rect.over{fill:var(--err)}
.axis{stroke:var(--mute);fill:none}.grid{stroke:var(--line);fill:none}
.bound{stroke:var(--fg);stroke-width:1.5;stroke-dasharray:5 3;fill:none}
circle.ok{fill:none;stroke:var(--bar);stroke-opacity:.75}circle.no{fill:var(--err);fill-opacity:.75}
.ok-text{color:var(--bar);white-space:nowrap}.no-text{color:var(--err);white-space:nowrap}
.trend{fill:none;stroke:var(--bar)}circle.trend{fill:var(--bar)}
rect.worse{fill:var(--bad)}rect.better{fill:var(--good)}rect.other{fill:var(--bar)}
)";

}  // namespace gpuemu::cli
