// Formats the compiled metrics of a kernel as a few lines of Markdown.

import { flagAt, Json, listAt, numberAt, objectAt, textAt } from './json';

export interface Compiled {
  arch: string;
  registers?: number;
  sharedBytes?: number;
  spillBytes?: number;
  occupancy?: number;
}

export interface LintResult {
  kernel: string;
  passed: boolean;
  error?: string;
  compiled: Compiled[];
  violations: string[];
}

const compiledOf = (metrics: Json): Compiled => ({
  arch: textAt(metrics, 'arch') ?? '',
  registers: numberAt(metrics, 'registers'),
  sharedBytes: numberAt(metrics, 'shared_bytes'),
  spillBytes: spillBytes(metrics),
  occupancy: numberAt(objectAt(metrics, 'occupancy'), 'fraction'),
});

export function readLint(value: Json): LintResult[] {
  const all = Array.isArray(value) ? value : listAt(value, 'results');
  return all.map((one) => ({
    kernel: textAt(one, 'kernel_name') ?? '',
    passed: flagAt(one, 'passed') ?? false,
    error: textAt(one, 'error') || undefined,
    compiled: listAt(objectAt(one, 'metrics'), 'compiled').map(compiledOf),
    violations: listAt(one, 'violations').map((each) => textAt(each, 'message') ?? ''),
  }));
}

function spillBytes(metrics: Json): number | undefined {
  const stores = numberAt(metrics, 'spill_store_bytes');
  const loads = numberAt(metrics, 'spill_load_bytes');
  return stores === undefined && loads === undefined ? undefined : (stores ?? 0) + (loads ?? 0);
}

/** Growth against the baseline: metric to "40 -> 96 (+140 %)". */
export function readChanges(value: Json): Map<string, string[]> {
  const changes = new Map<string, string[]>();
  for (const diff of listAt(value, 'diffs')) {
    const lines = listAt(diff, 'changes').map((one) => {
      const percent = numberAt(one, 'percent');
      const growth = percent === undefined ? '' : ` (${percent > 0 ? '+' : ''}${percent.toFixed(1)} %)`;
      return `${textAt(one, 'metric') ?? ''} ${numberAt(one, 'before') ?? '?'} → ` +
        `${numberAt(one, 'after') ?? '?'}${growth}`;
    });
    changes.set(textAt(diff, 'kernel_name') ?? '', lines);
  }
  return changes;
}

/** Compiled metrics of each kernel in a baseline: the member `diffs` of `gpuemu diff`. */
export function readBaseline(value: Json): Map<string, Compiled[]> {
  return new Map(listAt(value, 'diffs').map((diff) => [
    textAt(diff, 'kernel_name') ?? textAt(objectAt(diff, 'baseline'), 'kernel_name') ?? '',
    listAt(objectAt(diff, 'baseline'), 'compiled').map(compiledOf),
  ]));
}

/** One name in gpuemu.toml may refer to several entries and instances: `gelu:gelu<float>`. */
export const resultsOf = (results: LintResult[], kernel: string): LintResult[] =>
  results.filter((one) => one.kernel === kernel || one.kernel.startsWith(`${kernel}:`));

const instanceOf = (name: string): string => name.slice(name.indexOf(':') + 1);

export function lintSentence(result: LintResult): string {
  const why = [result.error, ...result.violations].filter(Boolean);
  const numbers = result.compiled.map((one) =>
    `${one.arch} ${one.registers ?? '?'} registers, ${one.spillBytes ?? '?'} bytes spilled, ` +
    `${one.sharedBytes ?? '?'} shared, occupancy ${one.occupancy?.toFixed(2) ?? '?'}`);
  return `${instanceOf(result.kernel)}: ${[...why, ...numbers].join('; ') || 'not measured'}`;
}

/** A table of all instances; a value that differs from the baseline is shown with the old value. */
export function lintMarkdown(
  results: LintResult[], baseline?: { tag: string; kernels: Map<string, Compiled[]> },
): string {
  const lines = ['| kernel | arch | registers | shared | spills | occupancy |', '|---|---|---|---|---|---|'];
  let changed = 0;
  for (const result of results) {
    for (const now of result.compiled) {
      const then = baseline?.kernels.get(result.kernel)?.find((one) => one.arch === now.arch);
      const cell = (key: Metric): string => {
        const value = textOf(key, now);
        const before = then?.[key] === undefined ? value : textOf(key, then);
        if (before === value) return value;
        ++changed;
        return `${value} (was ${before})`;
      };
      const cells = (['registers', 'sharedBytes', 'spillBytes', 'occupancy'] as const).map(cell);
      lines.push(`| ${[`\`${instanceOf(result.kernel)}\``, now.arch, ...cells].join(' | ')} |`);
    }
  }
  for (const one of results) {
    for (const why of [one.error, ...one.violations]) if (why) lines.push('', `$(warning) ${why}`);
  }
  if (baseline) {
    lines.push('', changed === 0 ? `As in baseline \`${baseline.tag}\`.`
      : `Compared with baseline \`${baseline.tag}\`.`);
  }
  return lines.join('\n');
}

type Metric = 'registers' | 'sharedBytes' | 'spillBytes' | 'occupancy';

function textOf(key: Metric, one: Compiled): string {
  const value = one[key];
  if (value === undefined) return '-';
  return key === 'occupancy' ? value.toFixed(2) : key === 'registers' ? String(value) : `${value} B`;
}
