// Commands that need a terminal: the prompt of `gpuemu debug`.

import * as vscode from 'vscode';
import { Folder } from './folder';
import * as log from './log';

const open = new Set<vscode.Terminal>();

export async function debugFailure(folder: Folder, op: string, seed: string): Promise<void> {
  const tool = await folder.tool.mustFind();
  const args = ['debug', seed, ...(op === '' ? [] : ['--op', op]), '--repl'];
  log.logStart(tool.program, args, folder.root);
  // Run the program itself, not a shell that starts it.
  const terminal = vscode.window.createTerminal({
    name: `gpuemu debug ${op || seed}`, shellPath: tool.program, shellArgs: args, cwd: folder.root,
    iconPath: new vscode.ThemeIcon('debug-alt'), isTransient: true,
  });
  open.add(terminal);
  terminal.show();
}

export function watchTerminals(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.window.onDidCloseTerminal((one) => void open.delete(one)),
    { dispose: () => open.forEach((one) => one.dispose()) });
}
