// Runs work after a save or an edit: it waits until typing pauses, and only the latest request runs.

export class Latest<T> {
  private timer: NodeJS.Timeout | undefined;
  private waiting: T | undefined;
  private active: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();

  /** `merge` combines a request with one that still waits. */
  constructor(
    private readonly work: (value: T, signal: AbortSignal) => Promise<void>,
    private readonly onError: (error: unknown) => void,
    private readonly merge: (earlier: T, later: T) => T = (_, later) => later,
  ) {}

  /** Runs `work` after a pause of `delayMs`; ends an earlier run first. */
  ask(value: T, delayMs: number): void {
    this.waiting = this.waiting === undefined ? value : this.merge(this.waiting, value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.begin(), delayMs);
  }

  private begin(): void {
    this.active?.abort();
    const before = this.running;
    this.running = before.then(async () => {
      const value = this.waiting;
      if (value === undefined) return;  // A later call has taken its value.
      this.waiting = undefined;
      const active = new AbortController();
      this.active = active;
      try {
        await this.work(value, active.signal);
      } catch (error) {
        this.onError(error);  // The next one runs nevertheless.
      } finally {
        if (this.active === active) this.active = undefined;
      }
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.waiting = undefined;
    this.active?.abort();
  }
}
