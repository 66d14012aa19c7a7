// The details of a failure: the page, and the read-only documents of the scheme `gpuemu`.

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { extent, readErrorMap } from './core/charts';
import { Details, detailsPage, failureMarkdown, linesAround, SourceLines } from './core/details';
import { isObject, Json, numberAt, objectAt, textAt, textsAt } from './core/json';
import { sectionOf } from './core/kinds';
import { readLaunches, tileOf } from './core/launches';
import { Place, placeOf, shortenedFinding } from './core/problems';
import { ptxLineOf } from './core/ptx';
import { CaseResult, Finding, readCase } from './core/records';
import { readTensors } from './core/tensors';
import { Folder } from './folder';
import { Folders } from './folders';
import { messageOf, showError } from './tool';

/** Runs the case again and returns what its page shows besides the verdict. */
export const reproduceArguments = (seed: string, op: string): string[] =>
  ['reproduce', seed, '--details', ...(op === '' ? [] : ['--op', op])];

export const failureDocument = (op: string, seed: string): vscode.Uri =>
  vscode.Uri.from({ scheme: 'gpuemu', path: `/failure/${op}/${seed}.md` });

export class DetailsPanel implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly explained = new Map<string, string[]>();
  private readonly documents = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registered: vscode.Disposable;

  constructor(private readonly folders: Folders, private readonly extension: vscode.Uri) {
    this.registered = vscode.workspace.registerTextDocumentContentProvider('gpuemu', this);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const kind = /^\/kind\/(\w+)\.md$/.exec(uri.path);
    if (kind) {
      const page = await fs.readFile(
        vscode.Uri.joinPath(this.extension, 'dist', 'findings.md').fsPath, 'utf8');
      return sectionOf(page, kind[1]!) || `# ${kind[1]}\n\nNothing is known of this kind.\n`;
    }
    const baseline = this.documents.get(uri.path);
    if (baseline !== undefined) return baseline;
    const failure = /^\/failure\/(.+)\/(\d+)\.md$/.exec(uri.path);
    if (!failure) return '';
    const [, op, seed] = failure;
    for (const folder of this.folders.all()) {
      const known = await storedOf(folder, op!, seed!);
      if (known) return failureMarkdown(known, this.explained.get(`${op}/${seed}`));
    }
    return `# ${op}\n\nNo failure with seed ${seed} is stored.\n`;
  }

  /** Shows a read-only page of the scheme `gpuemu`; replaces one with the same path. */
  async show(where: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: 'gpuemu', path: where });
    this.documents.set(where, text);
    this.changed.fire(uri);
    await vscode.window.showTextDocument(
      await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  setExplained(op: string, seed: string, sentences: string[]): void {
    this.explained.set(`${op}/${seed}`, sentences);
    this.changed.fire(failureDocument(op, seed));
  }

  /** `reproduced` is the reply of `gpuemu reproduce` if it was just run. */
  async open(folder: Folder, op: string, seed: string, reproduced?: Json): Promise<void> {
    const key = `${folder.root}\0${op}\0${seed}`;
    let panel = this.panels.get(key);
    if (panel) {
      panel.reveal(undefined, true);
    } else {
      panel = vscode.window.createWebviewPanel(
        'gpuemu.failure', `${op} ${seed}`,
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        { enableScripts: true, localResourceRoots: [], enableFindWidget: true });
      const media = vscode.Uri.joinPath(this.extension, 'media');
      panel.iconPath = {
        light: vscode.Uri.joinPath(media, 'gpuemu-light.svg'),
        dark: vscode.Uri.joinPath(media, 'gpuemu-dark.svg'),
      };
      const made = panel;
      panel.onDidDispose(() => {
        if (this.panels.get(key) === made) this.panels.delete(key);
      });
      panel.webview.onDidReceiveMessage((message: unknown) =>
        this.receive(folder, op, seed, message).catch((error: unknown) => showError('gpuemu', error)));
      this.panels.set(key, panel);
    }
    const shownIn = panel;
    /** The user may close the page before the case was run. */
    const isOpen = (): boolean => this.panels.get(key) === shownIn;
    const show = (details: Details): void => {
      if (isOpen()) shownIn.webview.html = detailsPage(details, nonce());
    };
    const known = folder.failures.find((one) => one.seed === seed && one.op === op);
    if (known && !reproduced) {
      // Show immediately what is known; the case itself follows.
      show(await this.details(folder, known));
    }
    try {
      const value = reproduced ?? await vscode.window.withProgress(
        { location: { viewId: 'gpuemu.failures' } }, () => folder.enqueue(() =>
          folder.tool.json(reproduceArguments(seed, op), undefined, 300_000)));
      const now = readCase(objectAt(value, 'result'), known?.dtype);
      const shown = now.findings.length > 0 ? now : await storedOf(folder, op, seed) ?? now;
      const details = await this.details(folder, shown, value);
      if (now.passed) details.missing.push('This case passes now.');
      show(details);
    } catch (error) {
      if (!isOpen()) return;
      const stored = known && await storedOf(folder, op, seed);
      const details = stored && await this.details(folder, stored);
      if (details) {
        details.missing.push(`The case could not be run again: ${messageOf(error)}`);
        show(details);
      } else {
        shownIn.dispose();
        throw error;
      }
    }
  }

  private async details(folder: Folder, result: CaseResult, value?: Json): Promise<Details> {
    const finding = result.findings[0];
    const entry = folder.entries().get(result.op);
    const place = finding && placeOf(finding, entry, folder.root, folder.configFile);
    const missing: string[] = [];
    let source: SourceLines | undefined;
    if (place && place.line > 0) {
      try {
        source = linesAround(place.file, await fs.readFile(place.file, 'utf8'), place.line);
      } catch {
        missing.push(`${path.basename(place.file)} cannot be read.`);
      }
    }
    const map = isObject(value) ? readErrorMap(value['error_map']) : undefined;
    const findings = result.findings.map((one) => shortenedFinding(one, folder.root));
    return {
      result: { ...result, findings }, source, map, missing,
      ptx: ptxOf(value, finding, place),
      tile: map && tileOf(readLaunches(value), ...extent(map)),
      inputs: readTensors(objectAt(value, 'inputs')),
      explained: this.explained.get(`${result.op}/${result.seed}`) ?? [],
    };
  }

  private async receive(folder: Folder, op: string, seed: string, message: unknown): Promise<void> {
    const value = message as Json;
    const command = textAt(value, 'command');
    if (command !== undefined && /^\w+$/.test(command)) {
      await vscode.commands.executeCommand(`gpuemu.${command}`, seed, op, folder.configFile);
      return;
    }
    const file = textAt(value, 'open');
    if (file === undefined || !path.isAbsolute(file)) return;
    const line = Math.max(0, (numberAt(value, 'line') ?? 1) - 1);
    await vscode.window.showTextDocument(vscode.Uri.file(file), {
      selection: new vscode.Range(line, 0, line, 0), viewColumn: vscode.ViewColumn.One,
    });
  }

  dispose(): void {
    for (const panel of this.panels.values()) panel.dispose();
    this.registered.dispose();
    this.changed.dispose();
  }
}

/** Everything stored of a failure; its summary if the tool does not answer. */
async function storedOf(folder: Folder, op: string, seed: string): Promise<CaseResult | undefined> {
  const known = folder.failures.find((one) => one.seed === seed && one.op === op);
  return known && (await folder.storedFailure(known) ?? known);
}

/** The PTX of the source line; undefined for a finding without a line. */
function ptxOf(
  value: Json | undefined, finding: Finding | undefined, place: Place | undefined,
): SourceLines | undefined {
  const text = textAt(value, 'ptx');
  if (text === undefined || !finding?.file || !place) return undefined;
  const { divergence } = finding;
  const instruction = divergence?.line === place.line ? divergence.instruction : '';
  const line = ptxLineOf(text, place.file, place.line, instruction);
  return line === undefined ? undefined : linesAround('', text, line);
}

const nonce = (): string => randomBytes(16).toString('hex');

/** The sentences printed by `gpuemu explain`. */
export function sentencesOf(value: Json): string[] {
  return textsAt(value, 'sentences');
}
