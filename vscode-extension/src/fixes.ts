// Quick fixes for the problems that gpuemu reports.

import * as vscode from 'vscode';
import { hasOutputTolerance, roundedUp, toleranceEdit } from './core/edits';
import { Problem } from './core/problems';
import { shown } from './core/verdict';
import { Folder } from './folder';
import { GpuemuDiagnostic } from './problemsPanel';

export class Fixes implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix];

  provideCodeActions(
    document: vscode.TextDocument, _range: vscode.Range, context: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    return context.diagnostics.filter((one) => one.source === 'gpuemu')
      .flatMap((diagnostic) => this.of(document, diagnostic));
  }

  private of(document: vscode.TextDocument, diagnostic: vscode.Diagnostic): vscode.CodeAction[] {
    const known = this.find(document, diagnostic);
    if (!known?.problem || !known.folder) return [];
    const { problem, folder } = known;
    const action = (title: string, command: string): vscode.CodeAction => {
      const one = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
      one.diagnostics = [diagnostic];
      one.command = {
        command: `gpuemu.${command}`, title,
        arguments: [problem.seed, problem.op, folder.configFile],
      };
      return one;
    };
    const actions = [
      action('gpuemu: Reproduce Failure', 'reproduce'),
      action('gpuemu: Minimize Failure', 'minimize'),
      action('gpuemu: Explain Failure', 'explain'),
      action('gpuemu: Open Failure Details', 'openFailure'),
      action('gpuemu: Debug Failure', 'debugFailure'),
    ];
    const tolerance = problem.tolerance
      ? this.tolerance(problem, folder, diagnostic) : undefined;
    if (tolerance) actions.push(tolerance);
    actions.push(
      action('gpuemu: Keep as Regression', 'addRegression'),
      action('gpuemu: Suppress with Reason...', 'suppress'));
    return actions;
  }

  /** Finds this extension's diagnostic by message and line, because the editor passes copies. */
  private find(
    document: vscode.TextDocument, diagnostic: vscode.Diagnostic,
  ): GpuemuDiagnostic | undefined {
    if (diagnostic instanceof GpuemuDiagnostic) return diagnostic;
    return vscode.languages.getDiagnostics(document.uri).find((one): one is GpuemuDiagnostic =>
      one instanceof GpuemuDiagnostic && one.message === diagnostic.message &&
      one.range.start.line === diagnostic.range.start.line);
  }

  /** Returns the edit itself, so that the editor can preview and undo it. Never preferred. */
  private tolerance(problem: Problem, folder: Folder, diagnostic: vscode.Diagnostic):
  vscode.CodeAction | undefined {
    if (!(problem.maxDiff > 0) || problem.maxDiff > 1e300) return undefined;
    const document = vscode.workspace.textDocuments.find(
      (one) => one.uri.toString() === folder.config.toString());
    const title = `gpuemu: Adjust Tolerance to ${roundedUp(problem.maxDiff)}, ` +
      `measured ${shown(problem.maxDiff)} (weakens the check)`;
    const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
    action.diagnostics = [diagnostic];
    action.isPreferred = false;
    // If it cannot be changed, a command says why.
    const edit = document && !hasOutputTolerance(document.getText(), problem.op) && toleranceEdit(
      document.getText(), problem.op, problem.dtype, problem.maxDiff);
    if (document && edit) {
      action.edit = new vscode.WorkspaceEdit();
      action.edit.replace(folder.config, new vscode.Range(
        document.positionAt(edit.start), document.positionAt(edit.end)), edit.text);
    } else {
      action.command = {
        command: 'gpuemu.adjustTolerance', title,
        arguments: [problem.seed, problem.op, folder.configFile],
      };
    }
    return action;
  }
}
