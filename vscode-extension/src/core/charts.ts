// The error map and the histogram of a failure as SVG text, in the colours of the editor's theme.

import { isObject, Json, listAt, numberAt, objectAt, textAt } from './json';
import { Tile } from './launches';
import { escapeHtml } from './html';

export interface ErrorMap {
  output: string;
  shape: number[];
  rows: number;
  columns: number;
  /** The largest |error| of each cell, row by row; null where it is not finite. */
  cells: (number | null)[];
  /** Elements by decade of |error|: "1e-06", "0". */
  distribution: [string, number][];
  /** The largest allowed error of the worst element. */
  bound?: number;
}

export function readErrorMap(value: Json | undefined): ErrorMap | undefined {
  if (!isObject(value)) return undefined;
  const rows = numberAt(value, 'rows') ?? 0;
  const columns = numberAt(value, 'columns') ?? 0;
  const cells = listAt(value, 'cells').map((one) => (typeof one === 'number' ? one : null));
  if (rows < 1 || columns < 1 || cells.length !== rows * columns) return undefined;
  return {
    output: textAt(value, 'output') ?? 'output',
    shape: listAt(value, 'shape').filter((one): one is number => typeof one === 'number'),
    rows, columns, cells,
    distribution: Object.entries(objectAt(value, 'distribution') ?? {})
      .filter((one): one is [string, number] => typeof one[1] === 'number')
      .sort((a, b) => decade(a[0]) - decade(b[0])),
    bound: numberAt(value, 'bound'),
  };
}

function decade(text: string): number {
  const number = Number(text);
  return Number.isNaN(number) ? Infinity : number;
}

/** 0 for no error, 1 for the largest one; logarithmic, because errors span decades. */
export function strength(cell: number | null, largest: number): number {
  if (cell === null) return 1;
  if (cell <= 0 || largest <= 0) return 0;
  return Math.max(0.08, 1 + Math.log10(cell / largest) / 8);
}

/** Cells with an error. */
export const differing = (map: ErrorMap): number =>
  map.cells.filter((one) => one === null || one > 0).length;

const WIDTH = 640;
const LEFT = 56;
const TOP = 18;

/** `tile` is the part that one block writes; its grid is drawn over the map if it is known. */
export function heatMap(map: ErrorMap, tile?: Tile): string {
  const side = Math.max(3, Math.min(24, Math.floor((WIDTH - LEFT) / map.columns)));
  const width = LEFT + side * map.columns + 8;
  const height = TOP + side * map.rows + 34;
  const finite = map.cells.filter((one): one is number => one !== null);
  const largest = finite.reduce((most, one) => Math.max(most, one), 0);
  const [rows, columns] = extent(map);
  const cells = map.cells.map((cell, at) => {
    const [row, column] = [Math.floor(at / map.columns), at % map.columns];
    const share = strength(cell, largest);
    const kind = cell === null ? ' class="nonfinite"' : '';
    return `<rect x="${LEFT + column * side}" y="${TOP + row * side}" width="${side}" ` +
      `height="${side}"${kind} fill-opacity="${share.toFixed(3)}" data-at="${at}"/>`;
  });
  const wrong = differing(map);
  const label = `Error of ${map.output}: ${wrong} of ${map.cells.length} cells differ, ` +
    `largest ${largest.toPrecision(3)}`;
  return `<svg class="heat" role="img" tabindex="0" aria-label="${escapeHtml(label)}" ` +
    `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
    `data-columns="${map.columns}" data-rows="${map.rows}">` +
    `<g class="cells">${cells.join('')}</g>${grid(map, side, tile)}` +
    `${axes(side * map.rows, rows, side * map.columns, columns)}` +
    `<text x="${LEFT}" y="12">${escapeHtml(map.output)}[${map.shape.join(', ')}]: ` +
    `rows down, columns across</text></svg>`;
}

/** Labels the first and the last index of both axes; the last one only if there is room. */
function axes(height: number, rows: number, width: number, columns: number): string {
  const label = (x: number, y: number, anchor: string, value: number): string =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}">${value}</text>`;
  return label(LEFT - 6, TOP + 10, 'end', 0) +
    (rows > 1 && height >= 24 ? label(LEFT - 6, TOP + height, 'end', rows - 1) : '') +
    label(LEFT, TOP + height + 14, 'start', 0) +
    (columns > 1 && width >= 60 ? label(LEFT + width, TOP + height + 14, 'end', columns - 1) : '');
}

/** Rows and columns of the output: all axes but the last are rows. */
export function extent(map: ErrorMap): [number, number] {
  const columns = map.shape.at(-1) ?? map.columns;
  const rows = map.shape.slice(0, -1).reduce((all, one) => all * one, 1);
  return [rows, columns];
}

function grid(map: ErrorMap, side: number, tile?: Tile): string {
  const [rows, columns] = extent(map);
  const lines: string[] = [];
  const step = (size: number, all: number, cells: number): number => size * cells / all;
  const across = tile ? step(tile.columns, columns, map.columns) : 0;
  const down = tile ? step(tile.rows, rows, map.rows) : 0;
  const right = LEFT + side * map.columns;
  const bottom = TOP + side * map.rows;
  for (let x = across; across * side >= 4 && x < map.columns; x += across) {
    const at = (LEFT + x * side).toFixed(1);
    lines.push(`<line x1="${at}" y1="${TOP}" x2="${at}" y2="${bottom}"/>`);
  }
  for (let y = down; down * side >= 4 && y < map.rows; y += down) {
    const at = (TOP + y * side).toFixed(1);
    lines.push(`<line x1="${LEFT}" y1="${at}" x2="${right}" y2="${at}"/>`);
  }
  return `<g class="tiles">${lines.join('')}</g><rect class="frame" x="${LEFT}" y="${TOP}" ` +
    `width="${right - LEFT}" height="${bottom - TOP}"/>`;
}

/** The position of a value among the bars, in bars from the left; each bar begins at its name. */
function positionOf(value: number, bars: [string, number][]): number {
  const at = bars.findLastIndex(([name]) => decade(name) <= value);
  if (at < 0) return 0;
  const begin = decade(bars[at]![0]);
  return begin === 0 ? at + 1 : at + Math.min(1, Math.log10(value / begin));
}

/** Bars of elements by decade of |error|; a line shows the bound. */
export function histogram(map: ErrorMap): string {
  const { distribution: bars, bound } = map;
  if (bars.length === 0) return '';
  const most = Math.max(...bars.map(([, count]) => count));
  const step = Math.min(64, Math.floor((WIDTH - LEFT) / bars.length));
  const height = 150;
  const drawn = bars.map(([name, count], at) => {
    // Keeps bars of few elements visible beside bars of many.
    const tall = Math.max(2, Math.round(100 * Math.log1p(count) / Math.log1p(most)));
    const x = LEFT + at * step;
    return `<rect class="bar" x="${x + 2}" y="${TOP + 100 - tall}" width="${step - 4}" ` +
      `height="${tall}"/><text x="${x + step / 2}" y="${TOP + 96 - tall}" ` +
      `text-anchor="middle">${count}</text><text x="${x + step / 2}" y="${TOP + 114}" ` +
      `text-anchor="middle">${escapeHtml(name)}</text>`;
  });
  let line = '';
  if (bound !== undefined && bound > 0) {
    const x = LEFT + Math.round(positionOf(bound, bars) * step);
    line = `<line class="bound" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${TOP + 100}"/>` +
      `<text x="${x}" y="${TOP + 130}" text-anchor="middle">bound ${bound.toPrecision(3)}</text>`;
  }
  const label = `Elements by size of error: ${bars.map(([name, count]) => `${count} at ${name}`)
    .join(', ')}`;
  return `<svg class="histogram" role="img" aria-label="${escapeHtml(label)}" ` +
    `width="${LEFT + bars.length * step + 40}" height="${height}">${drawn.join('')}${line}</svg>`;
}
