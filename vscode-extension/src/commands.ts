// Commands of a folder: runs, the daemon, the program, reports.

import * as vscode from 'vscode';
import { lintSentence, readChanges, readLint } from './core/lint';
import { flagAt, listAt, textAt } from './core/json';
import { shortened } from './core/problems';
import { profileArguments } from './core/settings';
import { counted } from './core/words';
import { DetailsPanel } from './detailsPanel';
import { Folder, RunRequest } from './folder';
import { Folders } from './folders';
import { KernelFeatures } from './kernelFeatures';
import * as log from './log';
import { offerProgram, showError, Tool, ToolError, whyFailed } from './tool';

const LONG_MS = 1_800_000;

export class Commands {
  constructor(
    private readonly folders: Folders, private readonly kernels: KernelFeatures,
    private readonly details: DetailsPanel,
  ) {}

  register(context: vscode.ExtensionContext): void {
    const add = (name: string, work: (...args: unknown[]) => Promise<unknown> | unknown): void => {
      context.subscriptions.push(vscode.commands.registerCommand(
        `gpuemu.${name}`, async (...args: unknown[]) => {
          try {
            return await work(...args);
          } catch (error) {
            showError('gpuemu', error);
            return undefined;
          }
        }));
    };
    add('init', (folder) => this.init(folder));
    add('runTests', (op, config) => this.runTests(op, config, false));
    add('runQuickTests', (op, config) => this.runTests(op, config, true));
    add('fuzzOp', (op, config) => this.fuzz(op, config));
    add('showFailures', () => vscode.commands.executeCommand('gpuemu.failures.focus'));
    add('refreshFailures', () => this.forAll((one) => one.loadFailures()));
    add('lintKernel', (kernel, config) => this.lint(kernel, config));
    add('showBaselineDiff', (kernel, config) => this.diff(kernel, config));
    add('startDaemon', () => this.startDaemon());
    add('stopDaemon', () => this.stopDaemon());
    add('selectBinary', () => this.selectBinary());
    add('showLogs', () => log.showLog());
    add('openReport', () => this.openReport());
    add('cancel', (node) => this.cancel(node));
  }

  private async forAll(work: (folder: Folder) => Promise<unknown>): Promise<void> {
    await Promise.all(this.folders.all().map(work));
  }

  private async folderOf(config: unknown): Promise<Folder> {
    const folder = typeof config === 'string' ? this.folders.ofConfig(config)
      : await this.folders.choose();
    if (!folder) throw new ToolError('no folder here has a gpuemu.toml');
    return folder;
  }

  private async init(where: unknown): Promise<void> {
    const given = where instanceof vscode.Uri ? where
      : typeof where === 'string' ? vscode.Uri.file(where)
        : (await this.chooseWorkspaceFolder())?.uri;
    if (!given) return;
    const tool = new Tool(given.fsPath, given);
    const ended = await tool.run(['init', '--target-dir', given.fsPath]);
    if (ended.code !== 0) throw new ToolError(whyFailed(ended, 'gpuemu.toml was not created'));
    await this.folders.discover();
    await vscode.window.showTextDocument(vscode.Uri.joinPath(given, 'gpuemu.toml'));
  }

  private async chooseWorkspaceFolder(): Promise<vscode.WorkspaceFolder | undefined> {
    const all = vscode.workspace.workspaceFolders ?? [];
    if (all.length === 0) throw new ToolError('open a folder first');
    return all.length === 1 ? all[0] : vscode.window.showWorkspaceFolderPick();
  }

  private async runTests(op: unknown, config: unknown, quick: boolean): Promise<void> {
    const all = typeof config !== 'string' && typeof op !== 'string';
    const folders = all ? this.folders.all() : [await this.folderOf(config)];
    if (folders.length === 0) throw new ToolError('no folder here has a gpuemu.toml');
    for (const folder of folders) {
      const args = profileArguments(quick ? 'quick' : folder.tool.setting('profile', 'default'));
      const ops = typeof op === 'string' ? [op] : [];
      await this.run(folder, { command: 'test', ops, args }, ops[0] ?? 'all ops');
    }
  }

  private async fuzz(op: unknown, config: unknown): Promise<void> {
    const folder = await this.folderOf(config);
    const name = typeof op === 'string' ? op : await vscode.window.showQuickPick(
      folder.project.ops.filter((one) => one.runnable).map((one) => one.name),
      { title: 'Which op?' });
    if (name === undefined) return;
    await this.run(folder, { command: 'fuzz', ops: [name], args: ['--iterations', '1000'] }, name);
  }

  /** Shows progress where it does not cover anything; shows the run's own problem once. */
  private async run(folder: Folder, request: RunRequest, what: string): Promise<void> {
    const title = `gpuemu ${request.command} ${what}`;
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title, cancellable: true },
      async (progress, token) => {
        let done = 0;
        const { outcome, summary } = await folder.run(request, token, (event) => {
          if (event.type !== 'progress' || event.total === 0) return;
          const share = 100 * event.done / event.total;
          const failed = event.failures > 0 ? `, ${event.failures} failed` : '';
          progress.report({
            increment: share - done, message: `${event.done} of ${counted(event.total, 'case')}${failed}`,
          });
          done = share;
        });
        if (!outcome.problem || summary.cancelled) return;
        if (folder.trouble === 'program') {
          void offerProgram(outcome.problem);
          return;
        }
        const why = shortened(outcome.problem, folder.root);
        void vscode.window.showErrorMessage(`${title}: ${why}`, 'Show Logs').then(
          (choice) => choice && log.showLog());
      });
  }

  private async lint(kernel: unknown, config: unknown): Promise<void> {
    const folder = await this.folderOf(config);
    const name = typeof kernel === 'string' ? kernel : await vscode.window.showQuickPick(
      folder.project.kernels.map((one) => one.name), { title: 'Which kernel?' });
    if (name === undefined) return;
    const value = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `gpuemu lint ${name}` },
      () => folder.tool.json(['lint', '--kernel', name], undefined, LONG_MS));
    const results = readLint(value);
    if (results.length === 0) {
      throw new ToolError(textAt(value, 'message') ?? `kernel ${name} was not measured`);
    }
    const text = results.map(lintSentence).join(' | ');
    if (results.every((one) => one.passed)) void vscode.window.showInformationMessage(text);
    else void vscode.window.showWarningMessage(text);
  }

  private async diff(kernel: unknown, config: unknown): Promise<void> {
    const folder = await this.folderOf(config);
    const list = await folder.tool.json(['baseline', 'list']);
    const tags = listAt(list, 'baselines').map((one) => textAt(one, 'tag') ?? '');
    if (tags.length === 0) {
      await this.saveBaseline(folder);
      return;
    }
    const tag = tags.length === 1 ? tags[0]! : await vscode.window.showQuickPick(
      tags, { title: 'Compare with which baseline?' });
    if (tag === undefined) return;
    const value = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `gpuemu diff --baseline ${tag}` },
      () => folder.tool.json(['diff', '--baseline', tag, '--no-fail'], undefined, LONG_MS));
    const changes = readChanges(value);
    this.kernels.compared(folder, tag);
    const lines = [`# Compared with baseline ${tag}`, ''];
    for (const [name, changed] of changes) {
      if (typeof kernel === 'string' && kernel !== name && !name.startsWith(`${kernel}:`)) continue;
      lines.push(`## ${name}`, '', ...(changed.length > 0
        ? changed.map((one) => `- ${one}`) : ['- no number changed']), '');
    }
    const regressed = listAt(value, 'comparisons').filter((one) => flagAt(one, 'is_regression'));
    lines.push(`${counted(regressed.length, 'result')} got worse.`);
    await this.details.show(`/baseline/${tag}.md`, lines.join('\n'));
  }

  private async saveBaseline(folder: Folder): Promise<void> {
    const choice = await vscode.window.showInformationMessage(
      'There is no baseline yet.', 'Save One Now');
    if (choice === undefined) return;
    const ended = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: 'gpuemu baseline save editor', cancellable: true },
      (_progress, token) => folder.tool.run(['baseline', 'save', 'editor'], token, LONG_MS));
    if (ended.cancelled) return;
    if (ended.code !== 0) throw new ToolError(whyFailed(ended, 'the baseline was not saved'));
    void vscode.window.showInformationMessage('Saved as baseline "editor".');
  }

  private async startDaemon(): Promise<void> {
    const folder = await this.folderOf(undefined);
    const ended = await folder.tool.run(['daemon', 'start', '--background']);
    await this.forAll((one) => one.loadStatus());
    if (ended.code !== 0) throw new ToolError(whyFailed(ended, 'the daemon did not start'));
  }

  private async stopDaemon(): Promise<void> {
    const folder = await this.folderOf(undefined);
    const ended = await folder.tool.run(['daemon', 'stop']);
    await this.forAll((one) => one.loadStatus());
    if (ended.code !== 0) throw new ToolError(whyFailed(ended, 'the daemon did not stop'));
  }

  private async selectBinary(): Promise<void> {
    const chosen = await vscode.window.showOpenDialog({
      title: 'Select gpuemu Binary', canSelectMany: false, openLabel: 'Use This',
      defaultUri: vscode.Uri.file('/usr/local/bin'),
    });
    if (!chosen?.[0]) return;
    const target = vscode.workspace.workspaceFolders
      ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
    await vscode.workspace.getConfiguration('gpuemu').update(
      'binaryPath', chosen[0].fsPath, target);
  }

  private async openReport(): Promise<void> {
    const folder = await this.folderOf(undefined);
    const ended = await folder.tool.run(['report', '--format', 'html'], undefined, LONG_MS);
    if (ended.code !== 0 || ended.output.trim() === '') {
      throw new ToolError(whyFailed(ended, 'there is nothing to report'));
    }
    const panel = vscode.window.createWebviewPanel(
      'gpuemu.report', `${folder.name}: report`, vscode.ViewColumn.Active,
      { enableScripts: false, localResourceRoots: [], enableFindWidget: true });
    // The page contains its style and pictures and no scripts; the policy allows nothing else.
    const policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ' +
      'style-src \'unsafe-inline\'; img-src data:">';
    panel.webview.html = ended.output.replace(/<head>/i, `<head>${policy}`);
  }

  private cancel(node: unknown): void {
    const job = (node as { job?: { cancel(): void } } | undefined)?.job;
    if (job) {
      job.cancel();
      return;
    }
    for (const folder of this.folders.all()) for (const one of folder.jobs) one.cancel();
  }
}

