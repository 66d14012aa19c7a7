// Reads the stream of a run: lines of JSON from the tool become events, and the last one a verdict. A run
// whose end cannot be read has no verdict and never counts as a success.

import { isObject, Json, JsonObject, numberAt, objectAt, parseJson, textAt, textsAt } from './json';
import { CaseResult, OpReport, readCase, readOp, readReport, RunReport } from './records';

/** Splits text that arrives in pieces into lines; drops and counts lines longer than `limit`. */
export class LineSplitter {
  private rest = '';
  private dropping = false;
  /** How many lines were longer than the limit. */
  dropped = 0;

  constructor(private readonly onLine: (line: string) => void, private readonly limit: number) {}

  push(text: string): void {
    const pieces = text.split('\n');
    for (let i = 0; i < pieces.length; ++i) {
      this.add(pieces[i] ?? '');
      if (i + 1 < pieces.length) this.endLine();
    }
  }

  /** Handles the text after the last line break. */
  end(): void {
    if (this.rest !== '' || this.dropping) this.endLine();
  }

  private add(piece: string): void {
    if (this.dropping || this.rest.length + piece.length > this.limit) {
      this.dropping = true;
      this.rest = '';
      return;
    }
    this.rest += piece;
  }

  private endLine(): void {
    if (this.dropping) ++this.dropped;
    else if (this.rest.trim() !== '') this.onLine(this.rest.replace(/\r$/, ''));
    this.dropping = false;
    this.rest = '';
  }
}

export type RunEvent =
  | { type: 'started'; ops: string[]; cases: number }
  | { type: 'opStarted'; op: string; dtype: string }
  | { type: 'caseFailed'; result: CaseResult }
  | { type: 'progress'; done: number; total: number; failures: number; message?: string }
  | { type: 'opFinished'; report: OpReport }
  | { type: 'warning'; message: string };

export interface RunOutcome {
  report?: RunReport;
  /** Why there is no verdict: what could not be read, or the tool's error. */
  problem?: string;
}

/**
 * Adds streamed cases to the reports of their ops, which list only cases examined since. Reports of
 * `fuzz` have no names; the stream has them.
 */
function withStreamed(report: RunReport, ops: OpReport[], cases: CaseResult[]): RunReport {
  const named = report.ops.length > 0 && report.ops.every((one) => one.op !== '');
  const listed = named || ops.length === 0 ? report.ops : ops;
  return {
    ...report,
    ops: listed.map((op) => {
      const seeds = new Set(op.failures.map((one) => one.seed));
      return {
        ...op,
        failures: [...op.failures, ...cases.filter((one) => one.op === op.op &&
          !seeds.has(one.seed) && (op.dtype === '' || one.dtype === op.dtype))],
      };
    }),
  };
}

/** Most failing cases of one run that are kept: the maximum of the setting failuresLimit. */
export const CASES_MAX = 10_000;
/** Most characters of lines that are not JSON. */
const UNREAD_MAX = 16 * 1024 * 1024;

export class RunReader {
  private readonly cases: CaseResult[] = [];
  private readonly ops: OpReport[] = [];
  private finished: Json | undefined;
  private problem: string | undefined;
  private readonly unread: string[] = [];
  private unreadLength = 0;

  constructor(private readonly onEvent: (event: RunEvent) => void) {}

  line(text: string): void {
    let value: Json;
    try {
      value = parseJson(text);
    } catch {
      this.keepUnread(text);
      return;
    }
    try {
      this.read(value);
    } catch (error) {
      this.problem ??= error instanceof Error ? error.message : String(error);
    }
  }

  /** Keeps a document of several lines, from a tool without --stream, or the output of another program. */
  private keepUnread(text: string): void {
    this.unreadLength += text.length;
    if (this.unreadLength <= UNREAD_MAX) {
      this.unread.push(text);
      return;
    }
    this.unread.length = 0;
    this.problem ??= `more than ${UNREAD_MAX} characters of it are no JSON`;
  }

  private read(value: Json): void {
    if (!isObject(value)) {
      if (Array.isArray(value)) this.finished = value;
      return;
    }
    const body = (name: string): JsonObject => objectAt(value, name) ?? value;
    switch (textAt(value, 'type')) {
      case 'RunStarted':
        this.onEvent({
          type: 'started', ops: textsAt(value, 'ops'), cases: numberAt(value, 'cases') ?? 0,
        });
        break;
      case 'OpStarted':
        this.onEvent({
          type: 'opStarted', op: textAt(value, 'op_name') ?? textAt(value, 'op') ?? '',
          dtype: textAt(value, 'dtype') ?? '',
        });
        break;
      case 'CaseFailed': {
        const result = readCase(body('result'), textAt(value, 'dtype'));
        if (this.cases.length < CASES_MAX) this.cases.push(result);
        this.onEvent({ type: 'caseFailed', result });
        break;
      }
      case 'Progress':
        this.onEvent({
          type: 'progress', done: numberAt(value, 'done') ?? 0, total: numberAt(value, 'total') ?? 0,
          failures: numberAt(value, 'failures') ?? 0, message: textAt(value, 'message'),
        });
        break;
      case 'OpFinished': {
        const report = readOp(body('report'));
        this.ops.push(report);
        this.onEvent({
          type: 'opFinished',
          report: withStreamed({ type: '', ops: [report], durationMs: 0 }, [], this.cases).ops[0]!,
        });
        break;
      }
      case 'Warning':
        this.onEvent({ type: 'warning', message: textAt(value, 'message') ?? '' });
        break;
      default:
        this.readLast(value);
    }
  }

  /** Also handles the document of a run that does not stream. */
  private readLast(value: JsonObject): void {
    const type = textAt(value, 'type') ?? '';
    const known = ['RunFinished', 'TestReport', 'FuzzResults', 'CiRunComplete', 'Error'];
    if (known.includes(type) || Array.isArray(value['ops'])) this.finished = value;
  }

  /** Must be called once, when the process has ended. */
  end(exitCode: number | null, signal: string | null, errors: string): RunOutcome {
    if (this.finished === undefined && this.unread.length > 0) {
      try {
        this.finished = parseJson(this.unread.join('\n'));
        this.unread.length = 0;
      } catch {
        // Reported below: it is not a document either.
      }
    }
    const said = errors.trim() === '' ? '' : `: ${errors.trim()}`;
    if (this.problem) return { problem: `the output of gpuemu cannot be read: ${this.problem}` };
    if (this.finished === undefined) return { problem: `${this.endedHow(exitCode, signal)}${said}` };
    try {
      const report = withStreamed(readReport(this.finished), this.ops, this.cases);
      if (exitCode === 3 && !report.incomplete && !hasErrors(report)) {
        return { report, problem: `gpuemu could not do all of its work${said}` };
      }
      if (exitCode === 2) return { report, problem: `gpuemu refused the run${said}` };
      if (exitCode === null) return { report, problem: this.endedHow(exitCode, signal) };
      return { report, problem: report.incomplete };
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return { problem: exitCode === 2 || exitCode === 3 ? what
        : `the report of gpuemu cannot be read: ${what}` };
    }
  }

  private endedHow(exitCode: number | null, signal: string | null): string {
    const how = exitCode === null ? `by ${signal ?? 'a signal'}` : `with exit code ${exitCode}`;
    const broken = this.unread.length > 0 ? '; its output is cut off or no JSON' : '';
    return `gpuemu ended ${how} without a report${broken}`;
  }
}

function hasErrors(report: RunReport): boolean {
  return report.ops.some((op) => op.broken);
}
