// A folder with a gpuemu.toml: its ops, its stored failures, its runs. All views show data of these
// objects; there may be several folders.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { suppressionsOf, Suppression } from './core/edits';
import { entriesByName, OpEntry, Project, projectOfText, readProject } from './core/ops';
import { FailureReader, summarized } from './core/failureStream';
import { objectAt } from './core/json';
import {
  CaseResult, DaemonState, readCase, readStatus, RunReport,
} from './core/records';
import { shortened } from './core/problems';
import { groupsToReplay } from './core/replay';
import { limitOf } from './core/settings';
import { RunEvent, RunOutcome, RunReader, LineSplitter } from './core/stream';
import { failuresOf, RunSummary, summaryOf } from './core/verdict';
import { counted } from './core/words';
import * as log from './log';
import { messageOf, Tool } from './tool';

const LINE_MAX = 16 * 1024 * 1024;
const REPLAY_MS = 60_000;

export interface RunRequest {
  command: 'test' | 'fuzz';
  ops: string[];
  dtypes?: string[];
  args?: string[];
}

const keyOf = (result: CaseResult): string => `${result.op}\0${result.seed}`;

export interface Job {
  title: string;
  detail: string;
  cancel(): void;
}

export class Folder implements vscode.Disposable {
  readonly tool: Tool;
  readonly configFile: string;
  readonly name: string;
  project: Project = { ops: [], kernels: [] };
  failures: CaseResult[] = [];
  suppressions: Suppression[] = [];
  status: DaemonState = { state: 'stopped', devices: [] };
  /** Why the tool cannot read the project, with its message. */
  trouble: 'program' | 'config' | undefined;
  problem: string | undefined;
  readonly jobs = new Set<Job>();
  lastRun: RunSummary | undefined;
  private readonly changed = new vscode.EventEmitter<'project' | 'failures' | 'status' | 'jobs'>();
  private readonly finished = new vscode.EventEmitter<RunSummary>();
  private disposed = false;
  private queue: Promise<unknown> = Promise.resolve();
  private known = new Set<string>();
  private replay: vscode.CancellationTokenSource | undefined;
  /** Numbers of the latest reads: the answer to an older read is dropped. */
  private projectTurn = 0;
  private failuresTurn = 0;
  /** Why a case fails is reported by the run that found it, and is not stored. */
  private readonly diagnosed = new Map<string, CaseResult>();
  readonly onDidChange = this.changed.event;
  readonly onDidFinishRun = this.finished.event;

  constructor(readonly config: vscode.Uri) {
    this.configFile = config.fsPath;
    const folder = path.dirname(this.configFile);
    this.tool = new Tool(folder, config);
    this.name = path.basename(folder);
  }

  get root(): string {
    return this.tool.folder;
  }

  contains(file: string): boolean {
    const relative = path.relative(this.root, file);
    return relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
  }

  entries(): Map<string, OpEntry> {
    return entriesByName(this.project);
  }

  /** Runs work in sequence, so that each command shows its own result; other folders do not wait. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.queue.then(work, work);
    this.queue = next.catch(() => undefined);
    return next;
  }

  /** Reads gpuemu.toml again: with the tool if it may be started, else only its text. */
  async loadProject(): Promise<void> {
    const turn = ++this.projectTurn;
    let text = '';
    try {
      const open = vscode.workspace.textDocuments.find(
        (one) => one.uri.toString() === this.config.toString());
      text = open?.getText() ??
        new TextDecoder().decode(await vscode.workspace.fs.readFile(this.config));
    } catch (error) {
      log.warn(messageOf(error));  // The file was deleted meanwhile.
    }
    try {
      const tool = await this.tool.find();
      const project = tool && readProject(await this.tool.json(['ops']), this.root);
      if (turn !== this.projectTurn) return;
      this.suppressions = suppressionsOf(text);
      if (project) {
        this.project = project;
        this.setTrouble(undefined);
      } else {
        this.project = projectOfText(text, this.configFile);
        if (vscode.workspace.isTrusted) this.setTrouble('program', this.tool.missing());
        else this.setTrouble(undefined);
      }
    } catch (error) {
      if (turn !== this.projectTurn) return;
      this.suppressions = suppressionsOf(text);
      this.project = projectOfText(text, this.configFile);
      this.setTrouble('config', firstLine(shortened(messageOf(error), this.root)));
      log.warn(`${this.configFile}: ${messageOf(error)}`);
    }
    this.fire('project');
  }

  private setTrouble(trouble: 'program' | 'config' | undefined, problem?: string): void {
    this.trouble = trouble;
    this.problem = problem;
  }

  async loadFailures(): Promise<void> {
    if (!(await this.tool.find())) return;
    const turn = ++this.failuresTurn;
    try {
      const entries = this.entries();
      const words = new Map<string, string>();
      const found: CaseResult[] = [];
      await this.readFailures([], (one) => {
        if (one.passesNow || (entries.size > 0 && !entries.has(one.op))) return;
        found.push(this.diagnosed.get(keyOf(one)) ?? summarized(one, words));
      });
      if (turn !== this.failuresTurn) return;
      this.failures = found;
      this.known = new Set(found.map(keyOf));
      for (const key of [...this.diagnosed.keys()]) {
        if (!this.known.has(key)) this.diagnosed.delete(key);
      }
    } catch (error) {
      log.warn(`failures of ${this.name}: ${messageOf(error)}`);
    }
    this.fire('failures');
  }

  private get failuresLimit(): number {
    return limitOf(this.tool.setting('failuresLimit', 200));
  }

  private async readFailures(args: string[], onCase: (one: CaseResult) => void): Promise<void> {
    const limit = String(this.failuresLimit);
    const reader = new FailureReader(onCase);
    await this.tool.stream(['failures', '--limit', limit, ...args], (text) => reader.push(text));
    reader.end();
  }

  /** Everything stored of an entry of `failures`, which has only a summary. */
  async storedFailure(known: CaseResult): Promise<CaseResult | undefined> {
    let stored: CaseResult | undefined;
    try {
      await this.readFailures(['--op', known.op], (one) => {
        if (one.seed === known.seed) stored ??= one;
      });
    } catch (error) {
      log.info(`${known.op} with seed ${known.seed}: ${messageOf(error)}`);
    }
    // Only the run that found it knows why it fails.
    return stored && this.diagnosed.has(keyOf(known)) ? { ...stored, findings: known.findings } : stored;
  }

  /** Adds a failure of a run in progress. */
  addFailure(result: CaseResult): void {
    const key = keyOf(result);
    if (this.known.has(key)) {
      this.failures.splice(this.failures.findIndex((one) => keyOf(one) === key), 1);
    }
    this.known.add(key);
    this.failures.unshift(summarized(result));
    if (this.failures.length > this.failuresLimit) {
      this.known.delete(keyOf(this.failures.pop()!));
    }
    this.fire('failures');
  }

  async loadStatus(): Promise<void> {
    const tool = await this.tool.find();
    if (!tool) return;
    if (this.trouble === 'program') {  // The program was installed meanwhile.
      await this.loadProject();
      await this.loadFailures();
    }
    try {
      const value = await this.tool.json(['status'], undefined, 15_000);
      this.status = { ...readStatus(value), toolVersion: tool.version };
    } catch (error) {
      log.warn(`status: ${messageOf(error)}`);
      this.status = { state: 'stopped', devices: [] };
    }
    this.fire('status');
  }

  /** Runs ops in one process and passes on its events as they arrive. */
  run(
    request: RunRequest, token: vscode.CancellationToken, onEvent: (event: RunEvent) => void,
  ): Promise<{ outcome: RunOutcome; summary: RunSummary }> {
    this.replay?.cancel();  // A replay would make this run wait.
    return this.enqueue(async () => {
      const ended = await this.runNow(request, token, onEvent);
      // Before the next run, which may belong to another folder and occupy the daemon.
      await this.loadFailures();
      await this.loadStatus();
      if (!ended.summary.cancelled) void this.replayStored(ended.outcome.report);
      return ended;
    });
  }

  /**
   * Runs the stored failures of a run's ops again, except those that the run itself executed: after a
   * repair they pass. A failure that still occurs represents those of its kind at its line. A new run
   * takes precedence.
   */
  private async replayStored(report: RunReport | undefined): Promise<void> {
    const replay = new vscode.CancellationTokenSource();
    this.replay = replay;
    for (const group of groupsToReplay(this.failures, report)) {
      for (const one of group) {
        if (replay.token.isCancellationRequested || this.disposed) return;
        if (!(await this.passesAgain(one, replay.token))) break;
        this.failures = this.failures.filter((other) => keyOf(other) !== keyOf(one));
        this.known.delete(keyOf(one));
        this.fire('failures');
      }
    }
  }

  private async passesAgain(one: CaseResult, token: vscode.CancellationToken): Promise<boolean> {
    try {
      const value = await this.enqueue(async () => token.isCancellationRequested ? null
        : this.tool.json(['reproduce', one.seed, '--op', one.op], token, REPLAY_MS));
      return value !== null && readCase(objectAt(value, 'result'), one.dtype).passed;
    } catch (error) {
      if (error instanceof vscode.CancellationError) return false;
      log.info(`${one.op} with seed ${one.seed}: ${messageOf(error)}`);
      return false;
    }
  }

  private async runNow(
    request: RunRequest, token: vscode.CancellationToken, onEvent: (event: RunEvent) => void,
  ): Promise<{ outcome: RunOutcome; summary: RunSummary }> {
    if (token.isCancellationRequested) return this.conclude(request, {}, true, 0);
    if (this.trouble === 'program') await this.loadProject();
    const job: Job = { title: `gpuemu ${request.command}`, detail: '', cancel: () => undefined };
    const reader = new RunReader((event) => {
      this.follow(event, job);
      onEvent(event);
    });
    const lines = new LineSplitter((line) => {
      log.logLine(line);
      reader.line(line);
    }, LINE_MAX);
    const running = await this.tool.start(argumentsOf(request), {
      onOutput: (text) => lines.push(text),
    });
    if (!running) {
      return this.conclude(request, { problem: this.tool.missing() }, false, 0);
    }
    job.cancel = () => running.cancel();
    const listener = token.onCancellationRequested(() => running.cancel());
    this.jobs.add(job);
    this.fire('jobs');
    try {
      const ended = await running.ended;
      lines.end();
      const outcome = ended.problem ? { problem: ended.problem }
        : reader.end(ended.code, ended.signal, ended.errors);
      if (lines.dropped > 0) outcome.problem ??= `a line was longer than ${LINE_MAX} characters`;
      return this.conclude(request, outcome, ended.cancelled, ended.durationMs);
    } finally {
      listener.dispose();
      this.jobs.delete(job);
      this.fire('jobs');
    }
  }

  private follow(event: RunEvent, job: Job): void {
    if (event.type === 'caseFailed') this.addFailure(event.result);
    if (event.type === 'warning') log.warn(event.message);
    if (event.type !== 'progress') return;
    job.detail = event.message ?? `${event.done} of ${counted(event.total, 'case')}`;
    this.fire('jobs');
  }

  private conclude(
    request: RunRequest, outcome: RunOutcome, cancelled: boolean, durationMs: number,
  ): { outcome: RunOutcome; summary: RunSummary } {
    const summary = summaryOf(this.root, outcome, cancelled, durationMs);
    if (summary.ops.length === 0) summary.ops = request.ops;
    for (const one of failuresOf(outcome.report)) {
      if (one.findings.some((finding) => finding.note)) this.diagnosed.set(keyOf(one), summarized(one));
    }
    if (outcome.problem && !cancelled) log.error(outcome.problem);
    this.lastRun = summary;
    if (!this.disposed) this.finished.fire(summary);
    return { outcome, summary };
  }

  private fire(what: 'project' | 'failures' | 'status' | 'jobs'): void {
    if (!this.disposed) this.changed.fire(what);
  }

  dispose(): void {
    this.disposed = true;
    this.replay?.cancel();
    for (const job of this.jobs) job.cancel();
    this.tool.dispose();
    this.changed.dispose();
    this.finished.dispose();
  }
}

/** The first of several errors, with their number. */
function firstLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.length > 1 ? `${lines[0]}, and ${lines.length - 1} more` : lines[0]!;
}

function argumentsOf(request: RunRequest): string[] {
  const args: string[] = [request.command, ...request.ops];
  if (request.dtypes && request.dtypes.length > 0) args.push('--dtype', request.dtypes.join(','));
  args.push(...(request.args ?? []), '--format', 'json', '--stream');
  return args;
}
