// What the compiler made of a kernel, as a few lines of Markdown.

import { Json, listAt, numberAt, objectAt, textAt } from './json';

export interface Compiled {
  arch: string;
  registers?: number;
  sharedBytes?: number;
  spillBytes?: number;
  stackBytes?: number;
  occupancy?: number;
}

export interface LintResult {
  kernel: string;
  passed: boolean;
  error?: string;
  compiled: Compiled[];
  violations: string[];
}

const firstNumber = (value: Json, keys: string[]): number | undefined =>
  keys.map((key) => numberAt(value, key)).find((one) => one !== undefined);

export function readLint(value: Json): LintResult[] {
  const all = Array.isArray(value) ? value : listAt(value, 'results');
  return all.map((one) => ({
    kernel: textAt(one, 'kernel_name') ?? '',
    passed: (one as { passed?: boolean }).passed === true,
    error: textAt(one, 'error') || undefined,
    compiled: listAt(objectAt(one, 'metrics'), 'compiled').map((metrics) => ({
      arch: textAt(metrics, 'arch') ?? textAt(metrics, 'architecture') ?? '',
      registers: firstNumber(metrics, ['registers']),
      sharedBytes: firstNumber(metrics, ['shared_bytes', 'static_shared_bytes']),
      spillBytes: firstNumber(metrics, ['spill_bytes']) ?? sum(metrics),
      stackBytes: firstNumber(metrics, ['stack_bytes']),
      occupancy: occupancyOf(metrics),
    })),
    violations: listAt(one, 'violations').map((each) => textAt(each, 'message') ?? ''),
  }));
}

function sum(metrics: Json): number | undefined {
  const stores = numberAt(metrics, 'spill_store_bytes');
  const loads = numberAt(metrics, 'spill_load_bytes');
  return stores === undefined && loads === undefined ? undefined : (stores ?? 0) + (loads ?? 0);
}

function occupancyOf(metrics: Json): number | undefined {
  return numberAt(objectAt(metrics, 'occupancy'), 'fraction');
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

export function lintMarkdown(result: LintResult, changes: string[] = []): string {
  const lines = [`**${result.kernel}** ${result.error ?? ''}`.trim(), ''];
  if (result.compiled.length > 0) {
    lines.push('| arch | registers | shared | spills | occupancy |', '|---|---|---|---|---|');
  }
  const cell = (value: number | undefined, unit = ''): string =>
    value === undefined ? '-' : `${value}${unit}`;
  for (const one of result.compiled) {
    const occupancy = one.occupancy === undefined ? '-' : one.occupancy.toFixed(2);
    lines.push(`| ${one.arch} | ${cell(one.registers)} | ${cell(one.sharedBytes, ' B')} | ` +
      `${cell(one.spillBytes, ' B')} | ${occupancy} |`);
  }
  for (const violation of result.violations) lines.push('', `$(warning) ${violation}`);
  if (changes.length > 0) lines.push('', 'Against the baseline:', ...changes.map((one) => `- ${one}`));
  return lines.join('\n');
}
