// When the extension began to be loaded: extension.ts imports this module first.

interface ThreadUsage {
  threadCpuUsage?(): { user: number; system: number };
}

/** Milliseconds that this thread has computed, whatever else the machine does; of Node 22.19 and later. */
export function threadMs(): number | undefined {
  const usage = (process as ThreadUsage).threadCpuUsage?.();
  return usage && (usage.user + usage.system) / 1000;
}

const loadedAt = performance.now();
const threadAtLoad = threadMs();

/** How long loading and activation took until now. */
export function sinceLoaded(): string {
  const now = threadMs();
  const thread = now === undefined ? '' : `, ${(now - (threadAtLoad ?? 0)).toFixed(1)} ms of its thread`;
  return `${(performance.now() - loadedAt).toFixed(1)} ms${thread}`;
}
