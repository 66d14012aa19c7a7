// The ops and kernels of a project: from `gpuemu ops`, which runs nothing; or, if a folder is not trusted
// or the tool is not found, from the text of gpuemu.toml.

import * as path from 'node:path';
import { isObject, Json, listAt, numberAt, textAt, textsAt } from './json';
import { UnreadableOutput } from './records';
import { lineCounter, parseToml, stringOf, stringsIn, Table, valueOf } from './toml';

export interface OpEntry {
  name: string;
  isKernel: boolean;
  dtypes: string[];
  variants: string[];
  /** Where its entry begins; line and column are counted from 1. */
  file: string;
  line: number;
  column: number;
  endLine?: number;
  reference?: string;
  source?: string;
  /** Names of launched kernels without template arguments. */
  entries: string[];
  /** Files that it depends on, with absolute paths: kernel sources, headers, the reference. */
  files: string[];
  /** False for ops that run only in the client. */
  runnable: boolean;
}

export interface Project {
  ops: OpEntry[];
  kernels: OpEntry[];
}

const bare = (entry: string): string => entry.replace(/<.*$/, '').trim();

/** The files with their roles for the op: `{ role, path }`. */
function filesOf(value: Json, at: (file: string) => string): { role: string; path: string }[] {
  return listAt(value, 'files').map((one) => ({
    role: textAt(one, 'role') ?? '', path: at(textAt(one, 'path') ?? (one as string)),
  })).filter((one) => typeof one.path === 'string' && one.path !== '');
}

function entryOf(value: Json, isKernel: boolean, folder: string): OpEntry {
  const name = textAt(value, 'name');
  if (name === undefined) throw new UnreadableOutput('an op without the member "name"');
  const at = (file: string): string => (path.isAbsolute(file) ? file : path.join(folder, file));
  const files = filesOf(value, at);
  const withRole = (role: string): string | undefined =>
    files.find((one) => one.role === role)?.path;
  return {
    name,
    isKernel,
    dtypes: textsAt(value, 'dtypes'),
    variants: isKernel ? [] : textsAt(value, 'variants'),
    file: at(textAt(value, 'file') ?? ''),
    line: numberAt(value, 'line') ?? 0,
    column: numberAt(value, 'column') ?? 1,
    endLine: numberAt(value, 'end_line') || undefined,
    reference: withRole('reference'),
    source: withRole('kernel'),
    entries: textsAt(value, 'entries').map(bare),
    files: files.map((one) => one.path),
    runnable: textAt(value, 'execution_mode') !== 'client_side',
  };
}

/** The document of `gpuemu ops`. Relative paths start at `folder`. */
export function readProject(value: Json, folder: string): Project {
  if (!isObject(value) || !Array.isArray(value['ops'])) {
    throw new UnreadableOutput(textAt(value, 'message') ?? 'no member "ops"');
  }
  const ops = value['ops'].map((one) => entryOf(one, false, folder));
  const kernels = listAt(value, 'kernels').map((one) => entryOf(one, true, folder));
  for (const op of ops) {
    op.entries = kernels.filter((one) => op.variants.includes(one.name))
      .flatMap((one) => one.entries);
  }
  return { ops, kernels };
}

const DEFAULT_DTYPES = ['float32'];
const OP_KEYS = ['inputs', 'outputs', 'dims'];

/** Reads only the text of gpuemu.toml. The tool knows more: defaults, headers, other files. */
export function projectOfText(text: string, file: string): Project {
  const folder = path.dirname(file);
  const tables = parseToml(text);
  const validation = tables.find((one) => one.path === 'validation');
  const usual = namesIn(validation, 'dtypes') ?? DEFAULT_DTYPES;
  const lineAt = lineCounter(text);
  const read = (table: Table): OpEntry => readTable(table, lineAt, file, folder, usual);
  const kernels = tables.filter((one) => one.path === 'kernels' && one.isArray).map(read)
    .filter((one) => one.name !== '');
  const ops = tables.filter((one) => one.path === 'ops' && one.isArray).map(read)
    .filter((one) => one.name !== '');
  const byName = new Map(kernels.map((one) => [one.name, one]));
  const used = new Set(ops.flatMap((op) => op.variants));
  for (const op of ops) {
    for (const variant of op.variants) {
      const kernel = byName.get(variant);
      op.source ??= kernel?.source;
      op.files.push(...(kernel?.files ?? []));
      op.entries.push(...(kernel?.entries ?? []));
    }
  }
  const tested = tables.filter((one) => one.path === 'kernels' &&
    one.entries.some((entry) => OP_KEYS.includes(entry.key)));
  const names = new Set(tested.map((one) => valueOf(one, 'name')));
  const alone = kernels.filter((one) => names.has(one.name) && !used.has(one.name));
  return { ops: [...ops, ...alone], kernels };
}

function namesIn(table: Table | undefined, key: string): string[] | undefined {
  const entry = table?.entries.find((one) => one.key === key);
  return entry && stringsIn(entry).map((one) => longName(one.text));
}

/** Returns `float32` for `F32`. */
export function longName(dtype: string): string {
  const match = /^(bf|f|i|u)(8|16|32|64)$/.exec(dtype.toLowerCase());
  const long: Record<string, string> = { bf: 'bfloat', f: 'float', i: 'int', u: 'uint' };
  return match ? `${long[match[1]!]}${match[2]}` : dtype.toLowerCase();
}

function readTable(
  table: Table, lineAt: (offset: number) => number, file: string, folder: string, usual: string[],
): OpEntry {
  const at = (name: string | undefined): string | undefined =>
    name === undefined || name.startsWith('builtin:') ? undefined : path.resolve(folder, name);
  const reference = at(valueOf(table, 'reference'));
  const source = at(valueOf(table, 'source'));
  const launches = table.entries.find((one) => one.key === 'launches')?.value ?? '';
  const entries = [...launches.matchAll(/\bentry\s*=\s*("[^"\n]*"|'[^'\n]*')/g)]
    .map((match) => bare(stringOf(match[1]!) ?? ''));
  const isKernel = table.path === 'kernels';
  const variants = isKernel ? [] : stringsIn(
    table.entries.find((one) => one.key === 'kernel') ??
    { key: '', keySpan: { start: 0, end: 0 }, valueSpan: { start: 0, end: 0 }, value: '' },
  ).map((one) => one.text);
  const scripted = table.entries.some((one) => one.key === 'op_script');
  return {
    name: valueOf(table, 'name') ?? '',
    isKernel,
    dtypes: namesIn(table, 'dtypes') ?? usual,
    variants,
    file,
    line: lineAt(table.headerSpan.start),
    column: 1,
    endLine: lineAt((table.entries.at(-1)?.valueSpan ?? table.headerSpan).end),
    reference,
    source,
    entries,
    files: [reference, source].filter((one): one is string => one !== undefined),
    runnable: isKernel || variants.length > 0 || scripted,
  };
}

/** Names of the ops that depend on `file`; all ops for gpuemu.toml itself. */
export function affectedOps(project: Project, file: string): string[] {
  const names = new Set<string>();
  for (const op of project.ops) {
    if (op.runnable && (op.files.includes(file) || op.file === file)) names.add(op.name);
  }
  return [...names];
}

/** Every entry by its name; ops before kernels of the same name. */
export function entriesByName(project: Project): Map<string, OpEntry> {
  return new Map([...project.kernels, ...project.ops].map((one) => [one.name, one]));
}
