// The result of `gpuemu coverage --kernel`: lines and branches of a kernel's source that cases reached.

import { Json, isObject, listAt, numberAt, textAt } from './json';
import { UnreadableOutput } from './records';

export interface BranchWay {
  hits: number;
  toLine: number;
}

export interface CoveredLine {
  line: number;
  hits: number;
  ways: BranchWay[];
}

export interface CoveredFile {
  file: string;
  lines: CoveredLine[];
}

export function readCoverage(value: Json): CoveredFile[] {
  if (!isObject(value) || !Array.isArray(value['lines'])) {
    throw new UnreadableOutput(textAt(value, 'message') ?? 'no member "lines"');
  }
  const files = new Map<string, Map<number, CoveredLine>>();
  const at = (file: string, line: number): CoveredLine => {
    const lines = files.get(file) ?? new Map<number, CoveredLine>();
    files.set(file, lines);
    const known = lines.get(line) ?? { line, hits: 0, ways: [] };
    lines.set(line, known);
    return known;
  };
  for (const one of value['lines']) {
    const file = textAt(one, 'file');
    const line = numberAt(one, 'line') ?? 0;
    if (file && line > 0) at(file, line).hits += numberAt(one, 'hits') ?? 0;
  }
  for (const one of listAt(value, 'branches')) {
    const file = textAt(one, 'file');
    const line = numberAt(one, 'line') ?? 0;
    if (!file || line === 0 || !files.get(file)?.has(line)) continue;
    at(file, line).ways.push({
      hits: numberAt(one, 'hits') ?? 0, toLine: numberAt(one, 'to_line') ?? 0,
    });
  }
  return [...files].map(([file, lines]) => ({
    file, lines: [...lines.values()].sort((a, b) => a.line - b.line),
  }));
}
