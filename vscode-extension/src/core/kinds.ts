// How the editor presents each kind of finding. docs/reference/findings.md explains the kinds.

export type Severity = 'error' | 'warning' | 'information';

interface Kind {
  severity: Severity;
  /** What happened, for the sentence at the top of a failure. */
  phrase: string;
  /** True if a tolerance decides the finding, because it is about the size of an error. */
  tolerance?: boolean;
}

// Errors cannot be excused by any input; warnings depend on a setting of the op.
const KINDS: Record<string, Kind> = {
  ToleranceExceeded: {
    severity: 'error', phrase: 'is farther from the reference than its bound', tolerance: true,
  },
  NaNDetected: { severity: 'error', phrase: 'gives NaN where it must not' },
  InfDetected: { severity: 'error', phrase: 'gives an infinity where it must not' },
  ShapeMismatch: { severity: 'error', phrase: 'gives another shape than its reference' },
  DTypeMismatch: { severity: 'error', phrase: 'gives another dtype than its reference' },
  InvariantViolation: { severity: 'error', phrase: 'breaks an invariant' },
  ReferenceError: { severity: 'warning', phrase: 'has a reference that does not answer' },
  LaunchError: { severity: 'error', phrase: 'cannot be started' },
  Timeout: { severity: 'error', phrase: 'takes longer than it may' },
  WorkerLost: { severity: 'error', phrase: 'lost the process that ran it' },
  OutOfBounds: { severity: 'error', phrase: 'touches memory that is not its own' },
  Misaligned: { severity: 'error', phrase: 'uses an address that is not aligned' },
  UninitializedRead: { severity: 'error', phrase: 'depends on a value that nothing wrote' },
  DataRace: { severity: 'error', phrase: 'has a data race' },
  BarrierDivergence: { severity: 'error', phrase: 'has a barrier that not all threads reach' },
  IllegalSync: { severity: 'error', phrase: 'synchronises with a mask that does not fit' },
  UnsupportedInstruction: {
    severity: 'information', phrase: 'has an instruction that the emulator does not know',
  },
  Trap: { severity: 'error', phrase: 'stopped itself' },
  DeviceFault: { severity: 'error', phrase: 'made the device fault' },
  NotWritten: { severity: 'error', phrase: 'leaves elements of its output unwritten' },
  GuardDamaged: { severity: 'error', phrase: 'writes around a tensor' },
  InputModified: { severity: 'error', phrase: 'writes into an input' },
  NonDeterministic: { severity: 'warning', phrase: 'gives other bits in a second run' },
  DivisionByZero: { severity: 'error', phrase: 'divides an integer by zero' },
  Deadlock: { severity: 'error', phrase: 'waits for ever' },
  StackOverflow: { severity: 'error', phrase: 'recurs without an end' },
  RelationViolation: { severity: 'error', phrase: 'breaks a relation between two runs' },
  StaleOutput: { severity: 'error', phrase: 'gives the answer of the launch before' },
};

const UNKNOWN: Kind = { severity: 'error', phrase: 'fails' };

export const severityOf = (kind: string): Severity => (KINDS[kind] ?? UNKNOWN).severity;
export const phraseOf = (kind: string): string => (KINDS[kind] ?? UNKNOWN).phrase;
export const dependsOnTolerance = (kind: string): boolean => KINDS[kind]?.tolerance ?? false;
export const kindNames = (): string[] => Object.keys(KINDS);

/** The part of docs/reference/findings.md about a kind, from its heading to the next; "" for none. */
export function sectionOf(findings: string, kind: string): string {
  const lines = findings.split('\n');
  const first = lines.findIndex((line) => line.trim() === `### ${kind}`);
  if (first < 0) return '';
  const next = lines.findIndex((line, at) => at > first && /^##?#? /.test(line));
  return lines.slice(first, next < 0 ? undefined : next).join('\n').replace(/^### /, '# ').trim();
}
