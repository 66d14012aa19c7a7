// The page about one failure: a complete HTML document without external content.

import { differing, ErrorMap, heatMap, histogram } from './charts';
import { escapeHtml } from './html';
import { dependsOnTolerance, phraseOf } from './kinds';
import { Tile } from './launches';
import { CaseResult } from './records';
import { elementText, Tensor } from './tensors';
import { kindOf, shown } from './verdict';

export interface SourceLines {
  /** An absolute path; "" if there is no such file. */
  name: string;
  /** The number of the first line. */
  first: number;
  lines: string[];
  /** The line of the failure. */
  line: number;
}

export interface Details {
  result: CaseResult;
  inputs: Tensor[];
  source?: SourceLines;
  ptx?: SourceLines;
  map?: ErrorMap;
  tile?: Tile;
  /** The output of `gpuemu explain`, if it was run. */
  explained: string[];
  /** The parts of the page that are missing, and why. */
  missing: string[];
}

export const ACTIONS: [string, string][] = [
  ['reproduce', 'Reproduce'], ['minimize', 'Minimize'], ['explain', 'Explain'],
  ['debugFailure', 'Debug'], ['exportFailure', 'Export'], ['addRegression', 'Keep as Regression'],
  ['adjustTolerance', 'Adjust Tolerance'], ['suppress', 'Suppress with Reason'],
  ['deleteFailure', 'Forget'],
];

export function verdictSentence(result: CaseResult): string {
  const dims = Object.entries(result.dims).map(([name, size]) => `${name}=${size}`).join(', ');
  const finding = result.findings[0];
  const line = finding?.file ? ` at ${base(finding.file)}:${finding.line ?? 0}` : '';
  const what = result.kernel && result.kernel !== result.op
    ? `${result.op} (kernel ${result.kernel})` : result.op;
  return `${what} ${phraseOf(kindOf(result))}${line}, in ${result.dtype}` +
    `${dims === '' ? '' : ` with ${dims}`}.`;
}

const base = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

function excerpt(source: SourceLines, title: string): string {
  const lines = source.lines.map((text, at) => {
    const number = source.first + at;
    const meant = number === source.line;
    const row = `<span class="number">${String(number).padStart(5)}</span> ${escapeHtml(text)}`;
    if (!meant) return row;
    const indent = /^\s*/.exec(text)![0];
    const caret = `${' '.repeat(6)}${indent}${'^'.repeat(Math.max(1, text.trim().length))}`;
    return `<mark>${row}</mark>\n<span class="caret" aria-hidden="true">${caret}</span>`;
  });
  const link = source.name === '' ? `line ${source.line}` : `<a href="#" data-open="${
    escapeHtml(source.name)}" data-line="${source.line}">${escapeHtml(base(source.name))}:${
    source.line}</a>`;
  return `<section><h2>${escapeHtml(title)}</h2><p>${link}</p><pre tabindex="0">${
    lines.join('\n')}</pre></section>`;
}

const VALUES_MAX = 256;

function tensorTable(tensor: Tensor): string {
  const columns = Math.max(1, Math.min(16, tensor.shape.at(-1) ?? 1));
  const shownValues = tensor.values.slice(0, VALUES_MAX);
  const rows: string[] = [];
  for (let at = 0; at < shownValues.length; at += columns) {
    const cells = shownValues.slice(at, at + columns).map((value) =>
      `<td>${elementText(value, tensor.dtype)}</td>`);
    rows.push(`<tr><th scope="row">${at}</th>${cells.join('')}</tr>`);
  }
  const more = tensor.cut || tensor.values.length > shownValues.length ? '<p>and more</p>' : '';
  return `<h3>${escapeHtml(tensor.name)}: ${escapeHtml(tensor.dtype)}[${
    tensor.shape.join(', ')}]</h3><div class="scroll" tabindex="0"><table>${
    rows.join('')}</table></div>${more}`;
}

function facts(result: CaseResult): string {
  const finding = result.findings[0];
  const rows: [string, string][] = [
    ['seed', result.seed], ['dtype', result.dtype], ['shape', `[${result.shape.join(', ')}]`],
    ['layout', result.layout], ['values', result.strategy ?? ''],
  ];
  if (finding?.index !== undefined) {
    rows.push(['element', `${finding.output ?? 'output'}[${finding.index}]`]);
    // An access has no values.
    if (finding.expected !== undefined || finding.actual !== undefined) {
      rows.push(['expected', shown(finding.expected)], ['actual', shown(finding.actual)]);
    }
  }
  if (result.maxDiff > 0) rows.push(['largest difference', shown(result.maxDiff)]);
  if (result.stats) {
    rows.push(['elements beyond their bound', `${result.stats.exceeding} of ${result.stats.count}`]);
  }
  return `<dl>${rows.filter(([, value]) => value !== '' && value !== '[]').map(([name, value]) =>
    `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>`;
}

export const STYLE = `
body { font-family: var(--vscode-font-family); color: var(--vscode-foreground);
  background: var(--vscode-editor-background); padding: 0 20px 24px; line-height: 1.45; }
h1 { font-size: 1.25em; } h2 { font-size: 1.05em; margin-top: 1.6em; } h3 { font-size: 1em; }
pre, td, dd, .number { font-family: var(--vscode-editor-font-family); font-size: 0.95em; }
pre { background: var(--vscode-textCodeBlock-background); padding: 8px; overflow: auto; }
mark { background: var(--vscode-editor-findMatchHighlightBackground); color: inherit; }
.number { color: var(--vscode-editorLineNumber-foreground); }
.caret { color: var(--vscode-editorError-foreground); }
a { color: var(--vscode-textLink-foreground); }
button { color: var(--vscode-button-secondaryForeground);
  border: 1px solid var(--vscode-button-border, var(--vscode-panel-border));
  background: var(--vscode-button-secondaryBackground); padding: 4px 10px; margin: 0 6px 6px 0;
  font: inherit; cursor: pointer; }
button:hover { background: var(--vscode-button-secondaryHoverBackground); }
:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 1px; }
dl { display: grid; grid-template-columns: max-content auto; gap: 2px 14px; } dd { margin: 0; }
dt { color: var(--vscode-descriptionForeground); }
table { border-collapse: collapse; } td, th { padding: 1px 8px; text-align: right; }
th { color: var(--vscode-descriptionForeground); font-weight: normal; }
.scroll { overflow: auto; max-height: 320px; }
.kind { color: var(--vscode-editorError-foreground); font-weight: 600; }
.note { color: var(--vscode-descriptionForeground); }
svg text { fill: var(--vscode-descriptionForeground); font-size: 11px; }
svg .cells rect { fill: var(--vscode-charts-red); }
svg .cells rect.nonfinite { fill: var(--vscode-charts-purple); }
svg .cells rect.at { stroke: var(--vscode-focusBorder); stroke-width: 2; }
svg .tiles line { stroke: var(--vscode-descriptionForeground); stroke-opacity: 0.5; }
svg .frame { fill: none; stroke: var(--vscode-descriptionForeground); }
svg .bar { fill: var(--vscode-charts-blue); }
svg .bound { stroke: var(--vscode-charts-red); stroke-dasharray: 4 3; stroke-width: 2; }
.side { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
@media (max-width: 900px) { .side { grid-template-columns: 1fr; } }
`;

/** Buttons and links send requests to the editor; arrow keys move over the cells of the error map. */
export const SCRIPT = `
const vscode = acquireVsCodeApi();
for (const one of document.querySelectorAll('button[data-command]'))
  one.addEventListener('click', () => vscode.postMessage({ command: one.dataset.command }));
for (const one of document.querySelectorAll('a[data-open]'))
  one.addEventListener('click', (event) => { event.preventDefault();
    vscode.postMessage({ open: one.dataset.open, line: Number(one.dataset.line) }); });
const heat = document.querySelector('svg.heat');
if (heat) {
  const cells = [...heat.querySelectorAll('.cells rect')];
  const values = JSON.parse(document.getElementById('cells').textContent);
  const columns = Number(heat.dataset.columns);
  const told = document.getElementById('cell');
  let at = -1;
  const show = (next) => {
    if (next < 0 || next >= cells.length) return;
    if (cells[at]) cells[at].classList.remove('at');
    at = next; cells[at].classList.add('at');
    const value = values[at] === null ? 'not finite' : values[at].toPrecision(4);
    told.textContent = 'row ' + Math.floor(at / columns) + ', column ' + at % columns + ': ' + value;
  };
  heat.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at < 0 ? 0 : at + step);
  });
  for (const cell of cells) cell.addEventListener('mouseenter', () => show(Number(cell.dataset.at)));
}
`;

function errorSection(map: ErrorMap, tile: Tile | undefined, nonce: string): string {
  if (differing(map) === 0) {
    return `<p class="note">Each element of ${escapeHtml(map.output)} equals its reference.</p>`;
  }
  const blocks = tile ? ` Lines separate the tiles of blocks: ${tile.rows} by ${tile.columns}.` : '';
  return `<section><h2>Where the errors are</h2>${heatMap(map, tile)}
<p id="cell" class="note" aria-live="polite">Arrow keys show the error of a cell.${blocks}</p>
<script type="application/json" id="cells" nonce="${nonce}">${
    JSON.stringify(map.cells)}</script>${histogram(map)}</section>`;
}

export function detailsPage(details: Details, nonce: string): string {
  const { result, map } = details;
  const findings = result.findings.map((one) =>
    `<li><span class="kind">${escapeHtml(one.kind)}</span> ${escapeHtml(one.message)}${
      one.note ? `<br><span class="note">${escapeHtml(one.note)}</span>` : ''}</li>`);
  const judged = dependsOnTolerance(kindOf(result));
  const buttons = ACTIONS.filter(([command]) => judged || command !== 'adjustTolerance').map(([command, title]) =>
    `<button data-command="${command}">${title}</button>`);
  const sources = [
    details.source && excerpt(details.source, 'Where it happens'),
    details.ptx && excerpt(details.ptx, 'The same in PTX'),
  ].filter((one): one is string => !!one);
  const errors = map ? errorSection(map, details.tile, nonce) : '';
  const explained = details.explained.length === 0 ? ''
    : `<section><h2>Why</h2><ul>${details.explained.map((one) =>
      `<li>${escapeHtml(one)}</li>`).join('')}</ul></section>`;
  const inputs = details.inputs.length === 0 ? ''
    : `<section><h2>The case</h2>${details.inputs.map(tensorTable).join('')}</section>`;
  const missing = details.missing.map((one) => `<p class="note">${escapeHtml(one)}</p>`).join('');
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(result.op)} ${escapeHtml(result.seed)}</title>
<style nonce="${nonce}">${STYLE}</style></head>
<body><main><h1>${escapeHtml(verdictSentence(result))}</h1>
<nav aria-label="Next steps">${buttons.join('')}</nav>
<ul>${findings.join('')}</ul>${explained}${facts(result)}
<div class="${sources.length > 1 ? 'side' : ''}">${sources.join('')}</div>
${errors}${inputs}${missing}</main>
<script nonce="${nonce}">${SCRIPT}</script></body></html>`;
}

/** A few lines around the line of the failure. */
export function linesAround(name: string, text: string, line: number, around = 5): SourceLines {
  const all = text.split(/\r?\n/);
  const first = Math.max(1, line - around);
  return { name, first, lines: all.slice(first - 1, line + around), line };
}

/** The failure as Markdown, for the document from which people and other extensions can copy. */
export function failureMarkdown(result: CaseResult, explained: string[] = []): string {
  const lines = [`# ${result.op} ${result.dtype}: ${kindOf(result)}`, '', verdictSentence(result), ''];
  for (const one of result.findings) {
    lines.push(`- **${one.kind}**: ${one.message}`);
    if (one.note) lines.push(`  ${one.note}`);
  }
  lines.push('', `- seed: \`${result.seed}\``, `- dims: ${JSON.stringify(result.dims)}`);
  if (result.strategy) lines.push(`- values: ${result.strategy}`);
  if (explained.length > 0) lines.push('', '## Why', '', ...explained.map((one) => `- ${one}`));
  lines.push('', '```sh', `gpuemu reproduce ${result.seed} --op ${result.op}`, '```', '');
  return lines.join('\n');
}
