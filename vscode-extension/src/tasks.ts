// Tasks for tasks.json and key bindings, with the problem matchers.

import * as vscode from 'vscode';
import { namesOf } from './core/settings';
import { Folder } from './folder';
import { Folders } from './folders';

interface Definition extends vscode.TaskDefinition {
  command: 'test' | 'fuzz' | 'ci' | 'lint' | 'check';
  ops?: string[];
  args?: string[];
}

/** Findings are printed one per line, as `$gpuemu` reads them; other formats wrap at the width of the
 * terminal. */
function argumentsOfTask(definition: Definition): string[] {
  const { command } = definition;
  const [ops, args] = [namesOf(definition.ops), namesOf(definition.args)];
  if (command === 'check') return ['config', 'check', ...args];
  if (command === 'lint') return ['lint', ...ops.flatMap((op) => ['--kernel', op]), ...args];
  const format = args.some((one) => one.startsWith('--format')) ? [] : ['--format', 'short'];
  if (command === 'ci') return ['ci', ...format, ...args];
  return [command, ...ops, ...format, ...args];
}

export class Tasks implements vscode.TaskProvider {
  constructor(private readonly folders: Folders) {}

  async provideTasks(): Promise<vscode.Task[]> {
    const all: vscode.Task[] = [];
    for (const folder of this.folders.all()) {
      for (const command of ['test', 'fuzz', 'ci', 'lint', 'check'] as const) {
        const task = await this.make(folder, { type: 'gpuemu', command });
        if (task) all.push(task);
      }
    }
    return all;
  }

  async resolveTask(task: vscode.Task): Promise<vscode.Task | undefined> {
    const scope = task.scope;
    const uri = typeof scope === 'object' ? scope.uri : undefined;
    const folder = this.folders.all().find((one) => uri &&
      vscode.workspace.getWorkspaceFolder(one.config)?.uri.toString() === uri.toString()) ??
      this.folders.all()[0];
    return folder && this.make(folder, task.definition as Definition);
  }

  private async make(folder: Folder, definition: Definition): Promise<vscode.Task | undefined> {
    const tool = await folder.tool.find();
    if (!tool) return undefined;
    const workspace = vscode.workspace.getWorkspaceFolder(folder.config);
    const args = argumentsOfTask(definition);
    const task = new vscode.Task(
      definition, workspace ?? vscode.TaskScope.Workspace, args.join(' '), 'gpuemu',
      new vscode.ProcessExecution(tool.program, args, { cwd: folder.root }),
      ['$gpuemu', '$gpuemu-config']);
    if (definition.command === 'test') task.group = vscode.TaskGroup.Test;
    return task;
  }
}
