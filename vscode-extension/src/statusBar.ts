// The one item of the status bar: daemon, last result, running job. A click shows what to do.

import * as vscode from 'vscode';
import { Folders } from './folders';
import { statusText } from './core/status';
import { RunSummary } from './core/verdict';

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'gpuemu.status', vscode.StatusBarAlignment.Left, 10);
  private readonly subscriptions: vscode.Disposable[];
  private last: RunSummary | undefined;

  constructor(private readonly folders: Folders) {
    this.item.name = 'gpuemu';
    this.item.command = 'gpuemu.showFailures';
    this.subscriptions = [
      folders.onDidChange(() => this.update()), folders.onDidChangeList(() => this.update()),
      folders.onDidFinishRun(({ folder }) => {
        this.last = folder.lastRun;
        this.update();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.update()),
    ];
    this.update();
  }

  private update(): void {
    const folders = this.folders.all();
    if (folders.length === 0) {
      this.item.hide();
      return;
    }
    const shown = statusText({
      trusted: vscode.workspace.isTrusted,
      daemon: folders.map((one) => one.status.state).find((one) => one !== 'stopped') ?? 'stopped',
      failures: folders.reduce((sum, one) => sum + one.failures.length, 0),
      problem: folders.map((one) => one.problem).find((one) => one !== undefined),
      jobs: folders.flatMap((one) => [...one.jobs]),
      last: this.last,
    });
    this.item.text = shown.text;
    this.item.tooltip = shown.tooltip;
    this.item.accessibilityInformation = { label: shown.accessible };
    this.item.backgroundColor = shown.broken
      ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
    for (const one of this.subscriptions) one.dispose();
  }
}
