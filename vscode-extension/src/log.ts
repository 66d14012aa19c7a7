// The log channel: every command line with its exit and time; more with gpuemu.trace.

import * as vscode from 'vscode';
import { commandLine, Ended } from './core/process';

let channel: vscode.LogOutputChannel | undefined;

export function openLog(context: vscode.ExtensionContext): void {
  channel = vscode.window.createOutputChannel('gpuemu', { log: true });
  const opened = channel;
  context.subscriptions.push({
    dispose: () => {
      channel = undefined;  // A closed channel throws, and processes end after it.
      opened.dispose();
    },
  });
}

export const showLog = (): void => channel?.show(true);
export const info = (text: string): void => channel?.info(text);
export const warn = (text: string): void => channel?.warn(text);
export const error = (text: string): void => channel?.error(text);

const trace = (): string =>
  vscode.workspace.getConfiguration('gpuemu').get<string>('trace') ?? 'off';

export function logStart(program: string, args: string[], cwd: string): void {
  info(`$ ${commandLine(program, args)}   in ${cwd}`);
}

export function logEnd(args: string[], ended: Ended): void {
  const how = ended.problem ?? (ended.code === null
    ? `ended by ${ended.signal ?? 'a signal'}` : `exit code ${ended.code}`);
  const why = ended.cancelled ? ', cancelled' : ended.timedOut ? ', took too long' : '';
  info(`gpuemu ${args[0] ?? ''}: ${how}${why}, ${ended.durationMs} ms`);
  if (ended.errors.trim() !== '') info(ended.errors.trim());
  if (trace() === 'verbose' && ended.output !== '') info(ended.output.slice(0, 100_000));
}

/** Logs a piece of a long answer, with `verbose`. */
export function logAnswer(text: string): void {
  if (trace() === 'verbose') info(text);
}

/** Logs a line of a stream: its type with `messages`, all of it with `verbose`. */
export function logLine(line: string): void {
  const how = trace();
  if (how === 'verbose') info(line);
  else if (how === 'messages') info(/"type":\s*"(\w+)"/.exec(line)?.[1] ?? line.slice(0, 80));
}
