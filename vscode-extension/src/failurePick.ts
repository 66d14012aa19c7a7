// Determines the failure for a command: from its arguments, a row, a diagnostic, or the user's choice.

import * as vscode from 'vscode';
import { CaseResult } from './core/records';
import { kindOf } from './core/verdict';
import { rowLabel } from './core/tree';
import { Node } from './failuresView';
import { Folder } from './folder';
import { Folders } from './folders';
import { ToolError } from './tool';

export interface Chosen {
  folder: Folder;
  op: string;
  seed: string;
  /** The stored result; undefined if only the seed is known. */
  result?: CaseResult;
}

function isNode(value: unknown): value is Node & { type: 'row' } {
  return typeof value === 'object' && value !== null && (value as Node).type === 'row';
}

/** Seeds are text; a number is rejected, because it would lose digits above 2^53. */
function seedOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && /^\d+$/.test(value) ? value : undefined;
}

export async function chooseFailure(
  folders: Folders, args: unknown[], title: string,
): Promise<Chosen | undefined> {
  const [first, op, config] = args;
  if (isNode(first)) {
    const { row, folder } = first;
    return row.type === 'failure'
      ? { folder, op: row.result.op, seed: row.result.seed, result: row.result } : undefined;
  }
  const seed = seedOf(first);
  if (seed !== undefined) {
    const all = typeof config === 'string'
      ? folders.all().filter((one) => one.configFile === config) : folders.all();
    for (const folder of all) {
      const result = folder.failures.find((one) =>
        one.seed === seed && (typeof op !== 'string' || op === one.op));
      if (result) return { folder, op: result.op, seed, result };
    }
    const folder = all[0];
    if (!folder) throw new ToolError('no folder here has a gpuemu.toml');
    return { folder, op: typeof op === 'string' ? op : '', seed };
  }
  const items = folders.all().flatMap((folder) => folder.failures.map((result) => ({
    label: `${result.op} ${rowLabel(result)}`, description: kindOf(result),
    detail: `seed ${result.seed}`, folder, result,
  })));
  if (items.length === 0) {
    void vscode.window.showInformationMessage('No failure is stored.');
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
  return picked && {
    folder: picked.folder, op: picked.result.op, seed: picked.result.seed, result: picked.result,
  };
}

export const opArguments = (chosen: Chosen): string[] =>
  chosen.op === '' ? [] : ['--op', chosen.op];
