// The Python interpreter that is chosen for a folder: what the Python extension says, else its setting.

import * as vscode from 'vscode';

interface Environments {
  getActiveEnvironmentPath?(scope: vscode.Uri): { path?: string } | undefined;
  onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
}

/** The Python extension may be absent, not active yet, or of a version without this. */
function environments(): Environments | undefined {
  const python = vscode.extensions.getExtension<{ environments?: Environments } | undefined>('ms-python.python');
  return python?.isActive ? python.exports?.environments : undefined;
}

export function interpreterOf(scope: vscode.Uri): string | undefined {
  const chosen = environments()?.getActiveEnvironmentPath?.(scope)?.path ??
    vscode.workspace.getConfiguration('python', scope).get<string>('defaultInterpreterPath');
  // A bare name, "python", is looked up in PATH like everything else.
  return chosen?.includes('/') ? chosen : undefined;
}

/** Tells when another interpreter is chosen. */
export class PythonWatch implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private following = false;

  constructor(private readonly onChange: () => void) {
    this.subscriptions = [vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('python.defaultInterpreterPath')) onChange();
    })];
  }

  /** To be called now and then: the Python extension tells nobody that it has become active. */
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
