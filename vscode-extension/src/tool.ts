// The tool of one folder: found once, checked once, started with argument arrays.

import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as vscode from 'vscode';
import { atLeast, findBinary, versionIn, VERSION_MIN } from './core/binary';
import { Json, parseJson, textAt } from './core/json';
import { PathMap, pathMaps } from './core/pathMap';
import { Ended, Running, start } from './core/process';
import { UnreadableOutput } from './core/records';
import * as log from './log';
import { interpreterOf } from './python';

export interface FoundTool {
  program: string;
  version: string;
}

export class ToolError extends Error {}

/** There is no program to start; the message says why. */
export class NoProgram extends ToolError {}

const SHORT_MS = 60_000;
const VERSION_MS = 10_000;
/** A missing program is searched again after this time, because it may be installed meanwhile. */
const LOOK_AGAIN_MS = 3000;
/** Messages about the program that were shown automatically. */
const told = new Set<string>();

export class Tool implements vscode.Disposable {
  private found: Promise<FoundTool | undefined> | undefined;
  private whyNone = 'The gpuemu program is not found.';
  private readonly running = new Set<Running>();
  private paths: PathMap[] = [];
  private disposed = false;

  /** `folder` is the working directory: the one with gpuemu.toml. */
  constructor(readonly folder: string, private readonly scope: vscode.Uri) {}

  private get workspace(): string {
    return vscode.workspace.getWorkspaceFolder(this.scope)?.uri.fsPath ?? this.folder;
  }

  setting(name: string, otherwise: string): string;
  setting(name: string, otherwise: number): number;
  setting(name: string, otherwise: boolean): boolean;
  setting<T>(name: string, otherwise: T): T {
    return vscode.workspace.getConfiguration('gpuemu', this.scope).get<T>(name) ?? otherwise;
  }

  /** Searches again, because the setting or the environment has changed. */
  forget(): void {
    this.found = undefined;
    told.clear();
  }

  find(): Promise<FoundTool | undefined> {
    if (!vscode.workspace.isTrusted || this.disposed) return Promise.resolve(undefined);
    if (!this.found) {
      const looking = this.lookFor().catch((error: unknown) => {
        this.tell(`The gpuemu program cannot be looked for: ${messageOf(error)}.`);
        return undefined;
      });
      this.found = looking;
      void looking.then((tool) => {
        if (tool) return;
        const again = setTimeout(() => {
          if (this.found === looking) this.found = undefined;
        }, LOOK_AGAIN_MS);
        again.unref();
      });
    }
    return this.found;
  }

  private async lookFor(): Promise<FoundTool | undefined> {
    const setting = this.setting('binaryPath', '');
    this.paths = pathMaps(await Promise.all([this.workspace, this.folder].map(async (shown) =>
      ({ shown, real: await fs.realpath(shown).catch(() => shown) }))));
    const program = await findBinary({
      setting, folder: this.folder, workspace: this.workspace, home: os.homedir(), env: process.env,
      interpreter: interpreterOf(this.scope),
    });
    if (program === undefined) {
      if (process.platform !== 'linux') {
        this.tell('gpuemu runs on Linux: open the folder in WSL, in a container or over SSH.');
        return undefined;
      }
      const where = setting === '' ? 'neither in the Python environment of the workspace nor in PATH'
        : `not at ${setting} (gpuemu.binaryPath)`;
      this.tell(`The gpuemu program is ${where}.`);
      return undefined;
    }
    const ended = await this.startAt(program, ['--version'], { timeoutMs: VERSION_MS }).ended;
    const version = versionIn(ended.output);
    if (ended.code !== 0 || version === undefined) {
      this.tell(`${program} is not the gpuemu program, or does not run here: ${whyNot(ended)}.`);
      return undefined;
    }
    if (!atLeast(version, VERSION_MIN)) {
      this.tell(`${program} is version ${version}; this extension needs ${VERSION_MIN}.`);
      return undefined;
    }
    log.info(`gpuemu ${version} at ${program}`);
    return { program, version };
  }

  /** Shows one message for all folders until the setting changes. */
  private tell(text: string): void {
    log.warn(text);
    this.whyNone = text;
    if (told.has(text)) return;
    told.add(text);
    void offerProgram(text);
  }

  private environment(): Record<string, string | undefined> {
    const backend = this.setting('backend', 'auto');
    const more = backend === 'auto' ? {} : { GPUEMU_BACKEND: backend };
    return { ...process.env, NO_COLOR: '1', ...more };
  }

  private startAt(
    program: string, args: string[], more: { timeoutMs?: number; onOutput?: (t: string) => void;
      input?: string },
  ): Running {
    log.logStart(program, args, this.folder);
    const running = start({
      program, args, cwd: this.folder, env: this.environment(), paths: this.paths, ...more,
    });
    this.running.add(running);
    void running.ended.then((ended) => {
      this.running.delete(running);
      log.logEnd(args, ended);
      if (running.pid === undefined) this.found = undefined;  // The file may have been removed.
    });
    return running;
  }

  /** Starts the tool; undefined if there is none, which has been reported. */
  async start(
    args: string[], more: { timeoutMs?: number; onOutput?: (text: string) => void } = {},
  ): Promise<Running | undefined> {
    const tool = await this.find();
    // The folder may have been removed meanwhile.
    return tool && !this.disposed ? this.startAt(tool.program, args, more) : undefined;
  }

  /** Why nothing was started. */
  missing(): string {
    if (this.disposed) return `${this.folder} has no gpuemu.toml any more`;
    return vscode.workspace.isTrusted ? this.whyNone
      : 'no program is started in a folder that is not trusted';
  }

  private noProgram(): ToolError {
    const text = this.missing();
    return vscode.workspace.isTrusted && !this.disposed ? new NoProgram(text) : new ToolError(text);
  }

  /** Throws if there is no program. */
  async mustFind(): Promise<FoundTool> {
    const tool = await this.find();
    if (!tool) throw this.noProgram();
    return tool;
  }

  /** Runs a command to its end. */
  async run(args: string[], token?: vscode.CancellationToken, timeoutMs = SHORT_MS):
  Promise<Ended> {
    const running = await this.start(args, { timeoutMs });
    if (!running) throw this.noProgram();
    const listener = token?.onCancellationRequested(() => running.cancel());
    if (token?.isCancellationRequested) running.cancel();
    const ended = await running.ended;
    listener?.dispose();
    return ended;
  }

  /** Returns the output of a command; throws if there is none. */
  async text(args: string[], token?: vscode.CancellationToken, timeoutMs = SHORT_MS):
  Promise<string> {
    const ended = await this.run(args, token, timeoutMs);
    mustHaveAnswered(args, ended, ended.output);
    return ended.output;
  }

  /** Passes on the JSON that a command prints as it arrives, and keeps none of it. */
  async stream(args: string[], onText: (text: string) => void): Promise<void> {
    let begun = '';
    const running = await this.start([...args, '--format', 'json'], {
      timeoutMs: SHORT_MS,
      onOutput: (text) => {
        if (begun.trim() === '') begun = text.slice(0, 100);
        log.logAnswer(text);
        onText(text);
      },
    });
    if (!running) throw this.noProgram();
    mustHaveAnswered(args, await running.ended, begun);
  }

  /**
   * Runs a command with --format json and reads its document, even after a non-zero exit. If the tool
   * prints a message instead of a document, that is the error.
   */
  async json(args: string[], token?: vscode.CancellationToken, timeoutMs = SHORT_MS):
  Promise<Json> {
    const text = await this.text([...args, '--format', 'json'], token, timeoutMs);
    let value: Json;
    try {
      value = parseJson(text);
    } catch {
      throw new ToolError(`gpuemu ${args[0]}: its output is no JSON: ${text.slice(0, 200)}`);
    }
    if (textAt(value, 'type') === 'Error') {
      throw new ToolError(textAt(value, 'message')?.trim() ?? `gpuemu ${args[0]} failed`);
    }
    return value;
  }

  /** Prevents commands after one that is ended here from starting. */
  dispose(): void {
    this.disposed = true;
    for (const one of this.running) one.kill();
  }
}

/** Shows why there is no program, and what can be done. The same text is shown only once. */
export async function offerProgram(text: string): Promise<void> {
  const choice = await vscode.window.showWarningMessage(
    text, 'Select gpuemu Binary', 'Show Logs', 'How to Install');
  if (choice === 'Select gpuemu Binary') {
    await vscode.commands.executeCommand('gpuemu.selectBinary');
  } else if (choice === 'Show Logs') {
    log.showLog();
  } else if (choice === 'How to Install') {
    await vscode.commands.executeCommand(
      'workbench.action.openWalkthrough', 'gpuemu.gpuemu#gpuemu.start');
  }
}

function mustHaveAnswered(args: string[], ended: Ended, output: string): void {
  if (ended.problem) throw new ToolError(ended.problem);
  if (ended.cancelled) throw new vscode.CancellationError();
  if (ended.timedOut) throw new ToolError(`gpuemu ${args[0]} did not answer in time`);
  if (output.trim() === '') {
    throw new ToolError(`gpuemu ${args[0]}: ${ended.errors.trim() || `exit code ${ended.code}`}`);
  }
}

/** Returns why a command failed: its own message if it printed one. */
export function whyFailed(ended: Ended, otherwise: string): string {
  return ended.problem ?? (ended.timedOut ? `${otherwise}: gpuemu did not answer in time`
    : ended.errors.trim() || ended.output.trim() || otherwise);
}

/** Why a program did not report its version. */
function whyNot(ended: Ended): string {
  if (ended.problem) return ended.problem;
  if (ended.timedOut) return `--version had no answer within ${VERSION_MS / 1000} s`;
  return ended.errors.trim() || (ended.code === 0
    ? `--version answered ${JSON.stringify(ended.output.slice(0, 100))}` : `exit code ${ended.code}`);
}

export function messageOf(error: unknown): string {
  if (error instanceof UnreadableOutput) return `gpuemu's output cannot be read: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** Shows why a command of the palette did nothing; a cancellation is not reported. */
export function showError(title: string, error: unknown): void {
  if (error instanceof vscode.CancellationError) return;
  if (error instanceof NoProgram) void offerProgram(error.message);
  else void vscode.window.showErrorMessage(`${title}: ${messageOf(error)}`);
}
