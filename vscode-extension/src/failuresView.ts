// The Failures view.

import * as vscode from 'vscode';
import { rowAccessible, rowLabel, rowsOf, rowTooltip, Row } from './core/tree';
import { counted } from './core/words';
import { Folder } from './folder';
import { Folders } from './folders';

/** With more failures, kinds are collapsed at first, so that the ops fit the view. */
const OPEN_MAX = 20;

export type Node = { type: 'folder'; folder: Folder } | { type: 'row'; folder: Folder; row: Row };

export class FailuresView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Node>;
  private readonly subscriptions: vscode.Disposable[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly folders: Folders) {
    this.view = vscode.window.createTreeView('gpuemu.failures', {
      treeDataProvider: this, showCollapseAll: true,
    });
    this.subscriptions.push(
      this.view,
      folders.onDidChange(({ what }) => {
        if (what === 'failures' || what === 'project') this.schedule();
      }),
      folders.onDidChangeList(() => this.schedule()),
    );
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const count = this.count();
      this.view.badge = count === 0 ? undefined
        : { value: count, tooltip: counted(count, 'stored failure') };
      const trouble = this.folders.all().map((one) => one.trouble).find((one) => one !== undefined);
      void vscode.commands.executeCommand('setContext', 'gpuemu.hasFailures', count > 0);
      void vscode.commands.executeCommand('setContext', 'gpuemu.trouble', trouble);
      this.changed.fire();
    }, 50);
  }

  private count(): number {
    return this.folders.all().reduce((sum, one) => sum + one.failures.length, 0);
  }

  getChildren(node?: Node): Node[] {
    if (!node) {
      const failing = this.folders.all().filter((one) => one.failures.length > 0);
      if (this.folders.all().length > 1) {
        return failing.map((folder) => ({ type: 'folder', folder }));
      }
      return failing.flatMap((folder) => this.rows(folder));
    }
    if (node.type === 'folder') return this.rows(node.folder);
    if (node.row.type === 'failure' || node.row.type === 'more') return [];
    return node.row.children().map((row) => ({ type: 'row', folder: node.folder, row }));
  }

  private rows(folder: Folder): Node[] {
    return rowsOf(folder.failures, `${folder.root}\0`).map(
      (row) => ({ type: 'row', folder, row }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node.type === 'folder') {
      const item = new vscode.TreeItem(
        node.folder.name, vscode.TreeItemCollapsibleState.Expanded);
      item.iconPath = vscode.ThemeIcon.Folder;
      item.id = node.folder.root;
      return item;
    }
    if (node.row.type === 'more') return moreItem(node.row);
    return node.row.type === 'failure' ? this.failureItem(node.folder, node.row)
      : groupItem(node.row, this.count() <= OPEN_MAX);
  }

  private failureItem(folder: Folder, row: Row & { type: 'failure' }): vscode.TreeItem {
    const { result } = row;
    const item = new vscode.TreeItem(rowLabel(result), vscode.TreeItemCollapsibleState.None);
    item.id = row.id;
    item.description = `seed ${result.seed}`;
    item.tooltip = rowTooltip(result, folder.root);
    item.contextValue = 'failure';
    item.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('testing.iconFailed'));
    item.accessibilityInformation = { label: rowAccessible(result) };
    item.command = {
      command: 'gpuemu.openFailure', title: 'Open Failure Details',
      arguments: [result.seed, result.op, folder.configFile],
    };
    return item;
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.subscriptions) one.dispose();
    this.changed.dispose();
  }
}

function moreItem(row: Row & { type: 'more' }): vscode.TreeItem {
  const item = new vscode.TreeItem(`${row.count} older ones`);
  item.id = row.id;
  item.description = 'gpuemu failures lists them';
  item.accessibilityInformation = { label: `${row.count} older failures, which gpuemu failures lists` };
  return item;
}

function groupItem(row: Row & { type: 'op' | 'kind' }, few: boolean): vscode.TreeItem {
  const isOp = row.type === 'op';
  const item = new vscode.TreeItem(
    isOp ? row.op : row.kind, isOp || few ? vscode.TreeItemCollapsibleState.Expanded
      : vscode.TreeItemCollapsibleState.Collapsed);
  item.id = row.id;
  const place = isOp || row.place === '' ? '' : `${row.place}  `;
  item.description = `${place}${row.count}`;
  item.iconPath = new vscode.ThemeIcon(isOp ? 'symbol-function' : 'warning');
  const what = isOp ? row.op : `${row.kind}${row.place === '' ? '' : ` at ${row.place}`}`;
  item.accessibilityInformation = { label: `${what}, ${counted(row.count, 'failure')}` };
  return item;
}
