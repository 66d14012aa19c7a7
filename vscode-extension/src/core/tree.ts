// The rows of the Failures view: op, then kind and line, then the cases, newest first. Child rows are
// created when a row is opened, because there may be ten thousand.

import { shortenedFinding } from './problems';
import { CaseResult } from './records';
import { kindOf, shown } from './verdict';

export type Row =
  | { type: 'op'; id: string; op: string; count: number; children: () => Row[] }
  | { type: 'kind'; id: string; kind: string; place: string; count: number;
    children: () => Row[] }
  | { type: 'failure'; id: string; result: CaseResult }
  | { type: 'more'; id: string; count: number };

/** Most rows under one parent; a last row gives the number of the others. */
export const ROWS_MAX = 500;

const baseName = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

function groupBy<T>(all: T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const list = groups.get(key);
    if (list) list.push(one);
    else groups.set(key, [one]);
  }
  return groups;
}

export function placeText(result: CaseResult): string {
  const finding = result.findings[0];
  return finding?.file ? `${baseName(finding.file)}:${finding.line ?? 0}` : '';
}

/** `prefix` distinguishes the rows of several folders. */
export function rowsOf(failures: CaseResult[], prefix = ''): Row[] {
  return [...groupBy(failures, (one) => one.op)].map(([op, ofOp]) => ({
    type: 'op', id: `${prefix}${op}`, op, count: ofOp.length,
    children: () => kindRows(ofOp, `${prefix}${op}`),
  }));
}

function kindRows(failures: CaseResult[], prefix: string): Row[] {
  return [...groupBy(failures, (one) => `${kindOf(one)}\0${placeText(one)}`)].map(
    ([key, ofKind]): Row => ({
      type: 'kind', id: `${prefix}\0${key}`, kind: kindOf(ofKind[0]!),
      place: placeText(ofKind[0]!), count: ofKind.length,
      children: () => caseRows(ofKind, `${prefix}\0${key}`),
    }));
}

function caseRows(failures: CaseResult[], prefix: string): Row[] {
  const rows = failures.slice(0, ROWS_MAX).map((result): Row => ({
    type: 'failure', id: `${prefix}\0${result.seed}\0${result.dtype}`, result,
  }));
  const count = failures.length - rows.length;
  return count === 0 ? rows : [...rows, { type: 'more', id: `${prefix}\0more`, count }];
}

export const rowLabel = (result: CaseResult): string =>
  [result.dtype, ...Object.entries(result.dims).map(([name, size]) => `${name}=${size}`)].join(' ');

/** The label for screen readers, and for scripts. */
export const rowAccessible = (result: CaseResult): string =>
  `${result.op} ${result.dtype}, ${kindOf(result)}, seed ${result.seed}`;

export function rowTooltip(result: CaseResult, folder: string): string {
  const finding = result.findings[0] && shortenedFinding(result.findings[0], folder);
  const lines = [rowAccessible(result), '', finding?.message ?? ''];
  if (finding?.note) lines.push('', finding.note);
  if (result.maxDiff > 0) lines.push('', `largest difference ${shown(result.maxDiff)}`);
  return lines.join('\n');
}
