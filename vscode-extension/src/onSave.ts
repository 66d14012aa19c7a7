// Validates on save: runs the ops of a saved file after a pause; only the latest request runs.

import * as vscode from 'vscode';
import { Latest } from './core/latest';
import { affectedOps } from './core/ops';
import { profileArguments } from './core/settings';
import { Folder } from './folder';
import { Folders } from './folders';
import * as log from './log';
import { Testing } from './testing';
import { messageOf } from './tool';

export class OnSave implements vscode.Disposable {
  private readonly queues = new Map<Folder, Latest<Set<string>>>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly folders: Folders, private readonly testing: Testing) {
    this.subscriptions = [
      vscode.workspace.onDidSaveTextDocument((document) => this.saved(document)),
      folders.onDidChangeList(() => this.forgetGone()),
    ];
  }

  private saved(document: vscode.TextDocument): void {
    for (const folder of this.folders.all()) {
      // gpuemu.toml itself is checked and read again; the user chooses what to run.
      const file = document.uri.fsPath;
      if (file === folder.configFile) continue;
      const ops = affectedOps(folder.project, file);
      if (ops.length === 0) continue;
      this.testing.invalidate(folder, ops);
      if (folder.tool.setting('validateOnSave', 'quick') === 'off') continue;
      if (!vscode.workspace.isTrusted) continue;
      this.queueOf(folder).ask(new Set(ops), folder.tool.setting('validateOnSaveDelay', 500));
    }
  }

  private queueOf(folder: Folder): Latest<Set<string>> {
    let queue = this.queues.get(folder);
    if (!queue) {
      queue = new Latest<Set<string>>(
        (ops, signal) => this.validate(folder, [...ops], signal),
        (error) => log.error(`validation on save: ${messageOf(error)}`),
        (earlier, later) => new Set([...earlier, ...later]));
      this.queues.set(folder, queue);
    }
    return queue;
  }

  private async validate(folder: Folder, ops: string[], signal: AbortSignal): Promise<void> {
    const source = new vscode.CancellationTokenSource();
    signal.addEventListener('abort', () => source.cancel());
    try {
      if (await this.testing.runContinuous(folder, ops, source.token)) return;
      const full = folder.tool.setting('validateOnSave', 'quick') === 'full';
      const args = profileArguments(full ? folder.tool.setting('profile', 'default') : 'quick');
      await folder.run({ command: 'test', ops, args }, source.token, () => undefined);
    } finally {
      source.dispose();
    }
  }

  private forgetGone(): void {
    for (const [folder, queue] of this.queues) {
      if (this.folders.all().includes(folder)) continue;
      queue.dispose();
      this.queues.delete(folder);
    }
  }

  dispose(): void {
    for (const queue of this.queues.values()) queue.dispose();
    for (const one of this.subscriptions) one.dispose();
  }
}
