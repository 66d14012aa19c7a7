// Measures loading and activation of the extension. Between the two the editor reads its storage and starts
// other extensions, which does not count. extension.ts imports this module first.

interface ThreadUsage {
  threadCpuUsage?(): { user: number; system: number };
}

/** Milliseconds that this thread has computed, independent of other load; needs Node 22.19 or later. */
export function threadMs(): number | undefined {
  const usage = (process as ThreadUsage).threadCpuUsage?.();
  return usage && (usage.user + usage.system) / 1000;
}

const now = (): { clock: number; thread: number | undefined } =>
  ({ clock: performance.now(), thread: threadMs() });

let begun = now();
const spent = { clock: 0, thread: 0 };

/** The end of loading, and of activation. */
export function stop(): void {
  const { clock, thread } = now();
  spent.clock += clock - begun.clock;
  spent.thread += (thread ?? 0) - (begun.thread ?? 0);
}

/** The begin of activation. */
export function start(): void {
  begun = now();
}

export const spentText = (): string => `${spent.clock.toFixed(1)} ms` +
  (begun.thread === undefined ? '' : `, ${spent.thread.toFixed(1)} ms of its thread`);
