// Tracks every gpuemu.toml of the workspace as folders are added and removed.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { Folder } from './folder';

const NOT_BELOW = ['node_modules', '.git', 'build', 'dist', '.venv', 'venv'];
const EXCLUDED = `**/{${NOT_BELOW.join(',')}}/**`;

/** The workspace itself may be below a folder of such a name. */
function isExcluded(uri: vscode.Uri): boolean {
  const below = vscode.workspace.asRelativePath(uri, false).split(/[/\\]/);
  return below.some((one) => NOT_BELOW.includes(one));
}

export class Folders implements vscode.Disposable {
  private readonly byConfig = new Map<string, Folder>();
  private readonly listChanged = new vscode.EventEmitter<void>();
  private readonly anyChanged =
    new vscode.EventEmitter<{ folder: Folder; what: 'project' | 'failures' | 'status' | 'jobs' }>();
  private readonly runFinished = new vscode.EventEmitter<{ folder: Folder }>();
  private readonly watcher = vscode.workspace.createFileSystemWatcher('**/gpuemu.toml');
  readonly onDidChangeList = this.listChanged.event;
  readonly onDidChange = this.anyChanged.event;
  readonly onDidFinishRun = this.runFinished.event;

  constructor() {
    this.watcher.onDidCreate((uri) => this.add(uri));
    this.watcher.onDidDelete((uri) => this.remove(uri));
    this.watcher.onDidChange((uri) => void this.byConfig.get(uri.toString())?.loadProject());
  }

  all(): Folder[] {
    return [...this.byConfig.values()];
  }

  async discover(): Promise<void> {
    const found = await vscode.workspace.findFiles('**/gpuemu.toml', EXCLUDED, 50);
    for (const uri of found) this.add(uri);
    for (const folder of this.all()) {
      if (!vscode.workspace.getWorkspaceFolder(folder.config)) this.remove(folder.config);
    }
  }

  private add(uri: vscode.Uri): void {
    if (this.byConfig.has(uri.toString()) || uri.scheme !== 'file') return;
    if (isExcluded(uri)) return;
    const folder = new Folder(uri);
    this.byConfig.set(uri.toString(), folder);
    folder.onDidChange((what) => this.anyChanged.fire({ folder, what }));
    folder.onDidFinishRun(() => this.runFinished.fire({ folder }));
    this.listChanged.fire();
  }

  private remove(uri: vscode.Uri): void {
    this.byConfig.get(uri.toString())?.dispose();
    if (this.byConfig.delete(uri.toString())) this.listChanged.fire();
  }

  /** The folder of a file: the one with the nearest gpuemu.toml above it, or one that depends on it. */
  of(uri: vscode.Uri): Folder | undefined {
    const above = this.all().filter((one) => one.contains(uri.fsPath))
      .sort((a, b) => b.root.length - a.root.length);
    const depends = this.all().find((one) =>
      [...one.project.ops, ...one.project.kernels].some((op) => op.files.includes(uri.fsPath)));
    return above[0] ?? depends;
  }

  /** The folder for a command: that of the active editor, the only one, or the user's choice. */
  async choose(): Promise<Folder | undefined> {
    const all = this.all();
    const active = vscode.window.activeTextEditor?.document.uri;
    const ofActive = active && this.of(active);
    if (ofActive || all.length <= 1) return ofActive ?? all[0];
    const items = all.map((folder) => ({
      label: folder.name, description: vscode.workspace.asRelativePath(folder.root), folder,
    }));
    return (await vscode.window.showQuickPick(items, { title: 'Which folder?' }))?.folder;
  }

  ofConfig(file: string): Folder | undefined {
    return this.all().find((one) => path.normalize(file) === one.configFile);
  }

  dispose(): void {
    for (const folder of this.all()) folder.dispose();
    this.watcher.dispose();
    this.listChanged.dispose();
    this.anyChanged.dispose();
    this.runFinished.dispose();
  }
}
