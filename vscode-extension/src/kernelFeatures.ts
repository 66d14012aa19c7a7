// Above and on kernels: CodeLens over ops and kernels, and what the compiler made of them on hover.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { kernelsIn } from './core/kernelText';
import { lintMarkdown, LintResult, readLint } from './core/lint';
import { OpEntry, projectOfText } from './core/ops';
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
  /** Measuring compiles: a kernel is measured once for each version of its source. */
  private readonly measured = new Map<string, Promise<LintResult | undefined>>();
  /** What the last comparison with a baseline told of each kernel. */
  readonly changes = new Map<string, string[]>();

  constructor(private readonly folders: Folders) {
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider(SOURCES, this),
      vscode.languages.registerHoverProvider(KERNELS, this),
      folders.onDidChange(({ what }) => {
        if (what === 'project') this.changed.fire();
      }),
      folders.onDidFinishRun(() => this.changed.fire()),
      vscode.workspace.onDidSaveTextDocument(() => this.measured.clear()),
    ];
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

  /** Ops with their kernels' lines in a source. */
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
    const result = await this.measure(folder, entry.name, token);
    if (!result) return undefined;
    const text = new vscode.MarkdownString(
      lintMarkdown(result, this.changes.get(entry.name)), true);
    return new vscode.Hover(text, new vscode.Range(
      kernel.line, kernel.column, kernel.line, kernel.column + kernel.name.length));
  }

  private measure(folder: Folder, kernel: string, token: vscode.CancellationToken):
  Promise<LintResult | undefined> {
    const key = `${folder.root}\0${kernel}`;
    let result = this.measured.get(key);
    if (!result) {
      result = folder.tool.json(['lint', '--kernel', kernel], token, 120_000)
        .then((value) => readLint(value).find((one) => one.kernel === kernel))
        .catch((error: unknown) => {
          this.measured.delete(key);
          log.info(`hover on ${kernel}: ${messageOf(error)}`);
          return undefined;
        });
      this.measured.set(key, result);
    }
    return result;
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
