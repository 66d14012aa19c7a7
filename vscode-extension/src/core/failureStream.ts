// Reads the list of `gpuemu failures` as it arrives. There may be ten thousand failures of a kilobyte each,
// so text that was read is dropped, and only a summary is kept of a case in lists.

import { parseJson } from './json';
import { FURTHER_MAX } from './problems';
import { CaseResult, Finding, readCase, readFailures, UnreadableOutput } from './records';

const LIST = /^\s*\{(?:[^{}[\]"]|"(?:[^"\\]|\\.)*")*?"results"\s*:\s*\[/;
const MARK = /["{}\]]/g;
const STRING = /"(?:[^"\\]|\\.)*"/y;
/** Most characters of one case. */
const CASE_MAX = 16 * 1024 * 1024;
/** Most characters before the list, or of an answer without a list. */
const HEAD_MAX = 1024 * 1024;

export class FailureReader {
  /** Before the list: everything so far; in the list: the incomplete case. */
  private rest = '';
  private at = 0;
  private depth = 0;
  private state: 'before' | 'in' | 'behind' = 'before';
  private problem: unknown;

  constructor(private readonly onCase: (result: CaseResult) => void) {}

  /** Takes a piece of the text; `end` reports what is wrong with it. */
  push(piece: string): void {
    if (this.problem !== undefined || this.state === 'behind') return;
    this.rest += piece;
    try {
      if (this.state === 'before') this.begin();
      if (this.state === 'in') this.readCases();
      const most = this.state === 'before' ? HEAD_MAX : CASE_MAX;
      if (this.rest.length > most) {
        throw new UnreadableOutput(`more than ${most} characters are no stored failure`);
      }
    } catch (error) {
      this.problem = error;
      this.rest = '';
    }
  }

  /** Throws if the text was no complete list, with its error message if it has one. */
  end(): void {
    if (this.problem !== undefined) throw this.problem;
    if (this.state === 'in') throw new UnreadableOutput('the list "results" is cut off');
    if (this.state === 'before') readFailures(parseJson(this.rest)).forEach(this.onCase);
  }

  private begin(): void {
    const begin = LIST.exec(this.rest);
    if (!begin) return;
    this.state = 'in';
    this.rest = this.rest.slice(begin[0].length);
  }

  private readCases(): void {
    let start = 0;
    MARK.lastIndex = this.at;
    for (;;) {
      const found = MARK.exec(this.rest);
      this.at = found ? found.index : this.rest.length;
      if (!found) break;
      const c = found[0];
      if (c === '"') {
        STRING.lastIndex = found.index;
        if (!STRING.test(this.rest)) break;  // The string ends in a later piece.
        MARK.lastIndex = STRING.lastIndex;
      } else if (c === '{') {
        if (this.depth++ === 0) start = found.index;
      } else if (c === '}') {
        if (--this.depth === 0) {
          this.onCase(readCase(parseJson(this.rest.slice(start, found.index + 1))));
          start = found.index + 1;
        }
      } else if (this.depth === 0) {
        this.state = 'behind';
        this.rest = '';
        return;
      }
    }
    this.rest = this.rest.slice(start);
    this.at -= start;
  }
}

/**
 * The parts of a case that lists and problems show; strings that many cases share are stored once. The
 * rest is read when the page of the case is opened.
 */
export function summarized(result: CaseResult, words = new Map<string, string>()): CaseResult {
  const once = <T extends string | undefined>(text: T): T => {
    if (text === undefined) return text;
    const known = words.get(text);
    if (known === undefined) words.set(text, text);
    return (known ?? text) as T;
  };
  const finding = (one: Finding): Finding => ({
    ...one, kind: once(one.kind), message: once(one.message), output: once(one.output),
    file: once(one.file), verdict: once(one.verdict), note: once(one.note),
  });
  const [first, ...further] = result.findings;
  return {
    passed: result.passed, seed: result.seed, op: once(result.op), dtype: once(result.dtype),
    layout: '', shape: [], dims: result.dims, kernel: once(result.kernel), maxDiff: result.maxDiff,
    findings: first ? [first, ...further.slice(0, FURTHER_MAX).filter((one) => one.file)].map(finding)
      : [],
    timestamp: result.timestamp, passesNow: result.passesNow,
  };
}
