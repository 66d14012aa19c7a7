// Words of the suite that runs in the editor.

import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import * as vscode from 'vscode';
import { threadMs } from '../../src/core/loaded';
import type { GpuemuApi } from '../../src/extension';
import type { RunSummary } from '../../src/core/verdict';

export const root = (): string => vscode.workspace.workspaceFolders![0]!.uri.fsPath;
export const file = (name: string): vscode.Uri => vscode.Uri.file(path.join(root(), name));

/** A file by where it is, not through the link by which the workspace was opened: so it stands in what a terminal shows. */
export const realFile = (name: string): vscode.Uri => vscode.Uri.file(fs.realpathSync(file(name).fsPath));

export async function api(): Promise<GpuemuApi> {
  const extension = vscode.extensions.getExtension<GpuemuApi>('gpuemu.gpuemu')!;
  return extension.activate();
}

/** Asks until the answer is there; the last reason is told when it does not come. */
export async function until<T>(
  what: string, ask: () => T | undefined | false | Promise<T | undefined | false>, ms = 60_000,
): Promise<T> {
  const begun = Date.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() - begun > ms) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

const fake = (): string => process.env['GPUEMU_FAKE']!;

/** How the stand-in of the tool behaves from now on. */
export function modes(...names: string[]): void {
  fs.writeFileSync(path.join(fake(), 'modes'), names.join(' '));
}

/** What the log channel has told so far. */
export function logText(): string {
  const logs = path.join(path.dirname(fake()), 'data/logs');
  const names = fs.readdirSync(logs, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('gpuemu.log'));
  return names.map((name) => fs.readFileSync(path.join(logs, name), 'utf8')).join('');
}

/** The command lines since the last call of `forgetCalls`. */
export function calls(): string[] {
  const name = path.join(fake(), 'calls');
  if (!fs.existsSync(name)) return [];
  return fs.readFileSync(name, 'utf8').trim().split('\n').filter(Boolean)
    .map((line) => (JSON.parse(line) as string[]).join(' '));
}

export function forgetCalls(): void {
  fs.rmSync(path.join(fake(), 'calls'), { force: true });
}

export const problemsOf = (name: string): vscode.Diagnostic[] =>
  vscode.languages.getDiagnostics(file(name)).filter((one) => one.source === 'gpuemu');

export async function nextRun(work: () => unknown): Promise<RunSummary> {
  const gpuemu = await api();
  const finished = new Promise<RunSummary>((resolve) => {
    const listener = gpuemu.onDidFinishRun((run) => {
      listener.dispose();
      resolve(run);
    });
  });
  void work();
  return finished;
}

export const kindOf = (one: vscode.Diagnostic): string =>
  typeof one.code === 'object' ? String(one.code.value) : String(one.code);

/** Longer than problems and views wait before they are drawn. */
export const settle = (): Promise<void> => new Promise((next) => setTimeout(next, 300));

/**
 * Watches the extension host; the function that it gives ends that and says for how many milliseconds it
 * computed at a stretch. What other processes take of the machine does not count.
 */
export function longestBlock(): () => number {
  let longest = 0;
  let last = threadMs()!;
  const watch = setInterval(() => {
    const now = threadMs()!;
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  return () => {
    clearInterval(watch);
    return longest;
  };
}

/** Bytes of the extension host's heap after a garbage collection. */
export function heapUsed(): number {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

/** Line and title of each lens; the editor asks for those of open documents only. */
export async function lensesOf(uri: vscode.Uri): Promise<[number, string][]> {
  await vscode.window.showTextDocument(uri);
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    'vscode.executeCodeLensProvider', uri, 100);
  return lenses.map((one) => [one.range.start.line, one.command?.title ?? '']);
}

/** What the tool of the settings prints, run by itself. */
export function outputOf(args: string[]): Promise<string> {
  const tool = vscode.workspace.getConfiguration('gpuemu').get<string>('binaryPath')!;
  return new Promise((resolve) => {
    execFile(tool, args, { cwd: root(), maxBuffer: 2 ** 28 }, (_error, output) => resolve(output));
  });
}

/** A document with what its file has by now: one that a test before wrote may not be read again yet. */
export async function openSaved(name: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(file(name));
  await until(`the text of ${name}`, () => !document.isDirty &&
    document.getText() === fs.readFileSync(document.uri.fsPath, 'utf8'));
  return document;
}

/** Takes back whatever a test has typed. */
export async function revertAll(): Promise<void> {
  for (const document of vscode.workspace.textDocuments) {
    if (!document.isDirty || !document.uri.fsPath.startsWith(root())) continue;
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  }
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}
