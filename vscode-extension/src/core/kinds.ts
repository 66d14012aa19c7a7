// How the editor presents each kind of finding. docs/reference/findings.md explains the kinds.

import { Kind, KINDS, Severity } from './kinds.gen';

export type { Severity } from './kinds.gen';

const UNKNOWN: Kind = { severity: 'error', phrase: 'fails', tolerance: false };

export const severityOf = (kind: string): Severity => (KINDS[kind] ?? UNKNOWN).severity;
export const phraseOf = (kind: string): string => (KINDS[kind] ?? UNKNOWN).phrase;
export const dependsOnTolerance = (kind: string): boolean => (KINDS[kind] ?? UNKNOWN).tolerance;
export const kindNames = (): string[] => Object.keys(KINDS);

/** The part of docs/reference/findings.md about a kind, from its heading to the next; "" for none. */
export function sectionOf(findings: string, kind: string): string {
  const lines = findings.split('\n');
  const first = lines.findIndex((line) => line.trim() === `### ${kind}`);
  if (first < 0) return '';
  const next = lines.findIndex((line, at) => at > first && /^##?#? /.test(line));
  return lines.slice(first, next < 0 ? undefined : next).join('\n').replace(/^### /, '# ').trim();
}
