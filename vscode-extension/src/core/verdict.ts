// Converts reports for the Testing view: a state for each item, and the summary of a run.

import { CaseResult, OpReport, RunReport } from './records';
import { RunOutcome } from './stream';

export type ItemState = 'passed' | 'failed' | 'errored' | 'skipped';

export interface RunSummary {
  folder: string;
  ops: string[];
  passed: number;
  failed: number;
  errored: number;
  cancelled: boolean;
  durationMs: number;
}

export interface ItemVerdict {
  state: ItemState;
  /** Why it is errored or skipped. */
  reason?: string;
}

export function verdictOf(report: OpReport): ItemVerdict {
  if (report.failed > 0) return { state: 'failed' };
  if (report.referenceFailed) {
    return { state: 'errored', reason: report.skipped ?? 'its reference answered no case' };
  }
  if (report.broken) return { state: 'errored', reason: report.skipped };
  if (report.notRun > 0) {
    return { state: 'errored', reason: `${report.notRun} of its cases were not run` };
  }
  if (report.passed > 0) return { state: 'passed' };
  if (report.skipped) return { state: 'skipped', reason: report.skipped };
  return { state: 'errored', reason: 'none of its cases was run' };
}

export const itemId = (op: string, dtype = '', variant = ''): string =>
  [op, dtype, variant].filter((part) => part !== '').join('/');

export function summaryOf(
  folder: string, outcome: RunOutcome, cancelled: boolean, durationMs: number,
): RunSummary {
  const states = (outcome.report?.ops ?? []).map((op) => verdictOf(op).state);
  const count = (state: ItemState): number => states.filter((one) => one === state).length;
  const errored = count('errored');
  return {
    folder,
    ops: [...new Set((outcome.report?.ops ?? []).map((op) => op.op))],
    passed: count('passed'),
    failed: count('failed'),
    errored: outcome.problem && !cancelled ? Math.max(errored, 1) : errored,
    cancelled,
    durationMs,
  };
}

export function failuresOf(report: RunReport | undefined): CaseResult[] {
  return (report?.ops ?? []).flatMap((op) => op.failures);
}

/** The first finding of a case, shown in its row. */
export const kindOf = (result: CaseResult): string => result.findings[0]?.kind ?? 'Unknown';

/** Identifies failures of one op, dtype and kind at one line, which are shown as one problem. */
export const groupOf = (result: CaseResult): string => {
  const finding = result.findings[0];
  return `${result.op}\0${result.dtype}\0${kindOf(result)}\0${finding?.line ?? 0}\0${
    finding?.file ?? ''}`;
};

/** A value with as few digits as identify it. */
export function shown(value: number | undefined): string {
  if (value === undefined) return 'not finite';
  return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : 'not finite';
}

/** Expected and actual value for the editor's comparison, if the finding has them. */
export function expectedAndActual(result: CaseResult): [string, string] | undefined {
  const one = result.findings.find(
    (finding) => finding.expected !== undefined || finding.actual !== undefined);
  if (!one) return undefined;
  const place = `${one.output ?? 'output'}[${one.index ?? '?'}]`;
  return [`${place} = ${shown(one.expected)}\n`, `${place} = ${shown(one.actual)}\n`];
}
