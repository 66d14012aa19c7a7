// Converts failures to problems: their place in the code, their text, and related places.

import * as path from 'node:path';
import { dependsOnTolerance, Severity, severityOf } from './kinds';
import { OpEntry } from './ops';
import { CaseResult, Finding } from './records';
import { groupOf } from './verdict';

export interface Place {
  file: string;
  /** Counted from 1; 0 if only the file is known. */
  line: number;
  endLine?: number;
}

export interface Related {
  message: string;
  place: Place;
}

export interface Problem {
  place: Place;
  severity: Severity;
  message: string;
  kind: string;
  seed: string;
  op: string;
  dtype: string;
  /** True if a tolerance decides this finding. */
  tolerance: boolean;
  /** The largest difference of all failures that the problem represents. */
  maxDiff: number;
  related: Related[];
  /** Number of further failures of the same op and kind at the same line. */
  more: number;
}

function absolute(folder: string, file: string): string {
  return path.isAbsolute(file) ? path.normalize(file) : path.join(folder, file);
}

/** The line in the kernel, else the entry of the op, else its reference, else gpuemu.toml. */
export function placeOf(
  finding: Finding, entry: OpEntry | undefined, folder: string, configFile: string,
): Place {
  if (finding.file) return { file: absolute(folder, finding.file), line: finding.line ?? 0 };
  if (entry && entry.line > 0) {
    return { file: absolute(folder, entry.file || configFile), line: entry.line };
  }
  if (entry?.reference) return { file: absolute(folder, entry.reference), line: 0 };
  return { file: configFile, line: 0 };
}

/** Further findings of a case that its problem shows. */
export const FURTHER_MAX = 4;
// Matches a place in a message, "kernels/x.cu:12", such as the second instruction of a race.
const OTHER_PLACE = /([\p{L}\p{N}\p{M}_./~@+-]+\.(?:cuh?|ptx|py|h|hpp)):(\d+)/gu;

/** The places named in a message. Files of the op are searched by name, because names may contain
 * blanks. */
function placesIn(message: string, files: string[], folder: string): { text: string; place: Place }[] {
  const found: { at: number; text: string; place: Place }[] = [];
  let rest = message;
  const byLength = [...new Set(files)].sort((a, b) => b.length - a.length);
  for (const file of byLength) {
    const name = shortened(file, folder);
    for (let at = rest.indexOf(`${name}:`); at >= 0; at = rest.indexOf(`${name}:`, at + 1)) {
      if (/[\p{L}\p{N}_./-]$/u.test(rest.slice(0, at))) continue;  // It is the end of another file's name.
      const line = /^\d+/.exec(rest.slice(at + name.length + 1, at + name.length + 12))?.[0];
      if (line === undefined) continue;
      const text = `${name}:${line}`;
      found.push({ at, text, place: { file, line: Number(line) } });
      rest = rest.slice(0, at) + ' '.repeat(text.length) + rest.slice(at + text.length);
    }
  }
  for (const match of rest.matchAll(OTHER_PLACE)) {
    found.push({
      at: match.index, text: match[0],
      place: { file: absolute(folder, match[1] ?? ''), line: Number(match[2]) },
    });
  }
  return found.sort((a, b) => a.at - b.at);
}

/** Shortens paths of the project to those in gpuemu.toml; a folder's name may contain blanks. */
export const shortened = (message: string, folder: string): string =>
  message.replaceAll(`${folder}${path.sep}`, '');

export const shortenedFinding = (finding: Finding, folder: string): Finding => ({
  ...finding, message: shortened(finding.message, folder),
  note: finding.note && shortened(finding.note, folder),
});

function relatedOf(
  failure: CaseResult, finding: Finding, place: Place, entry: OpEntry | undefined, folder: string,
): Related[] {
  const related: Related[] = [];
  const message = shortened(finding.message, folder);
  for (const { text, place: other } of placesIn(message, entry?.files ?? [], folder)) {
    const same = (one: Place): boolean => one.line === other.line &&
      path.basename(one.file) === path.basename(other.file);
    if (same(place) || related.some((one) => same(one.place))) continue;
    related.push({ message: `also at ${text}`, place: other });
  }
  for (const other of failure.findings.slice(1, 1 + FURTHER_MAX)) {
    if (!other.file || other.line === undefined) continue;
    related.push({
      message: `${other.kind}: ${shortened(other.message, folder)}`,
      place: { file: absolute(folder, other.file), line: other.line },
    });
  }
  if (finding.divergence) {
    related.push({
      message: `first instruction that differs: ${finding.divergence.instruction}`,
      place: {
        file: absolute(folder, finding.divergence.file), line: finding.divergence.line,
      },
    });
  }
  if (entry?.reference) {
    related.push({
      message: `reference of ${entry.name}`,
      place: { file: absolute(folder, entry.reference), line: 0 },
    });
  }
  return related;
}

/** Newest first; leaves out failures that pass now, and counts equal ones at one line. */
export function problemsOf(
  failures: CaseResult[], entries: Map<string, OpEntry>, folder: string, configFile: string,
): Problem[] {
  const found = new Map<string, Problem>();
  for (const failure of failures) {
    if (failure.passesNow) continue;
    const finding = failure.findings[0];
    if (!finding) continue;
    const key = groupOf(failure);
    const known = found.get(key);
    if (known) {
      ++known.more;
      known.maxDiff = Math.max(known.maxDiff, failure.maxDiff);
      continue;
    }
    const entry = entries.get(failure.op);
    const place = placeOf(finding, entry, folder, configFile);
    found.set(key, {
      place,
      severity: severityOf(finding.kind),
      message: messageOf(failure, shortenedFinding(finding, folder)),
      kind: finding.kind,
      seed: failure.seed,
      op: failure.op,
      dtype: failure.dtype,
      tolerance: dependsOnTolerance(finding.kind),
      maxDiff: failure.maxDiff,
      related: relatedOf(failure, finding, place, entry, folder),
      more: 0,
    });
  }
  return [...found.values()];
}

export function messageOf(failure: CaseResult, finding: Finding): string {
  const dims = Object.entries(failure.dims).map(([name, size]) => `${name}=${size}`).join(' ');
  const where = [failure.dtype, dims].filter((part) => part !== '').join(', ');
  const note = finding.note ? `\n${finding.note}` : '';
  return `${failure.op}${where === '' ? '' : ` (${where})`}: ${finding.message}${note}`;
}

/** The text after the message: how many more, and the seed. */
export function suffixOf(problem: Problem): string {
  const more = problem.more > 0 ? `, and ${problem.more} more here` : '';
  return ` [seed ${problem.seed}${more}]`;
}
