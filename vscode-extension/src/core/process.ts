// Starts the tool: an argument array without a shell, the folder as working directory, limited buffers, and
// termination of the whole process group.

import { ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { mapped, PathMap, PathMapper } from './pathMap';

export const OUTPUT_MAX = 64 * 1024 * 1024;
export const ERRORS_MAX = 256 * 1024;
export const GRACE_MS = 5000;
/** Output left in the pipes of an ended program is read for this long. */
export const PIPES_MS = 2000;

export interface Command {
  program: string;
  args: string[];
  cwd: string;
  env?: Record<string, string | undefined>;
  timeoutMs?: number;
  /** Receives standard output as it arrives; without it the text is kept. */
  onOutput?: (text: string) => void;
  input?: string;
  graceMs?: number;
  outputMax?: number;
  pipesMs?: number;
  /** Paths for which program and editor have different names. */
  paths?: PathMap[];
}

export interface Ended {
  code: number | null;
  signal: string | null;
  output: string;
  errors: string;
  durationMs: number;
  cancelled: boolean;
  timedOut: boolean;
  /** Set if standard output exceeded the limit, or the program could not be started. */
  problem?: string;
}

const running = new Set<Running>();
/** True once no more processes may be started. */
let closed = false;

/** Keeps the end of a text longer than `limit`. */
class Tail {
  text = '';
  constructor(private readonly limit: number) {}
  push(piece: string): void {
    this.text += piece;
    if (this.text.length > this.limit) this.text = this.text.slice(-this.limit / 2);
  }
}

export class Running {
  readonly ended: Promise<Ended>;
  private readonly child: ChildProcess | undefined;
  private cancelled = false;
  private timedOut = false;
  private problem: string | undefined;
  private grace: NodeJS.Timeout | undefined;
  private pipes: NodeJS.Timeout | undefined;
  private over = false;

  constructor(private readonly command: Command) {
    const begun = Date.now();
    const child = this.begin();
    this.child = child;
    const errors = new Tail(ERRORS_MAX);
    const output = this.readOutput(command.outputMax ?? OUTPUT_MAX);
    const decoder = new StringDecoder('utf8');
    child?.stderr?.on('data', (bytes: Buffer) => errors.push(decoder.write(bytes)));
    child?.stdin?.on('error', () => undefined);  // The program may end without reading.
    if (command.input !== undefined) child?.stdin?.end(command.input);
    const timer = command.timeoutMs === undefined ? undefined : setTimeout(() => {
      this.timedOut = true;
      this.interrupt();
    }, command.timeoutMs);
    this.ended = new Promise((resolve) => {
      const finish = (code: number | null, signal: string | null): void => {
        if (this.over) return;
        this.over = true;
        clearTimeout(timer);
        clearTimeout(this.grace);
        clearTimeout(this.pipes);
        running.delete(this);
        resolve({
          code, signal, output: output(), errors: mapped(errors.text, command.paths ?? []), durationMs: Date.now() - begun,
          cancelled: this.cancelled, timedOut: this.timedOut, problem: this.problem,
        });
      };
      if (!child) {
        finish(null, null);
        return;
      }
      child.on('error', (error) => {
        this.problem ??= this.whyNot(error);
        finish(null, null);
      });
      child.on('close', finish);
      // A process left behind in a separate group may keep the pipes open for ever.
      child.on('exit', (code, signal) => {
        this.pipes = setTimeout(() => {
          child.stdout?.destroy();
          child.stderr?.destroy();
          finish(code, signal);
        }, command.pipesMs ?? PIPES_MS);
      });
    });
  }

  /** Some errors of a start are events, others exceptions, for example if the program file is being
   * written. */
  private begin(): ChildProcess | undefined {
    const { command } = this;
    if (closed) {
      this.problem = `${command.program} is not started: the editor ends`;
      return undefined;
    }
    try {
      const child = spawn(command.program, command.args, {
        cwd: command.cwd,
        env: command.env as NodeJS.ProcessEnv | undefined ?? process.env,
        detached: true,  // A separate process group, which can be ended as a whole.
        shell: false,
        stdio: [command.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
      running.add(this);
      return child;
    } catch (error) {
      this.problem = this.whyNot(error as Error);
      return undefined;
    }
  }

  private whyNot(error: Error): string {
    const { program, cwd } = this.command;
    // The system reports both with the same error.
    return existsSync(cwd) ? `${program} cannot be started: ${error.message}`
      : `${program} cannot be started: there is no folder ${cwd}`;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Sends SIGINT, on which the tool keeps its results; then SIGKILL if it does not end. */
  cancel(): void {
    if (this.over || this.cancelled) return;
    this.cancelled = true;
    this.interrupt();
  }

  /** Ends the process immediately, when the editor ends. */
  kill(): void {
    this.signal('SIGKILL');
  }

  private interrupt(): void {
    this.signal('SIGINT');
    this.grace ??= setTimeout(() => this.kill(), this.command.graceMs ?? GRACE_MS);
  }

  private signal(name: 'SIGINT' | 'SIGKILL'): void {
    if (this.child?.pid === undefined || this.over) return;
    try {
      process.kill(-this.child.pid, name);
    } catch {
      // The group has already ended.
    }
  }

  private readOutput(limit: number): () => string {
    const decoder = new StringDecoder('utf8');
    const mapper = new PathMapper(this.command.paths ?? []);
    const pieces: string[] = [];
    let length = 0;
    const take = (text: string): void => {
      if (text === '') return;
      if (this.command.onOutput) {
        this.command.onOutput(text);
        return;
      }
      length += text.length;
      if (length <= limit) {
        pieces.push(text);
      } else if (this.problem === undefined) {
        this.problem = `gpuemu wrote more than ${limit} bytes`;
        this.interrupt();
      }
    };
    this.child?.stdout?.on('data', (bytes: Buffer) => take(mapper.push(decoder.write(bytes))));
    return () => {
      take(mapper.end());
      return pieces.join('');
    };
  }
}

export function start(command: Command): Running {
  return new Running(command);
}

/** Ends all running processes. */
export function killAll(): void {
  for (const one of [...running]) one.kill();
}

/** Ends all processes with the editor, and prevents later ones from starting. */
export function close(): void {
  closed = true;
  killAll();
}

export function reopen(): void {
  closed = false;
}

export const runningCount = (): number => running.size;

/** A command line as it may be pasted into a shell, for the log. */
export function commandLine(program: string, args: string[]): string {
  const quoted = (text: string): string =>
    /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
  return [program, ...args].map(quoted).join(' ');
}
