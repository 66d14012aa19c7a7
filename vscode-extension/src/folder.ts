// A folder with a gpuemu.toml: its ops, its stored failures, its runs. Everything that the editor
// shows is drawn from here; several folders live side by side.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { suppressionsOf, Suppression } from './core/edits';
import { entriesByName, OpEntry, Project, projectOfText, readProject } from './core/ops';
import { CaseResult, DaemonState, readFailuresInSlices, readStatus } from './core/records';
import { RunEvent, RunOutcome, RunReader, LineSplitter } from './core/stream';
import { failuresOf, RunSummary, summaryOf } from './core/verdict';
import * as log from './log';
import { messageOf, Tool } from './tool';

export const LINE_MAX = 16 * 1024 * 1024;

export interface RunRequest {
  command: 'test' | 'fuzz' | 'ci';
  ops: string[];
  dtypes?: string[];
  args?: string[];
}

let queue: Promise<unknown> = Promise.resolve();

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
  /** Why the tool could not read the project: an error in gpuemu.toml, no program. */
  problem: string | undefined;
  readonly jobs = new Set<Job>();
  lastRun: RunSummary | undefined;
  private readonly changed = new vscode.EventEmitter<'project' | 'failures' | 'status' | 'jobs'>();
  private readonly finished = new vscode.EventEmitter<RunSummary>();
  private disposed = false;
  private known = new Set<string>();
  /** Why a case fails is told by the run that found it, and is not stored. */
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

  /** One after the other over all folders: the daemon serves one project at a time. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = queue.then(work, work);
    queue = next.catch(() => undefined);
    return next;
  }

  /** Reads gpuemu.toml again; by the tool where it may be started, else by its text alone. */
  async loadProject(): Promise<void> {
    let text = '';
    try {
      const open = vscode.workspace.textDocuments.find(
        (one) => one.uri.toString() === this.config.toString());
      text = open?.getText() ??
        new TextDecoder().decode(await vscode.workspace.fs.readFile(this.config));
    } catch (error) {
      this.problem = messageOf(error);
    }
    this.suppressions = suppressionsOf(text);
    try {
      if (await this.tool.find()) {
        this.project = readProject(await this.tool.json(['ops']), this.root);
        this.problem = undefined;
      } else {
        this.project = projectOfText(text, this.configFile);
      }
    } catch (error) {
      this.problem = messageOf(error);
      this.project = projectOfText(text, this.configFile);
      log.info(`${this.configFile}: ${this.problem}`);
    }
    this.fire('project');
  }

  async loadFailures(): Promise<void> {
    if (!(await this.tool.find())) return;
    try {
      const limit = String(this.tool.setting('failuresLimit', 200));
      const text = await this.tool.text(['failures', '--limit', limit, '--format', 'json']);
      const entries = this.entries();
      this.failures = (await readFailuresInSlices(text)).filter((one) =>
        !one.passesNow && (entries.size === 0 || entries.has(one.op)))
        .map((one) => this.diagnosed.get(keyOf(one)) ?? one);
      this.known = new Set(this.failures.map(keyOf));
    } catch (error) {
      log.warn(`failures of ${this.name}: ${messageOf(error)}`);
    }
    this.fire('failures');
  }

  /** Takes a failure of a run that still goes on. */
  addFailure(result: CaseResult): void {
    const key = keyOf(result);
    if (this.known.has(key)) {
      this.failures.splice(this.failures.findIndex((one) => keyOf(one) === key), 1);
    }
    this.known.add(key);
    this.failures.unshift(result);
    this.fire('failures');
  }

  async loadStatus(): Promise<void> {
    if (!(await this.tool.find())) return;
    try {
      this.status = readStatus(await this.tool.json(['status'], undefined, 15_000));
    } catch (error) {
      log.warn(`status: ${messageOf(error)}`);
      this.status = { state: 'stopped', devices: [] };
    }
    this.fire('status');
  }

  /** Runs ops in one process and passes on what it says as it comes. */
  run(
    request: RunRequest, token: vscode.CancellationToken, onEvent: (event: RunEvent) => void,
  ): Promise<{ outcome: RunOutcome; summary: RunSummary }> {
    return this.enqueue(async () => {
      const ended = await this.runNow(request, token, onEvent);
      // Before the next run, which may be of another folder and have the daemon for itself.
      await this.loadFailures();
      await this.loadStatus();
      return ended;
    });
  }

  private async runNow(
    request: RunRequest, token: vscode.CancellationToken, onEvent: (event: RunEvent) => void,
  ): Promise<{ outcome: RunOutcome; summary: RunSummary }> {
    if (token.isCancellationRequested) return this.conclude(request, {}, true, 0);
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
      return this.conclude(request, { problem: 'the gpuemu program is not found' }, false, 0);
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
    job.detail = `${event.done} of ${event.total} cases`;
    this.fire('jobs');
  }

  private conclude(
    request: RunRequest, outcome: RunOutcome, cancelled: boolean, durationMs: number,
  ): { outcome: RunOutcome; summary: RunSummary } {
    const summary = summaryOf(this.root, outcome, cancelled, durationMs);
    if (summary.ops.length === 0) summary.ops = request.ops;
    for (const one of failuresOf(outcome.report)) {
      if (one.findings.some((finding) => finding.note)) this.diagnosed.set(keyOf(one), one);
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
    for (const job of this.jobs) job.cancel();
    this.tool.dispose();
    this.changed.dispose();
    this.finished.dispose();
  }
}

export function argumentsOf(request: RunRequest): string[] {
  const args: string[] = [request.command];
  if (request.command === 'fuzz') args.push(...request.ops.flatMap((op) => ['--op', op]));
  else if (request.command === 'test') args.push(...request.ops);
  if (request.dtypes && request.dtypes.length > 0) args.push('--dtype', request.dtypes.join(','));
  args.push(...(request.args ?? []), '--format', 'json', '--stream');
  return args;
}
