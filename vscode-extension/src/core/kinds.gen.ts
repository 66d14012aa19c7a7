// How the editor presents each kind of finding.
// Written by tools/make_protocol.py from findings.def; edit that and run it again.
export type Severity = 'error' | 'warning' | 'information';

export interface Kind {
  severity: Severity;
  /** What happened, for the sentence at the top of a failure. */
  phrase: string;
  /** True if a tolerance decides the finding, because it is about the size of an error. */
  tolerance: boolean;
}

export const KINDS: Record<string, Kind> = {
  ToleranceExceeded: { severity: 'error', phrase: 'is farther from the reference than its bound', tolerance: true },
  NaNDetected: { severity: 'error', phrase: 'gives NaN where it must not', tolerance: false },
  InfDetected: { severity: 'error', phrase: 'gives an infinity where it must not', tolerance: false },
  ShapeMismatch: { severity: 'error', phrase: 'returns another shape than its reference', tolerance: false },
  DTypeMismatch: { severity: 'error', phrase: 'returns another dtype than its reference', tolerance: false },
  InvariantViolation: { severity: 'error', phrase: 'breaks an invariant', tolerance: false },
  ReferenceError: { severity: 'warning', phrase: 'has a reference that does not answer', tolerance: false },
  LaunchError: { severity: 'error', phrase: 'cannot be started', tolerance: false },
  Timeout: { severity: 'error', phrase: 'exceeds its time limit', tolerance: false },
  WorkerLost: { severity: 'error', phrase: 'lost the process that ran it', tolerance: false },
  OutOfBounds: { severity: 'error', phrase: 'touches memory that is not its own', tolerance: false },
  Misaligned: { severity: 'error', phrase: 'uses an address that is not aligned', tolerance: false },
  UninitializedRead: { severity: 'error', phrase: 'depends on a value that nothing wrote', tolerance: false },
  DataRace: { severity: 'error', phrase: 'has a data race', tolerance: false },
  BarrierDivergence: { severity: 'error', phrase: 'has a barrier that not all threads reach', tolerance: false },
  IllegalSync: { severity: 'error', phrase: 'synchronises with a mask that does not fit', tolerance: false },
  UnsupportedInstruction: { severity: 'information', phrase: 'has an instruction that the emulator does not know', tolerance: false },
  Trap: { severity: 'error', phrase: 'stopped itself', tolerance: false },
  DeviceFault: { severity: 'error', phrase: 'made the device fault', tolerance: false },
  NotWritten: { severity: 'error', phrase: 'leaves elements of its output unwritten', tolerance: false },
  GuardDamaged: { severity: 'error', phrase: 'writes around a tensor', tolerance: false },
  InputModified: { severity: 'error', phrase: 'writes into an input', tolerance: false },
  NonDeterministic: { severity: 'warning', phrase: 'returns different bits in a second run', tolerance: false },
  DivisionByZero: { severity: 'error', phrase: 'divides an integer by zero', tolerance: false },
  Deadlock: { severity: 'error', phrase: 'waits forever', tolerance: false },
  StackOverflow: { severity: 'error', phrase: 'recurses without end', tolerance: false },
  RelationViolation: { severity: 'error', phrase: 'breaks a relation between two runs', tolerance: false },
  StaleOutput: { severity: 'error', phrase: 'returns the result of the previous launch', tolerance: false },
};
