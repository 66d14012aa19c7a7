// Values of settings as the tool takes them. The editor marks a wrong one in settings.json and passes
// it on nevertheless.

/** The argument of a profile; `validation.cases` of gpuemu.toml without one. */
export const profileArguments = (profile: string): string[] =>
  profile === 'quick' || profile === 'thorough' ? [`--${profile}`] : [];

const LIMIT = 200;
const LIMIT_MAX = 10_000;

/** How many failures are read. */
export function limitOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return LIMIT;
  return Math.min(LIMIT_MAX, Math.max(1, Math.round(value)));
}

/** Names in a task: a list, or one alone. */
export function namesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}
