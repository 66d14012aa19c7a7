// Edits gpuemu.toml without changing anything else in it, including comments.

import { longName } from './ops';
import { Entry, lineCounter, parseToml, Table, tableNamed } from './toml';

export interface TextEdit {
  /** Offsets; equal ones for an insertion. */
  start: number;
  end: number;
  text: string;
}

/** The next number of two digits above `value`, in the usual form: 0.0013, 2.1e-6. */
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

/** The subtables of an op, such as `[ops.tolerances]`. */
function tablesBelow(tables: Table[], owner: Table): Table[] {
  const behind = tables.slice(tables.indexOf(owner) + 1);
  const next = behind.findIndex((one) => one.isArray && one.path === owner.path);
  return (next < 0 ? behind : behind.slice(0, next)).filter((one) => one.path.startsWith(`${owner.path}.`));
}

/** True if `f32` and `float32` are the same. */
const isSame = (key: string | undefined, dtype: string): boolean =>
  key !== undefined && longName(key) === longName(dtype);

/** An output with its own tolerance does not use that of its op. */
export function hasOutputTolerance(text: string, op: string): boolean {
  const tables = parseToml(text);
  const owner = tableNamed(tables, 'ops', op) ?? tableNamed(tables, 'kernels', op);
  const outputs = owner?.entries.find((one) => one.key === 'outputs')?.value ?? '';
  return /\btolerance\s*=/.test(outputs) || (owner !== undefined && tablesBelow(tables, owner).some((one) =>
    one.path === `${owner.path}.outputs` && one.entries.some((entry) => entry.key.startsWith('tolerance'))));
}

/** Sets the tolerance of one dtype of an op; undefined if the op has no entry in the text. */
export function toleranceEdit(
  text: string, op: string, dtype: string, value: number,
): TextEdit | undefined {
  const tables = parseToml(text);
  const owner = tableNamed(tables, 'ops', op) ?? tableNamed(tables, 'kernels', op);
  if (!owner) return undefined;
  const number = roundedUp(value);
  const inline = owner.entries.find((one) => one.key === 'tolerances');
  if (inline) return inlineEdit(inline.value, inline.valueSpan.start, dtype, number);
  const place = `${owner.path}.tolerances`;
  const below = tablesBelow(tables, owner);
  const own = below.find((one) =>
    one.path.startsWith(`${place}.`) && isSame(one.path.slice(place.length + 1), dtype));
  if (own) return keyEdit(text, own, own.entries.find((one) => one.key === 'atol'), `atol = ${number}`, number);
  const table = below.find((one) => one.path === place);
  // Without a table of tolerances it becomes a key of the op itself, so that it precedes the op's
  // subtables.
  return table ? dtypeEdit(text, table, '', dtype, number) : dtypeEdit(text, owner, 'tolerances.', dtype, number);
}

/** `prefix` precedes the dtype in the keys of `table`. */
function dtypeEdit(text: string, table: Table, prefix: string, dtype: string, number: string): TextEdit {
  const all = table.entries.filter((one) => one.key.startsWith(prefix))
    .map((entry) => ({ entry, parts: entry.key.slice(prefix.length).split('.') }))
    .filter(({ parts }) => isSame(parts[0], dtype));
  const whole = all.find(({ parts }) => parts.length === 1) ?? all.find(({ parts }) => parts[1] === 'atol');
  if (whole || all.length === 0) return keyEdit(text, table, whole?.entry, `${prefix}${dtype} = ${number}`, number);
  // `float32.rtol = 1e-3` is kept beside the absolute tolerance.
  const { entry, parts } = all.at(-1)!;
  return insertionBehind(text, entry.valueSpan.end, `${prefix}${parts[0]}.atol = ${number}`);
}

/** Replaces the value of `known`; without it, inserts a line after the last of the table. */
function keyEdit(text: string, table: Table, known: Entry | undefined, line: string, value: string): TextEdit {
  if (known) return { ...known.valueSpan, text: value };
  return insertionBehind(text, (table.entries.at(-1)?.valueSpan ?? table.headerSpan).end, line);
}

/** Inserts after the line with `offset`, including a trailing comment. */
function insertionBehind(text: string, offset: number, line: string): TextEdit {
  const newline = text.indexOf('\n', offset);
  if (newline < 0) return { start: text.length, end: text.length, text: `\n${line}\n` };
  const ending = text[newline - 1] === '\r' ? '\r\n' : '\n';
  return { start: newline + 1, end: newline + 1, text: `${line}${ending}` };
}

function inlineEdit(value: string, start: number, dtype: string, number: string): TextEdit {
  for (const match of value.matchAll(/([A-Za-z]\w*)(\s*=\s*)(\{[^}]*\}|"[^"]*"|[^,}\s]+)/g)) {
    if (!isSame(match[1], dtype)) continue;
    const at = start + match.index + match[1]!.length + match[2]!.length;
    return { start: at, end: at + match[3]!.length, text: number };
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

/** Adds a comment above the op's entry, which the editor reads and the command line ignores. */
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

/** The suppressions in a text, each for the op whose entry follows. */
export function suppressionsOf(text: string): Suppression[] {
  const found: Suppression[] = [];
  const lines = text.split('\n');
  const lineAt = lineCounter(text);
  for (const table of parseToml(text)) {
    if (!table.isArray || (table.path !== 'ops' && table.path !== 'kernels')) continue;
    const name = table.entries.find((entry) => entry.key === 'name');
    const op = name?.value.replace(/^["']|["']$/g, '') ?? '';
    for (let i = lineAt(table.span.start) - 2; i >= 0 && /^[ \t]*#/.test(lines[i]!); --i) {
      const match = SUPPRESSION.exec(lines[i]!.replace(/\r$/, ''));
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
