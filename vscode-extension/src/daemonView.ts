// The Daemon view: state, devices, running jobs. It does not poll: it is updated after each command and
// when the window gets the focus.

import * as vscode from 'vscode';
import { DaemonState } from './core/records';
import { Job } from './folder';
import { Folders } from './folders';

type Node = { label: string; description?: string; icon: string; context?: string; job?: Job };

export class DaemonView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(private readonly folders: Folders) {
    this.subscriptions.push(
      vscode.window.createTreeView('gpuemu.sessions', { treeDataProvider: this }),
      folders.onDidChange(({ what }) => {
        if (what === 'status' || what === 'jobs') this.update();
      }),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) for (const folder of folders.all()) void folder.loadStatus();
      }),
    );
  }

  private update(): void {
    const runs = this.folders.all().some((one) => one.status.state === 'running');
    void vscode.commands.executeCommand('setContext', 'gpuemu.daemonRunning', runs);
    this.changed.fire();
  }

  getChildren(node?: Node): Node[] {
    if (node) return [];
    const folders = this.folders.all();
    const jobs = folders.flatMap((folder) => [...folder.jobs].map((job): Node => ({
      label: job.title, description: `${folder.name} ${job.detail}`.trim(), icon: 'sync~spin',
      context: 'job', job,
    })));
    return [...jobs, ...folders.slice(0, 1).flatMap((folder) => daemonRows(folder.status))];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = new vscode.TreeItem(node.label);
    item.description = node.description;
    item.iconPath = new vscode.ThemeIcon(node.icon);
    item.contextValue = node.context;
    item.accessibilityInformation = { label: [node.label, node.description].join(' ').trim() };
    return item;
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
    this.changed.dispose();
  }
}

function daemonRows(status: DaemonState): Node[] {
  if (status.state === 'stopped') return [];
  if (status.state === 'silent') {
    return [{
      label: 'Daemon does not answer', icon: 'warning',
      description: status.pid === undefined ? undefined : `process ${status.pid}`,
    }];
  }
  return [
    {
      label: `Daemon ${status.version ?? ''}`, icon: 'pulse',
      description: [status.backend, `${status.workers ?? 0} workers`, status.jobs
        ? `${status.jobs} jobs` : ''].filter(Boolean).join(', '),
    },
    ...(status.version === undefined || status.version === status.toolVersion ? [] : [{
      label: 'Another version', icon: 'warning',
      description: `the program is ${status.toolVersion}; the next command restarts the daemon`,
    }]),
    ...status.devices.map((device) => ({ label: device, icon: 'circuit-board' })),
    ...(status.configPath
      ? [{ label: 'Project', description: status.configPath, icon: 'file' }] : []),
  ];
}
