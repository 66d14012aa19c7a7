// Finds the Python interpreter selected for a folder: from the Python extension, else from its setting.

import * as vscode from 'vscode';

interface Environments {
  getActiveEnvironmentPath?(scope: vscode.Uri): { path?: string } | undefined;
  onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
}

/** The Python extension may be missing, inactive, or of a version without this API. */
function environments(): Environments | undefined {
  const python = vscode.extensions.getExtension<{ environments?: Environments } | undefined>('ms-python.python');
  return python?.isActive ? python.exports?.environments : undefined;
}

export function interpreterOf(scope: vscode.Uri): string | undefined {
  const chosen = environments()?.getActiveEnvironmentPath?.(scope)?.path ??
    vscode.workspace.getConfiguration('python', scope).get<string>('defaultInterpreterPath');
  // A bare name such as "python" is looked up in PATH.
  return chosen?.includes('/') ? chosen : undefined;
}

/** Reports when another interpreter is selected. */
export class PythonWatch implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private following = false;

  constructor(private readonly onChange: () => void) {
    this.subscriptions = [vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('python.defaultInterpreterPath')) onChange();
    })];
  }

  /** Must be called repeatedly: the Python extension sends no event when it becomes active. */
  follow(): void {
    const changed = this.following ? undefined : environments()?.onDidChangeActiveEnvironmentPath;
    if (!changed) return;
    this.following = true;
    this.subscriptions.push(changed(() => this.onChange()));
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
  }
}
