// Commands for one failure: the next steps offered by quick fixes, rows and the details page.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { hasOutputTolerance, suppressionEdit, TextEdit, toleranceEdit } from './core/edits';
import { Json, objectAt, seedAt, textAt, textsAt } from './core/json';
import { dependsOnTolerance } from './core/kinds';
import { readCase } from './core/records';
import { kindOf } from './core/verdict';
import { DetailsPanel, failureDocument, reproduceArguments, sentencesOf } from './detailsPanel';
import { Chosen, chooseFailure, opArguments } from './failurePick';
import { Folder } from './folder';
import { Folders } from './folders';
import { debugFailure } from './terminal';
import { showError, ToolError } from './tool';

const LONG_MS = 1_800_000;

export class FailureCommands {
  constructor(private readonly folders: Folders, private readonly details: DetailsPanel) {}

  register(context: vscode.ExtensionContext): void {
    const add = (name: string, title: string, work: (chosen: Chosen) => Promise<void>): void => {
      context.subscriptions.push(vscode.commands.registerCommand(
        `gpuemu.${name}`, async (...args: unknown[]) => {
          try {
            const chosen = await chooseFailure(this.folders, args, title);
            if (chosen) await work(chosen);
          } catch (error) {
            showError(title, error);
          }
        }));
    };
    add('reproduce', 'Reproduce Failure', (one) => this.reproduce(one));
    add('minimize', 'Minimize Failure', (one) => this.minimize(one));
    add('explain', 'Explain Failure', (one) => this.explain(one));
    add('debugFailure', 'Debug Failure', (one) => debugFailure(one.folder, one.op, one.seed));
    add('exportFailure', 'Export Failure', (one) => this.export(one));
    add('adjustTolerance', 'Adjust Tolerance', (one) => this.adjustTolerance(one));
    add('addRegression', 'Keep as Regression', (one) => this.addRegression(one));
    add('suppress', 'Suppress with Reason', (one) => this.suppress(one));
    add('deleteFailure', 'Forget Failure', (one) => this.forget(one));
    add('openFailure', 'Open Failure Details', (one) =>
      this.details.open(one.folder, one.op, one.seed));
  }

  private json(chosen: Chosen, args: string[], title: string): Promise<Json> {
    return Promise.resolve(vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, cancellable: true,
        title: `${title} ${chosen.op} (seed ${chosen.seed})` },
      async (_progress, token) => {
        return chosen.folder.enqueue(() => chosen.folder.tool.json(args, token, LONG_MS));
      }));
  }

  private async reproduce(chosen: Chosen): Promise<void> {
    const value = await this.json(chosen, reproduceArguments(chosen.seed, chosen.op), 'Reproducing');
    const now = readCase(objectAt(value, 'result'), chosen.result?.dtype);
    await this.details.open(chosen.folder, now.op, chosen.seed, value);
    await chosen.folder.loadFailures();
    if (now.passed) {
      void vscode.window.showInformationMessage(`${now.op} with seed ${chosen.seed} passes now.`);
    }
  }

  private async minimize(chosen: Chosen): Promise<void> {
    const value = await this.json(chosen, ['minimize', chosen.seed, ...opArguments(chosen)], 'Minimizing');
    const seed = seedAt(value, 'minimized_seed');
    const result = objectAt(value, 'result');
    if (seed === undefined || !result) throw new ToolError('the answer has no minimized case');
    const smaller = { ...readCase(result, chosen.result?.dtype), seed };
    chosen.folder.addFailure(smaller);
    const simpler = textsAt(value, 'simplified');
    this.details.setExplained(smaller.op, seed, simpler.map((one) => `simpler: ${one}`));
    await this.details.open(chosen.folder, smaller.op, seed);
    await chosen.folder.loadFailures();
  }

  private async explain(chosen: Chosen): Promise<void> {
    const value = await this.json(chosen, ['explain', chosen.seed, ...opArguments(chosen)], 'Explaining');
    const op = textAt(value, 'op_name') ?? chosen.op;
    this.details.setExplained(op, chosen.seed, sentencesOf(value));
    await this.details.open(chosen.folder, op, chosen.seed);
    const document = await vscode.workspace.openTextDocument(failureDocument(op, chosen.seed));
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  }

  private async export(chosen: Chosen, parent = ''): Promise<void> {
    const folder = path.join(
      chosen.folder.root, parent, parent === '' ? `gpuemu-export-${chosen.seed}`
        : `${chosen.op}-${chosen.seed}`);
    await this.json(
      chosen, ['export', chosen.seed, '--output', folder, ...opArguments(chosen)], 'Exporting');
    const readme = vscode.Uri.file(path.join(folder, 'README.md'));
    await vscode.window.showTextDocument(readme, { preview: true });
  }

  /** `gpuemu ci` runs stored failures again; a folder of the repository outlives the database. */
  private async addRegression(chosen: Chosen): Promise<void> {
    await this.export(chosen, 'regressions');
  }

  private async adjustTolerance(chosen: Chosen): Promise<void> {
    const { result } = chosen;
    if (!result || !dependsOnTolerance(kindOf(result))) {
      throw new ToolError('no tolerance decides this finding');
    }
    const measured = result.maxDiff;
    if (!(measured > 0) || measured > 1e300) {
      throw new ToolError('the largest difference is not finite, which no tolerance covers');
    }
    await this.edit(chosen.folder, (text) => {
      if (hasOutputTolerance(text, result.op)) {
        throw new ToolError(`an output of ${result.op} has a tolerance of its own in gpuemu.toml, which wins: change it there`);
      }
      return toleranceEdit(text, result.op, result.dtype, measured);
    },
      result.op, 'Adjust Tolerance');
  }

  private async suppress(chosen: Chosen): Promise<void> {
    const { result } = chosen;
    if (!result) throw new ToolError('nothing is known of this failure');
    const kind = kindOf(result);
    const reason = await vscode.window.showInputBox({
      title: `Suppress ${kind} of ${result.op} ${result.dtype}`,
      prompt: 'Why it may stay. It is written above the op; the command line goes on to fail.',
      validateInput: (text) => (text.trim() === '' ? 'A reason is needed.' : undefined),
    });
    if (reason === undefined) return;
    await this.edit(chosen.folder, (text) => suppressionEdit(
      text, { op: result.op, kind, dtype: result.dtype, reason }), result.op, 'Suppress');
    await chosen.folder.loadProject();
  }

  /** Makes an edit that can be undone and shows it unsaved, so that the user can check it first. */
  private async edit(
    folder: Folder, make: (text: string) => TextEdit | undefined, op: string, label: string,
  ): Promise<void> {
    const document = await vscode.workspace.openTextDocument(folder.config);
    const edit = make(document.getText());
    if (!edit) throw new ToolError(`${op} has no entry of its own in gpuemu.toml`);
    const range = new vscode.Range(
      document.positionAt(edit.start), document.positionAt(edit.end));
    const change = new vscode.WorkspaceEdit();
    change.replace(folder.config, range, edit.text, { needsConfirmation: false, label });
    await vscode.workspace.applyEdit(change);
    const editor = await vscode.window.showTextDocument(document);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenter);
    editor.selection = new vscode.Selection(range.start, range.start);
  }

  private async forget(chosen: Chosen): Promise<void> {
    await chosen.folder.tool.json(['failures', '--delete', chosen.seed, ...opArguments(chosen)]);
    await chosen.folder.loadFailures();
  }
}
