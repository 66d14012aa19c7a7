// Changes of gpuemu.toml that leave everything else in it as it is, comments included.

import { parseToml, Table, tableNamed } from './toml';

export interface TextEdit {
  /** Offsets; equal ones for an insertion. */
  start: number;
  end: number;
  text: string;
}

/** The next number of two digits above `value`, written as people do: 0.0013, 2.1e-6. */
export function roundedUp(value: number): string {
  if (!(value > 0) || !Number.isFinite(value)) return '0';
  // Digits are counted in text: a product of doubles may fall short of the value.
  const [mantissa, exponent] = value.toExponential(1).split('e');
  let digits = Math.round(Number(mantissa) * 10);
  const number = (): number => Number(`${digits}e${Number(exponent) - 1}`);
  while (number() < value) ++digits;
  const text = number();
  return text >= 1e-3 && text < 1e6 ? String(text) : text.toExponential().replace('e+', 'e');
}

function subTable(tables: Table[], owner: Table, name: string): Table | undefined {
  const from = tables.indexOf(owner);
  for (const table of tables.slice(from + 1)) {
    if (table.isArray && table.path === owner.path) return undefined;
    if (table.path === `${owner.path}.${name}`) return table;
  }
  return undefined;
}

/** Sets the tolerance of one dtype of an op; undefined where the op has no entry in the text. */
export function toleranceEdit(
  text: string, op: string, dtype: string, value: number,
): TextEdit | undefined {
  const tables = parseToml(text);
  const owner = tableNamed(tables, 'ops', op) ?? tableNamed(tables, 'kernels', op);
  if (!owner) return undefined;
  const number = roundedUp(value);
  const table = subTable(tables, owner, 'tolerances');
  if (table) {
    const known = table.entries.find((one) => one.key === dtype);
    if (known) return { ...known.valueSpan, text: number };
    const last = table.entries.at(-1);
    return insertionBehind(text, (last?.valueSpan ?? table.headerSpan).end, `${dtype} = ${number}`);
  }
  const inline = owner.entries.find((one) => one.key === 'tolerances');
  if (inline) return inlineEdit(inline.value, inline.valueSpan.start, dtype, number);
  const dotted = owner.entries.find((one) => one.key === `tolerances.${dtype}`);
  if (dotted) return { ...dotted.valueSpan, text: number };
  // A key of the op itself, so that it stands before the op's own sub-tables.
  const last = owner.entries.at(-1);
  return insertionBehind(
    text, (last?.valueSpan ?? owner.headerSpan).end, `tolerances.${dtype} = ${number}`);
}

/** Behind the line that holds `offset`, with a comment that may stand there. */
function insertionBehind(text: string, offset: number, line: string): TextEdit {
  const newline = text.indexOf('\n', offset);
  if (newline < 0) return { start: text.length, end: text.length, text: `\n${line}\n` };
  const ending = text[newline - 1] === '\r' ? '\r\n' : '\n';
  return { start: newline + 1, end: newline + 1, text: `${line}${ending}` };
}

function inlineEdit(value: string, start: number, dtype: string, number: string): TextEdit {
  const known = new RegExp(`(\\b${dtype}\\s*=\\s*)(\\{[^}]*\\}|"[^"]*"|[^,}\\s]+)`).exec(value);
  if (known) {
    const at = start + known.index + known[1]!.length;
    return { start: at, end: at + known[2]!.length, text: number };
  }
  const close = value.lastIndexOf('}');
  const before = value.slice(0, close).trimEnd();
  const comma = before.endsWith('{') || before.endsWith(',') ? ' ' : ', ';
  return {
    start: start + before.length, end: start + close, text: `${comma}${dtype} = ${number} `,
  };
}

export interface Suppression {
  op: string;
  kind: string;
  dtype: string;
  reason: string;
}

// # gpuemu: suppress ToleranceExceeded float16: known, see the paper
const SUPPRESSION = /^[ \t]*#[ \t]*gpuemu:[ \t]*suppress[ \t]+(\w+)(?:[ \t]+(\w+))?[ \t]*:[ \t]*(\S.*)$/;

/** A comment above the op's entry, which the editor reads and the command line does not. */
export function suppressionEdit(text: string, one: Suppression): TextEdit | undefined {
  const tables = parseToml(text);
  const owner = tableNamed(tables, 'ops', one.op) ?? tableNamed(tables, 'kernels', one.op);
  if (!owner) return undefined;
  const reason = one.reason.replace(/\s+/g, ' ').trim();
  const what = [one.kind, one.dtype].filter((part) => part !== '').join(' ');
  const at = owner.headerSpan.start;
  const ending = text.includes('\r\n') ? '\r\n' : '\n';
  return { start: at, end: at, text: `# gpuemu: suppress ${what}: ${reason}${ending}` };
}

/** The suppressions of a text, each of the op whose entry follows. */
export function suppressionsOf(text: string): Suppression[] {
  const found: Suppression[] = [];
  for (const table of parseToml(text)) {
    if (!table.isArray || (table.path !== 'ops' && table.path !== 'kernels')) continue;
    const name = table.entries.find((entry) => entry.key === 'name');
    const op = name?.value.replace(/^["']|["']$/g, '') ?? '';
    const above = text.slice(0, table.span.start).split('\n');
    above.pop();
    for (let i = above.length - 1; i >= 0 && /^[ \t]*#/.test(above[i]!); --i) {
      const match = SUPPRESSION.exec(above[i]!.replace(/\r$/, ''));
      if (match) found.push({ op, kind: match[1]!, dtype: match[2] ?? '', reason: match[3]! });
    }
  }
  return found;
}

export function isSuppressed(
  all: Suppression[], op: string, kind: string, dtype: string,
): Suppression | undefined {
  return all.find((one) =>
    one.op === op && one.kind === kind && (one.dtype === '' || one.dtype === dtype));
}

/** The text after the edit. */
export function applied(text: string, edit: TextEdit): string {
  return text.slice(0, edit.start) + edit.text + text.slice(edit.end);
}
