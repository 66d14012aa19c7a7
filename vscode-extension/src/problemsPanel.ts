// Failures and errors of gpuemu.toml in the Problems panel.

import * as vscode from 'vscode';
import { isSuppressed } from './core/edits';
import { Problem, problemsOf, suffixOf } from './core/problems';
import { readConfigProblems } from './core/records';
import { Folder } from './folder';
import { Folders } from './folders';
import * as log from './log';
import { messageOf } from './tool';

/** A diagnostic with its problem, for the quick fixes. */
export class GpuemuDiagnostic extends vscode.Diagnostic {
  problem?: Problem;
  folder?: Folder;
}

const SEVERITIES = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  information: vscode.DiagnosticSeverity.Information,
};

export const kindPage = (kind: string): vscode.Uri =>
  vscode.Uri.from({ scheme: 'gpuemu', path: `/kind/${kind}.md` });

/** The text of a line without surrounding blanks; the first line of the file for line 0. */
function lineRange(file: string, line: number): vscode.Range {
  const at = Math.max(0, line - 1);
  // An older version of the file, with the scheme `git`, has the same path.
  const open = vscode.workspace.textDocuments.find((one) => one.uri.scheme === 'file' && one.uri.fsPath === file);
  if (!open || at >= open.lineCount) return new vscode.Range(at, 0, at, line > 0 ? 1000 : 0);
  const text = open.lineAt(at);
  return new vscode.Range(at, text.firstNonWhitespaceCharacterIndex, at, text.text.length);
}

export class ProblemsPanel implements vscode.Disposable {
  private readonly failures = vscode.languages.createDiagnosticCollection('gpuemu');
  private readonly config = vscode.languages.createDiagnosticCollection('gpuemu.toml');
  private readonly files = new Map<Folder, Map<string, GpuemuDiagnostic[]>>();
  /** The contents of the panel by file: the editor closes an open menu of fixes at each change. */
  private readonly drawn = new Map<string, string>();
  /** When files were edited whose ops have not run since: their problems may be outdated. */
  private readonly edited = new Map<string, number>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly due = new Set<Folder>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly folders: Folders) {
    this.subscriptions.push(
      folders.onDidChange(({ folder, what }) => {
        if (what === 'failures' || what === 'project') this.schedule(folder);
      }),
      folders.onDidFinishRun(({ folder }) => this.forgetEdits(folder)),
      folders.onDidChangeList(() => {
        for (const folder of this.files.keys()) {
          if (!folders.all().includes(folder)) this.clear(folder);
        }
      }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && document.uri.scheme === 'file') this.markEdited(document.uri.fsPath);
      }),
    );
  }

  /** Combines many failures in a short time into one update. */
  private schedule(folder: Folder): void {
    this.due.add(folder);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const due = [...this.due];
      this.due.clear();
      for (const one of due) if (this.folders.all().includes(one)) this.show(one);
    }, 50);
  }

  private show(folder: Folder): void {
    const byFile = new Map<string, GpuemuDiagnostic[]>();
    const problems = problemsOf(
      folder.failures, folder.entries(), folder.root, folder.configFile);
    for (const problem of problems) {
      const list = byFile.get(problem.place.file) ?? [];
      list.push(this.diagnosticOf(problem, folder));
      byFile.set(problem.place.file, list);
    }
    const before = this.files.get(folder)?.keys() ?? [];
    this.files.set(folder, byFile);
    this.draw([...before, ...byFile.keys()]);
  }

  /** Several folders may have problems in one file, for example in a shared header. */
  private draw(files: string[]): void {
    const lists = [...new Set(files)].map((file): [string, GpuemuDiagnostic[]] =>
      [file, [...this.files.values()].flatMap((byFile) => byFile.get(file) ?? [])]);
    this.failures.set(lists.filter(([file, list]) => this.isNew(file, list))
      .map(([file, list]) => [vscode.Uri.file(file), list.length > 0 ? list : undefined]));
  }

  private isNew(file: string, list: GpuemuDiagnostic[]): boolean {
    const text = list.length === 0 ? undefined : JSON.stringify(list.map((one) =>
      [one.range, one.message, one.severity, one.problem]));
    if (this.drawn.get(file) === text) return false;
    if (text === undefined) this.drawn.delete(file);
    else this.drawn.set(file, text);
    return true;
  }

  private diagnosticOf(problem: Problem, folder: Folder): GpuemuDiagnostic {
    const suppressed = isSuppressed(folder.suppressions, problem.op, problem.kind, problem.dtype);
    const stale = this.edited.has(problem.place.file) ? ' (edited since)' : '';
    const why = suppressed ? ` (suppressed: ${suppressed.reason})` : '';
    const one = new GpuemuDiagnostic(
      lineRange(problem.place.file, problem.place.line),
      problem.message + suffixOf(problem) + why + stale,
      suppressed ? vscode.DiagnosticSeverity.Hint
        : stale ? vscode.DiagnosticSeverity.Information : SEVERITIES[problem.severity],
    );
    one.source = 'gpuemu';
    one.code = { value: problem.kind, target: kindPage(problem.kind) };
    one.relatedInformation = problem.related.map((related) =>
      new vscode.DiagnosticRelatedInformation(
        new vscode.Location(
          vscode.Uri.file(related.place.file), lineRange(related.place.file, related.place.line)),
        related.message));
    one.problem = problem;
    one.folder = folder;
    return one;
  }

  /** Problems of an edited file may be outdated: lowers their severity until the next run. */
  private markEdited(file: string): void {
    const known = this.edited.has(file);
    this.edited.set(file, Date.now());
    if (known) return;
    for (const [folder, files] of this.files) if (files.has(file)) this.schedule(folder);
  }

  /** The results of a run hold for the files of its ops as they were when it began. */
  private forgetEdits(folder: Folder): void {
    const run = folder.lastRun;
    if (!run || run.cancelled || run.errored > 0) return;
    const begun = Date.now() - run.durationMs;
    const files = folder.project.ops.filter((op) => run.ops.includes(op.name))
      .flatMap((op) => op.files);
    const unsaved = new Set(vscode.workspace.textDocuments.filter((one) => one.isDirty)
      .map((one) => one.uri.fsPath));
    for (const file of [...files, folder.configFile]) {
      if (unsaved.has(file)) continue;
      if ((this.edited.get(file) ?? Infinity) < begun) this.edited.delete(file);
    }
    this.schedule(folder);
  }

  /** The tool's own errors for the text in the editor: `text` is checked as a copy. */
  async checkConfig(folder: Folder, file: string, shownAs: vscode.Uri): Promise<void> {
    try {
      if (!(await folder.tool.find())) return;
      const value = await folder.tool.json(['--config', file, 'config', 'check']);
      const problems = readConfigProblems(value);
      this.config.set(shownAs, problems.map((problem) => {
        const start = new vscode.Position(
          Math.max(0, problem.line - 1), Math.max(0, problem.column - 1));
        const end = problem.endColumn
          ? new vscode.Position(
            Math.max(0, (problem.endLine || problem.line) - 1), problem.endColumn - 1)
          : start.translate(0, 1);
        const key = problem.key === '' ? '' : `${problem.key}: `;
        const one = new vscode.Diagnostic(
          new vscode.Range(start, end), key + problem.message,
          problem.warning ? vscode.DiagnosticSeverity.Warning : vscode.DiagnosticSeverity.Error);
        one.source = 'gpuemu';
        one.code = 'config';
        return one;
      }));
    } catch (error) {
      log.warn(`config check: ${messageOf(error)}`);
    }
  }

  /** True if the panel shows an error in gpuemu.toml. */
  hasConfigProblems(folder: Folder): boolean {
    return (this.config.get(folder.config)?.length ?? 0) > 0;
  }

  private clear(folder: Folder): void {
    const before = [...this.files.get(folder)?.keys() ?? []];
    this.files.delete(folder);
    this.draw(before);
    this.config.delete(folder.config);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.failures.dispose();
    this.config.dispose();
    for (const one of this.subscriptions) one.dispose();
  }
}
