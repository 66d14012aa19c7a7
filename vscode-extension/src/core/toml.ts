// Finds tables, keys and values in gpuemu.toml with their positions, even while the file is being edited
// and is not valid TOML. The tool checks the file.

export interface Span {
  /** Offsets into the text. */
  start: number;
  end: number;
}

export interface Entry {
  key: string;
  keySpan: Span;
  /** From after the `=` to the end of the value, without the comment; empty while missing. */
  valueSpan: Span;
  value: string;
}

export interface Table {
  /** "ops", "kernels.artifact_checks"; "" for the part before the first header. */
  path: string;
  /** The index among tables of the same name, `[[ops]]`, from 0. */
  index: number;
  isArray: boolean;
  headerSpan: Span;
  /** To the next header, or the end of the file. */
  span: Span;
  entries: Entry[];
}

/** The end of the value that begins at `at`; handles strings, brackets and comments. */
function endOfValue(text: string, at: number): number {
  let depth = 0;
  let end = at;
  for (let i = at; i < text.length; ++i) {
    const c = text[i]!;
    if (c === '"' || c === "'") {
      i = endOfString(text, i) - 1;
      end = i + 1;
    } else if (c === '#') {
      const line = text.indexOf('\n', i);
      if (depth === 0 || line < 0) return end;
      i = line - 1;
    } else if (c === '\n') {
      if (depth === 0) return end;
      // A header on a separate line means that the bracket above was never closed.
      if (/^\n[ \t]*\[\[?[\w.-]+\]\]?[ \t]*(#.*)?(\n|$)/.test(text.slice(i, i + 200))) return end;
    } else {
      if (c === '[' || c === '{') ++depth;
      if (c === ']' || c === '}') depth = Math.max(0, depth - 1);
      if (!/\s/.test(c)) end = i + 1;
    }
  }
  return end;
}

export function endOfString(text: string, at: number): number {
  const quote = text[at]!;
  const triple = quote.repeat(3);
  if (text.startsWith(triple, at)) {
    const close = text.indexOf(triple, at + 3);
    return close < 0 ? text.length : close + 3;
  }
  for (let i = at + 1; i < text.length; ++i) {
    if (text[i] === '\\' && quote === '"') ++i;
    else if (text[i] === quote) return i + 1;
    else if (text[i] === '\n') return i;
  }
  return text.length;
}

// Blanks may match in only one part of the expression; otherwise a long run of them would take far too long.
const HEADER = /^[ \t]*(\[\[?)([^\]\n]*)(?:\]\]?[ \t]*(?:#.*)?)?$/;
const KEY = /^([ \t]*)((?:"[^"\n]*"|'[^'\n]*'|[\w.-]+)+)([ \t]*)(=)?/;

export function parseToml(text: string): Table[] {
  const tables: Table[] = [{
    path: '', index: 0, isArray: false, headerSpan: { start: 0, end: 0 },
    span: { start: 0, end: text.length }, entries: [],
  }];
  const counts = new Map<string, number>();
  let at = 0;
  while (at < text.length) {
    const newline = text.indexOf('\n', at);
    const lineEnd = newline < 0 ? text.length : newline;
    const line = text.slice(at, lineEnd).replace(/\r$/, '');
    const header = HEADER.exec(line);
    if (header) {
      const table = tableAt(header, at, line, counts);
      tables.at(-1)!.span.end = at;
      table.span.end = text.length;
      tables.push(table);
    } else {
      const entry = entryAt(text, at, line);
      if (entry) {
        tables.at(-1)!.entries.push(entry);
        const next = text.indexOf('\n', Math.max(entry.valueSpan.end, at));
        at = next < 0 ? text.length : next + 1;
        continue;
      }
    }
    at = lineEnd + 1;
  }
  return tables;
}

function tableAt(
  header: RegExpExecArray, at: number, line: string, counts: Map<string, number>,
): Table {
  const path = (header[2] ?? '').replace(/#.*$/, '').replace(/["'\s]/g, '');
  const isArray = header[1] === '[[';
  if (isArray) counts.set(path, (counts.get(path) ?? -1) + 1);
  const top = path.split('.')[0] ?? '';
  const start = at + line.indexOf('[');
  const comment = line.indexOf('#');
  const end = at + (comment < 0 ? line : line.slice(0, comment)).trimEnd().length;
  return {
    path, isArray, index: counts.get(isArray ? path : top) ?? 0,
    headerSpan: { start, end },
    span: { start: at, end: at }, entries: [],
  };
}

function entryAt(text: string, at: number, line: string): Entry | undefined {
  const match = KEY.exec(line);
  if (!match || /^[ \t]*#/.test(line)) return undefined;
  const keyStart = at + match[1]!.length;
  const keyEnd = keyStart + match[2]!.length;
  let valueStart = at + match[0].length;
  while (text[valueStart] === ' ' || text[valueStart] === '\t') ++valueStart;
  const valueEnd = match[4] ? endOfValue(text, valueStart) : valueStart;
  return {
    key: match[2]!.replace(/["']/g, ''),
    keySpan: { start: keyStart, end: keyEnd },
    valueSpan: { start: valueStart, end: Math.max(valueStart, valueEnd) },
    value: match[4] ? text.slice(valueStart, Math.max(valueStart, valueEnd)) : '',
  };
}

/** The text of a value between quotes; undefined if the value is no string. */
export function stringOf(value: string): string | undefined {
  const match = /^(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')$/.exec(value.trim());
  if (!match) return undefined;
  return match[2] ?? match[1]!.replace(/\\(["\\])/g, '$1');
}

/** Every string in a value, with its position: those of a list, or the value itself. */
export function stringsIn(entry: Entry): { text: string; span: Span }[] {
  const found: { text: string; span: Span }[] = [];
  for (const match of entry.value.matchAll(/"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'/g)) {
    const start = entry.valueSpan.start + match.index;
    found.push({
      text: match[2] ?? match[1] ?? '', span: { start, end: start + match[0].length },
    });
  }
  return found;
}

export function valueOf(table: Table | undefined, key: string): string | undefined {
  const entry = table?.entries.find((one) => one.key === key);
  return entry && stringOf(entry.value);
}

export function tableAtOffset(tables: Table[], offset: number): Table | undefined {
  return tables.findLast((one) => one.span.start <= offset);
}

/** The `[[ops]]` or `[[kernels]]` table of this name. */
export function tableNamed(tables: Table[], path: string, name: string): Table | undefined {
  return tables.find((one) => one.path === path && one.isArray && valueOf(one, 'name') === name);
}

/** Returns a function that counts lines from 1. Reads the text only once, because counting again for
 * each op of a long file would be slow. */
export function lineCounter(text: string): (offset: number) => number {
  const breaks: number[] = [];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) breaks.push(i);
  return (offset) => {
    let [low, high] = [0, breaks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (breaks[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}
