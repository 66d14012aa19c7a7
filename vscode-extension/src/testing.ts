// The Testing view: items from `gpuemu ops`; any selection runs in one process.

import * as vscode from 'vscode';
import { longName, OpEntry } from './core/ops';
import { CaseResult, OpReport } from './core/records';
import { expectedAndActual, itemId, kindOf, verdictOf } from './core/verdict';
import { placeOf, shortened } from './core/problems';
import { profileArguments } from './core/settings';
import { counted, someFail } from './core/words';
import { coverageOf, CoveredLines } from './coverage';
import { Folder } from './folder';
import { Folders } from './folders';
import { debugFailure } from './terminal';
import { messageOf } from './tool';

type Way = 'run' | 'thorough' | 'fuzz' | 'debug' | 'coverage';

interface Meant {
  folder: Folder;
  op: string;
  dtype?: string;
}

export class Testing implements vscode.Disposable {
  readonly controller = vscode.tests.createTestController('gpuemu', 'gpuemu');
  private readonly meant = new WeakMap<vscode.TestItem, Meant>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly covered = new WeakMap<vscode.FileCoverage, CoveredLines>();
  /** The selections of active continuous runs. */
  private readonly continuous = new Set<vscode.TestRunRequest>();

  constructor(private readonly folders: Folders) {
    const profile = (name: string, kind: vscode.TestRunProfileKind, way: Way, isDefault = false):
    vscode.TestRunProfile => this.controller.createRunProfile(
      name, kind, (request, token) => this.runProfile(request, token, way), isDefault, undefined,
      way === 'run');
    const run = profile('Run', vscode.TestRunProfileKind.Run, 'run', true);
    const coverage = profile('Coverage', vscode.TestRunProfileKind.Coverage, 'coverage', true);
    coverage.loadDetailedCoverage = (_run, file) =>
      Promise.resolve(this.covered.get(file)?.details ?? []);
    this.subscriptions.push(
      this.controller, run, coverage,
      profile('Run (thorough)', vscode.TestRunProfileKind.Run, 'thorough'),
      profile('Fuzz', vscode.TestRunProfileKind.Run, 'fuzz'),
      profile('Debug', vscode.TestRunProfileKind.Debug, 'debug', true),
      folders.onDidChange(({ folder, what }) => {
        if (what === 'project') this.update(folder);
      }),
      folders.onDidChangeList(() => this.updateAll()),
    );
    this.controller.refreshHandler = async () => {
      for (const folder of folders.all()) await folder.loadProject();
    };
  }

  /** With several folders, each is an item above its ops. */
  private rootOf(folder: Folder): vscode.TestItemCollection {
    if (this.folders.all().length <= 1) return this.controller.items;
    const id = `folder:${folder.root}`;
    let item = this.controller.items.get(id);
    if (!item) {
      item = this.controller.createTestItem(id, folder.name, folder.config);
      this.controller.items.add(item);
    }
    return item.children;
  }

  private updateAll(): void {
    const several = this.folders.all().length > 1;
    const wanted = new Set(this.folders.all().map((one) => `folder:${one.root}`));
    this.controller.items.forEach((item) => {
      const isFolder = item.id.startsWith('folder:');
      if (isFolder ? !several || !wanted.has(item.id) : several) {
        this.controller.items.delete(item.id);
      }
    });
    if (this.folders.all().length === 0) this.controller.items.replace([]);
    for (const folder of this.folders.all()) this.update(folder);
  }

  /** Items are kept by id, so that running tests keep their items. */
  private update(folder: Folder): void {
    const root = this.rootOf(folder);
    const ops = folder.project.ops.filter((one) => one.runnable);
    const names = new Set(ops.map((one) => one.name));
    root.forEach((item) => {
      if (!names.has(item.id) && !item.id.startsWith('folder:')) root.delete(item.id);
    });
    for (const op of ops) this.updateOp(folder, op, root);
  }

  private updateOp(folder: Folder, op: OpEntry, root: vscode.TestItemCollection): void {
    const range = new vscode.Range(
      Math.max(0, op.line - 1), 0, Math.max(0, (op.endLine ?? op.line) - 1), 1000);
    const ensure = (items: vscode.TestItemCollection, id: string, label: string, dtype?: string):
    vscode.TestItem => {
      let item = items.get(id);
      if (!item) {
        item = this.controller.createTestItem(id, label, vscode.Uri.file(op.file));
        items.add(item);
      }
      item.range = range;
      this.meant.set(item, { folder, op: op.name, dtype });
      return item;
    };
    const item = ensure(root, itemId(op.name), op.name);
    item.description = op.variants.length > 1 ? `${op.variants.length} variants` : undefined;
    const dtypes = op.dtypes.map(longName);
    item.children.forEach((child) => {
      if (!dtypes.some((dtype) => child.id === itemId(op.name, dtype))) {
        item.children.delete(child.id);
      }
    });
    for (const dtype of dtypes) {
      const child = ensure(item.children, itemId(op.name, dtype), dtype, dtype);
      if (op.variants.length < 2) continue;
      for (const variant of op.variants) {
        ensure(child.children, itemId(op.name, dtype, variant), variant, dtype);
      }
    }
  }

  /** The items of a request by folder, without excluded ones. */
  private selection(request: vscode.TestRunRequest): Map<Folder, vscode.TestItem[]> {
    const chosen = new Map<Folder, vscode.TestItem[]>();
    const excluded = new Set(request.exclude ?? []);
    const isPartial = (item: vscode.TestItem): boolean => {
      let found = false;
      item.children.forEach((child) => {
        found ||= excluded.has(child) || isPartial(child);
      });
      return found;
    };
    const add = (item: vscode.TestItem): void => {
      if (excluded.has(item)) return;
      const meant = this.meant.get(item);
      if (!meant || isPartial(item)) {
        item.children.forEach(add);
        return;
      }
      const list = chosen.get(meant.folder) ?? [];
      list.push(item);
      chosen.set(meant.folder, list);
    };
    if (request.include) request.include.forEach(add);
    else this.controller.items.forEach(add);
    return chosen;
  }

  private async runProfile(
    request: vscode.TestRunRequest, token: vscode.CancellationToken, way: Way,
  ): Promise<void> {
    if (request.continuous) {
      this.continuous.add(request);
      token.onCancellationRequested(() => this.continuous.delete(request));
      return;
    }
    const run = this.controller.createTestRun(request);
    // The run is cancelled by its own button or by the request.
    const source = new vscode.CancellationTokenSource();
    token.onCancellationRequested(() => source.cancel());
    run.token.onCancellationRequested(() => source.cancel());
    try {
      await Promise.all([...this.selection(request)].map(([folder, items]) =>
        this.runFolder(run, folder, items, way, source.token)));
    } finally {
      run.end();
      source.dispose();
    }
  }

  /** A continuous run executes the ops of a saved file. Returns true if it took them over. */
  async runContinuous(folder: Folder, ops: string[], token: vscode.CancellationToken):
  Promise<boolean> {
    for (const request of this.continuous) {
      const items = (this.selection(request).get(folder) ?? []).filter((item) =>
        ops.includes(this.meant.get(item)?.op ?? ''));
      if (items.length === 0) continue;
      const run = this.controller.createTestRun(
        new vscode.TestRunRequest(items, request.exclude, request.profile, true));
      try {
        await this.runFolder(run, folder, items, 'run', token);
      } finally {
        run.end();
      }
      return true;
    }
    return false;
  }

  private async runFolder(
    run: vscode.TestRun, folder: Folder, items: vscode.TestItem[], way: Way,
    token: vscode.CancellationToken,
  ): Promise<void> {
    if (way === 'debug') {
      await this.debug(run, folder, items);
      return;
    }
    const runOf = new RunOfItems(run, folder, this.leaves(items));
    if (way === 'coverage') {
      await this.runCoverage(run, folder, runOf, token);
      return;
    }
    const meant = items.map((item) => this.meant.get(item)!);
    const ops = [...new Set(meant.map((one) => one.op))];
    const whole = meant.every((one) => one.dtype === undefined);
    const dtypes = whole ? [] : [...new Set(meant.flatMap((one) =>
      one.dtype ? [one.dtype] : this.dtypesOf(folder, one.op)))];
    if (way === 'fuzz') {
      const problem = await this.execute(folder, { command: 'fuzz', ops }, runOf, token);
      runOf.finish(token.isCancellationRequested, problem);
      return;
    }
    const args = profileArguments(
      way === 'thorough' ? 'thorough' : folder.tool.setting('profile', 'default'));
    const problem = await this.execute(folder, { command: 'test', ops, dtypes, args }, runOf, token);
    runOf.finish(token.isCancellationRequested, problem);
  }

  private dtypesOf(folder: Folder, name: string): string[] {
    const op = folder.project.ops.find((one) => one.name === name);
    return op?.dtypes.map(longName) ?? [];
  }

  private async execute(
    folder: Folder, request: Parameters<Folder['run']>[0], runOf: RunOfItems,
    token: vscode.CancellationToken,
  ): Promise<string | undefined> {
    try {
      const { outcome } = await folder.run(request, token, (event) => {
        if (event.type === 'opStarted') runOf.started(event.op, event.dtype);
        if (event.type === 'caseFailed') runOf.output(`${failureLine(event.result, folder)}\n`);
        if (event.type === 'warning') runOf.output(`warning: ${event.message}\n`);
        if (event.type === 'opFinished') runOf.report(event.report);
      });
      outcome.report?.ops.forEach((report) => runOf.report(report));
      return outcome.problem;
    } catch (error) {
      return messageOf(error);
    }
  }

  private leaves(items: vscode.TestItem[]): Map<string, vscode.TestItem> {
    const found = new Map<string, vscode.TestItem>();
    const add = (item: vscode.TestItem): void => {
      found.set(item.id, item);
      item.children.forEach(add);
    };
    items.forEach(add);
    return found;
  }

  private async runCoverage(
    run: vscode.TestRun, folder: Folder, runOf: RunOfItems, token: vscode.CancellationToken,
  ): Promise<void> {
    const ops = [...new Set([...runOf.items.values()].map((item) => this.meant.get(item)!.op))];
    const kernels = new Set(ops.flatMap((name) => {
      const op = folder.project.ops.find((one) => one.name === name);
      return !op ? [] : op.variants.length > 0 ? op.variants : [op.name];
    }));
    const problem = await this.execute(folder, { command: 'test', ops }, runOf, token);
    for (const kernel of kernels) {
      if (token.isCancellationRequested) break;
      try {
        const value = await folder.tool.json(['coverage', '--kernel', kernel], token, 600_000);
        for (const one of coverageOf(value)) {
          this.covered.set(one.file, one);
          run.addCoverage(one.file);
        }
      } catch (error) {
        runOf.output(`coverage of ${kernel}: ${messageOf(error)}\n`);
      }
    }
    runOf.finish(token.isCancellationRequested, problem);
  }

  /** Opens the prompt of `gpuemu debug` at the newest failure of each selected op. */
  private async debug(run: vscode.TestRun, folder: Folder, items: vscode.TestItem[]):
  Promise<void> {
    for (const item of items) {
      const meant = this.meant.get(item)!;
      const failure = folder.failures.find((one) =>
        one.op === meant.op && (!meant.dtype || one.dtype === meant.dtype));
      if (failure) {
        try {
          await debugFailure(folder, failure.op, failure.seed);
          run.skipped(item);
        } catch (error) {
          run.errored(item, new vscode.TestMessage(messageOf(error)));
        }
      } else {
        run.errored(item, new vscode.TestMessage(
          `No failure of ${meant.op} is stored: run it first. Debug opens a failing case.`));
      }
    }
  }

  /** Marks the results of ops of a saved file as outdated. */
  invalidate(folder: Folder, ops: string[]): void {
    const items: vscode.TestItem[] = [];
    const root = this.folders.all().length <= 1 ? this.controller.items
      : this.controller.items.get(`folder:${folder.root}`)?.children;
    for (const op of ops) {
      const item = root?.get(op);
      if (item) items.push(item);
    }
    if (items.length > 0) this.controller.invalidateTestResults(items);
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
  }
}

function failureLine(result: CaseResult, folder: Folder): string {
  const message = shortened(result.findings[0]?.message ?? '', folder.root);
  return `[FAIL] ${result.op} ${result.dtype} (seed: ${result.seed}): ` +
    `[${kindOf(result)}] ${message}`;
}

/** The items of one run and their states so far: the worst state of an item is kept. */
class RunOfItems {
  private readonly open: Set<string>;
  private readonly failed = new Set<string>();
  private readonly begun = new Map<string, number>();

  constructor(
    private readonly run: vscode.TestRun, private readonly folder: Folder,
    readonly items: Map<string, vscode.TestItem>,
  ) {
    this.open = new Set(items.keys());
    // An item with children gets its state from them.
    for (const item of items.values()) if (item.children.size === 0) run.enqueued(item);
  }

  output(text: string, item?: vscode.TestItem): void {
    this.run.appendOutput(text.replace(/\r?\n/g, '\r\n'), undefined, item);
  }

  started(op: string, dtype: string): void {
    this.begun.set(itemId(op, dtype), performance.now());
    for (const id of [itemId(op, dtype), itemId(op)]) {
      const item = this.items.get(id);
      if (item && this.open.has(id) && item.children.size === 0) this.run.started(item);
    }
  }

  report(report: OpReport): void {
    const id = itemId(report.op, report.dtype);
    if (report.dtype === '') this.reportDtypes(report);
    const variant = itemId(report.op, report.dtype, report.kernel);
    // A variant that did not run has no verdict.
    const targets = [id, variant].filter((one) => this.open.delete(one))
      .map((one) => this.items.get(one)!);
    if (targets.length === 0) return;
    const verdict = verdictOf(report);
    // A streamed report has no times yet.
    const begun = this.begun.get(id);
    const timed = report.durationMs > 0 || begun === undefined ? report
      : { ...report, durationMs: performance.now() - begun };
    for (const target of targets) {
      if (target.children.size === 0) this.show(target, timed, verdict.state, verdict.reason);
    }
    this.output(`[${verdict.state}] ${report.op} ${report.dtype} ${counted(report.cases, 'case')}` +
      `${verdict.reason ? `: ${verdict.reason}` : ''}\n`, targets.at(-1));
  }

  /** Divides a report over all dtypes, of `fuzz`, by dtype: each has its own failures. */
  private reportDtypes(report: OpReport): void {
    this.items.get(itemId(report.op))?.children.forEach((child) => {
      if (!this.items.has(child.id)) return;
      const failures = report.failures.filter((one) => one.dtype === child.label);
      // Generated cases may not reach every dtype: one without a passing case has not passed.
      const passed = report.passedDtypes?.includes(child.label) ? report.passed : 0;
      this.report({ ...report, dtype: child.label, failures, failed: failures.length, passed });
    });
  }

  private show(
    item: vscode.TestItem, report: OpReport, state: string, reason: string | undefined,
  ): void {
    if (state === 'failed') {
      this.failed.add(item.id);
      const messages = report.failures.slice(0, 10).map((one) => this.messageOf(one));
      if (messages.length === 0) {
        messages.push(new vscode.TestMessage(someFail(report.failed, report.cases)));
      }
      this.run.failed(item, messages, report.durationMs);
    } else if (state === 'errored') {
      this.failed.add(item.id);
      this.run.errored(item, new vscode.TestMessage(reason ?? 'no verdict'), report.durationMs);
    } else if (state === 'skipped') {
      this.run.skipped(item);
    } else {
      this.run.passed(item, report.durationMs);
    }
  }

  private messageOf(result: CaseResult): vscode.TestMessage {
    const finding = result.findings[0];
    const line = failureLine(result, this.folder);
    const sides = expectedAndActual(result);
    const message = sides ? vscode.TestMessage.diff(line, sides[0], sides[1])
      : new vscode.TestMessage(line);
    if (finding) {
      const place = placeOf(
        finding, this.folder.entries().get(result.op), this.folder.root, this.folder.configFile);
      message.location = new vscode.Location(
        vscode.Uri.file(place.file), new vscode.Position(Math.max(0, place.line - 1), 0));
    }
    return message;
  }

  /** Ends items without a verdict: they are errored, or skipped if the run was cancelled. */
  finish(cancelled: boolean, problem: string | undefined): void {
    if (problem && !cancelled) this.output(`${problem}\n`);
    for (const id of this.open) {
      const item = this.items.get(id)!;
      if (item.children.size > 0) continue;
      // A variant that no case selected has no verdict.
      const isVariant = id.split('/').length > 2;
      if (cancelled || (isVariant && !problem)) this.run.skipped(item);
      else this.run.errored(item, new vscode.TestMessage(problem ?? 'the run did not reach it'));
    }
  }
}
