// The list of `gpuemu failures` as it arrives. There may be ten thousand failures of a kilobyte each:
// what has been read of the text is dropped, and of a case that is kept for lists only its summary.

import { parseJson } from './json';
import { FURTHER_MAX } from './problems';
import { CaseResult, Finding, readCase, readFailures, UnreadableOutput } from './records';

const LIST = /^\s*\{(?:[^{}[\]"]|"(?:[^"\\]|\\.)*")*?"results"\s*:\s*\[/;
const MARK = /["{}\]]/g;
const STRING = /"(?:[^"\\]|\\.)*"/y;
/** Characters of one case at most. */
const CASE_MAX = 16 * 1024 * 1024;
/** Characters before the list, or of an answer without one, at most. */
const HEAD_MAX = 1024 * 1024;

export class FailureReader {
  /** Before the list all there is, in the list the case that is not complete. */
  private rest = '';
  private at = 0;
  private depth = 0;
  private state: 'before' | 'in' | 'behind' = 'before';
  private problem: unknown;

  constructor(private readonly onCase: (result: CaseResult) => void) {}

  /** Takes a piece of the text; what is wrong with it is told by `end`. */
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

  /** Throws where the text was no complete list, with what it says of an error. */
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
        if (!STRING.test(this.rest)) break;  // Its end is in a piece to come.
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
 * What lists and problems show of a case, the strings that many cases have in common once. The rest
 * of it is asked for when its page is opened.
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
