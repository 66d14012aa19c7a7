// CodeLens above ops and kernels, and compiled metrics when hovering over a kernel.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { kernelsIn } from './core/kernelText';
import { lintMarkdown, readBaseline, readLint, resultsOf } from './core/lint';
import { OpEntry, projectOfText } from './core/ops';
import { listAt, textAt } from './core/json';
import { Folder } from './folder';
import { Folders } from './folders';
import * as log from './log';
import { messageOf } from './tool';

const SOURCES: vscode.DocumentSelector = [
  { pattern: '**/gpuemu.toml', scheme: 'file' }, { pattern: '**/*.{cu,cuh,py}', scheme: 'file' }];
const KERNELS: vscode.DocumentSelector = { pattern: '**/*.{cu,cuh,py}', scheme: 'file' };

export class KernelFeatures implements vscode.CodeLensProvider, vscode.HoverProvider,
  vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  /** Measuring needs compilation, so a kernel is measured once for each version of its source. */
  private readonly measured = new Map<string, Promise<string | undefined>>();
  /** The baseline with which a folder was last compared, by the folder's root. */
  private readonly baselines = new Map<string, string>();

  constructor(private readonly folders: Folders) {
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider(SOURCES, this),
      vscode.languages.registerHoverProvider(KERNELS, this),
      folders.onDidChange(({ what }) => {
        if (what === 'project') this.changed.fire();
      }),
      folders.onDidFinishRun(() => this.changed.fire()),
      vscode.workspace.onDidSaveTextDocument(() => this.measured.clear()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('gpuemu.codeLens')) this.changed.fire();
      }),
    ];
  }

  /** Sets the baseline that hovers compare with from now on. */
  compared(folder: Folder, tag: string): void {
    this.baselines.set(folder.root, tag);
    this.measured.clear();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const folder = this.folders.of(document.uri) ?? this.folders.ofConfig(document.uri.fsPath);
    if (!folder || !folder.tool.setting('codeLens', true)) return [];
    if (document.uri.fsPath === folder.configFile) return this.configLenses(folder, document);
    return this.opsIn(folder, document).flatMap(({ line, op }) =>
      lensesOf(folder, op, new vscode.Range(line, 0, line, 0)));
  }

  private configLenses(folder: Folder, document: vscode.TextDocument): vscode.CodeLens[] {
    const project = projectOfText(document.getText(), folder.configFile);
    return project.ops.filter((one) => one.runnable).flatMap((op) =>
      lensesOf(folder, op, new vscode.Range(op.line - 1, 0, op.line - 1, 0)));
  }

  /** Ops with the lines of their kernels in a source. */
  private opsIn(folder: Folder, document: vscode.TextDocument): { line: number; op: OpEntry }[] {
    const file = document.uri.fsPath;
    const kernels = kernelsIn(file, document.getText());
    return kernels.flatMap((kernel) => {
      const named = (op: OpEntry): boolean =>
        op.entries.includes(kernel.name) || (op.entries.length === 0 && op.name === kernel.name);
      const here = folder.project.ops.filter((op) => op.runnable && named(op) &&
        (op.files.includes(file) || path.extname(file) === '.py'));
      return here.map((op) => ({ line: kernel.line, op }));
    });
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position,
    token: vscode.CancellationToken): Promise<vscode.Hover | undefined> {
    const folder = this.folders.of(document.uri);
    if (!folder || !vscode.workspace.isTrusted) return undefined;
    const kernel = kernelsIn(document.uri.fsPath, document.getText()).find((one) =>
      one.line === position.line && position.character >= one.column &&
      position.character <= one.column + one.name.length);
    if (!kernel) return undefined;
    const entry = folder.project.kernels.find((one) =>
      one.entries.includes(kernel.name) || one.name === kernel.name);
    if (!entry) return undefined;
    const text = await this.measure(folder, entry.name, kernel.name, token);
    if (text === undefined) return undefined;
    return new vscode.Hover(new vscode.MarkdownString(text, true), new vscode.Range(
      kernel.line, kernel.column, kernel.line, kernel.column + kernel.name.length));
  }

  private measure(folder: Folder, kernel: string, entry: string, token: vscode.CancellationToken):
  Promise<string | undefined> {
    const key = `${folder.root}\0${kernel}\0${entry}`;
    let text = this.measured.get(key);
    if (!text) {
      text = this.measureNow(folder, kernel, entry, token).catch((error: unknown) => {
        this.measured.delete(key);
        log.info(`hover on ${entry}: ${messageOf(error)}`);
        return undefined;
      });
      this.measured.set(key, text);
    }
    return text;
  }

  private async measureNow(
    folder: Folder, kernel: string, entry: string, token: vscode.CancellationToken,
  ): Promise<string | undefined> {
    const value = await folder.tool.json(['lint', '--kernel', kernel], token, 120_000);
    const all = resultsOf(readLint(value), kernel);
    // With several entries, use the one under the pointer.
    const own = all.filter((one) => one.kernel.slice(kernel.length + 1).replace(/<.*$/, '') === entry);
    const results = own.length > 0 ? own : all;
    return results.length === 0 ? undefined
      : lintMarkdown(results, await this.baselineOf(folder, token));
  }

  /** The stored metrics of the last compared baseline, else of the only one. */
  private async baselineOf(folder: Folder, token: vscode.CancellationToken):
  Promise<{ tag: string; kernels: ReturnType<typeof readBaseline> } | undefined> {
    const list = await folder.tool.json(['baseline', 'list'], token);
    const tags = listAt(list, 'baselines').map((one) => textAt(one, 'tag') ?? '');
    const last = this.baselines.get(folder.root);
    const tag = last !== undefined && tags.includes(last) ? last
      : tags.length === 1 ? tags[0] : undefined;
    if (tag === undefined) return undefined;
    const value = await folder.tool.json(
      ['diff', '--baseline', tag, '--stored', '--no-fail'], token, 120_000);
    return { tag, kernels: readBaseline(value) };
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
    this.changed.dispose();
  }
}

function lensesOf(folder: Folder, op: OpEntry, range: vscode.Range): vscode.CodeLens[] {
  const lens = (title: string, command: string, args: unknown[], tooltip: string): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, command, arguments: args, tooltip });
  const kernel = op.variants[0] ?? op.name;
  const failing = folder.failures.filter((one) => one.op === op.name).length;
  const lenses = [
    lens('Run', 'gpuemu.runTests', [op.name, folder.configFile], `gpuemu test ${op.name}`),
    lens('Fuzz', 'gpuemu.fuzzOp', [op.name, folder.configFile], `gpuemu fuzz ${op.name}`),
    lens('Lint', 'gpuemu.lintKernel', [kernel, folder.configFile], `gpuemu lint -k ${kernel}`),
  ];
  if (failing > 0) {
    lenses.push(lens(`${failing} failing`, 'gpuemu.showFailures', [], `Failures of ${op.name}`));
  }
  return lenses;
}
