// Converts values of settings to arguments of the tool. The editor marks a wrong value in settings.json but
// still passes it on.

/** The argument for a profile; without one validation.cases of gpuemu.toml applies. */
export const profileArguments = (profile: string): string[] =>
  profile === 'quick' || profile === 'thorough' ? [`--${profile}`] : [];

const LIMIT = 200;
const LIMIT_MAX = 10_000;

/** How many failures are read. */
export function limitOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return LIMIT;
  return Math.min(LIMIT_MAX, Math.max(1, Math.round(value)));
}

/** Names in a task: a list or a single name. */
export function namesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}
