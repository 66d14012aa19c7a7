// Reads inline tables in values of gpuemu.toml: `inputs = [{ name = "x", shape = ["n"] }]`. An incomplete
// value is read as far as possible.

import { endOfString, Entry, Span } from './toml';

export interface InlineKey {
  name: string;
  span: Span;
  /** From after the `=` to the end of the value; undefined without `=`. */
  value?: Span;
}

export interface InlineTable {
  /** The path of keys, starting with the entry's own. */
  path: string[];
  span: Span;
  keys: InlineKey[];
}

const BLANK = /(?:[\s,]|#[^\n]*)*/y;
const KEY = /"[^"\n]*"|'[^'\n]*'|[\w.-]+/y;

/** Where a match of the sticky expression at `at` ends; `at` if there is none. */
function endOf(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}

class Reader {
  readonly tables: InlineTable[] = [];

  constructor(private readonly text: string, private readonly end: number) {}

  /** The end of the value that begins at `at`. */
  value(at: number, path: string[]): number {
    const c = this.text[at];
    if (c === '{') return this.table(at, path);
    if (c === '[') return this.list(at, path);
    if (c === '"' || c === "'") return Math.min(this.end, endOfString(this.text, at));
    let i = at;
    while (i < this.end && !/[,\]}\n#]/.test(this.text[i]!)) ++i;
    return i;
  }

  private list(open: number, path: string[]): number {
    for (let at = open + 1; ;) {
      at = endOf(BLANK, this.text, at);
      if (at >= this.end || this.text[at] === '}') return Math.min(at, this.end);
      if (this.text[at] === ']') return at + 1;
      at = Math.max(at + 1, this.value(at, path));
    }
  }

  private table(open: number, path: string[]): number {
    const table: InlineTable = { path, span: { start: open, end: this.end }, keys: [] };
    this.tables.push(table);
    for (let at = open + 1; ;) {
      at = endOf(BLANK, this.text, at);
      if (at >= this.end || this.text[at] === ']') break;
      if (this.text[at] === '}') {
        table.span.end = at + 1;
        return at + 1;
      }
      const keyEnd = endOf(KEY, this.text, at);
      if (keyEnd === at) {
        ++at;
        continue;
      }
      const name = this.text.slice(at, keyEnd).replace(/["']/g, '');
      const key: InlineKey = { name, span: { start: at, end: keyEnd } };
      table.keys.push(key);
      at = endOf(/[ \t]*/y, this.text, keyEnd);
      if (this.text[at] !== '=') continue;
      const start = endOf(/[ \t]*/y, this.text, at + 1);
      at = Math.max(start, this.value(start, [...path, name]));
      key.value = { start, end: at };
    }
    return this.end;
  }
}

/** The innermost inline table of the entry around `offset`. */
export function inlineTableAt(text: string, entry: Entry, offset: number): InlineTable | undefined {
  const reader = new Reader(text, entry.valueSpan.end);
  reader.value(entry.valueSpan.start, entry.key.split('.'));
  return reader.tables.findLast((one) => one.span.start < offset &&
    (offset < one.span.end || (offset === one.span.end && text[offset - 1] !== '}')));
}

/** The key of the table whose value is being written at `offset`. */
export const valueKeyAt = (table: InlineTable, offset: number): InlineKey | undefined =>
  table.keys.findLast((one) => one.value && one.value.start <= offset && offset <= one.value.end);

export const keyUnder = (table: InlineTable, offset: number): InlineKey | undefined =>
  table.keys.find((one) => one.span.start <= offset && offset <= one.span.end);
