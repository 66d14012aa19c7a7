// The reports of the command line tool as TypeScript values. Unknown members are ignored; a missing
// required member is an error that names it.

import {
  flagAt, isObject, Json, JsonObject, listAt, numberAt, objectAt, seedAt, textAt, textsAt,
} from './json';

export interface Finding {
  kind: string;
  message: string;
  index?: number;
  expected?: number;
  actual?: number;
  output?: string;
  file?: string;
  line?: number;
  /** Why it fails and the first instruction that differs, if the run determined it. */
  verdict?: string;
  note?: string;
  divergence?: { file: string; line: number; instruction: string };
}

export interface ErrorStats {
  count: number;
  exceeding: number;
  maxAbs: number;
  maxRel: number;
  maxUlp?: number;
}

/** One case with its verdict. */
export interface CaseResult {
  passed: boolean;
  seed: string;
  op: string;
  dtype: string;
  layout: string;
  shape: number[];
  dims: Record<string, number>;
  kernel?: string;
  strategy?: string;
  maxDiff: number;
  findings: Finding[];
  timestamp: number;
  passesNow: boolean;
  stats?: ErrorStats;
}

/** The result of a run for one op and dtype. */
export interface OpReport {
  op: string;
  dtype: string;
  kernel?: string;
  cases: number;
  passed: number;
  failed: number;
  /** It should have run but could not. */
  broken: boolean;
  /** Why it has no verdict. */
  skipped?: string;
  referenceFailed: boolean;
  notRun: number;
  durationMs: number;
  failures: CaseResult[];
  notes: string[];
  /** For `fuzz`, whose report covers all dtypes: those with a passing case. */
  passedDtypes?: string[];
}

export interface RunReport {
  type: string;
  seed?: string;
  ops: OpReport[];
  incomplete?: string;
  durationMs: number;
}

export class UnreadableOutput extends Error {}

/** The tool's message where a document was expected. */
export class ToolSaid extends Error {}

function finding(value: Json): Finding {
  const divergence = objectAt(objectAt(value, 'diagnosis'), 'divergence');
  return {
    kind: textAt(value, 'kind') ?? 'Unknown',
    message: textAt(value, 'message') ?? '',
    index: numberAt(value, 'index'),
    expected: numberAt(value, 'expected'),
    actual: numberAt(value, 'actual'),
    output: textAt(value, 'output'),
    file: textAt(value, 'source_file') || undefined,
    line: numberAt(value, 'source_line') || undefined,
    verdict: textAt(objectAt(value, 'diagnosis'), 'verdict'),
    note: textAt(objectAt(value, 'diagnosis'), 'note'),
    divergence: divergence && textAt(divergence, 'file')
      ? {
        file: textAt(divergence, 'file') ?? '',
        line: numberAt(divergence, 'line') ?? 0,
        instruction: textAt(divergence, 'instruction') ?? '',
      }
      : undefined,
  };
}

function numbersOf(value: JsonObject | undefined): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [key, number] of Object.entries(value ?? {})) {
    if (typeof number === 'number') all[key] = number;
  }
  return all;
}

/** `value` is a ValidationResult, or a message that carries its members. */
export function readCase(value: Json | undefined, dtype = ''): CaseResult {
  const seed = seedAt(value, 'seed');
  const op = textAt(value, 'op_name');
  if (seed === undefined) throw new UnreadableOutput('a case without the member "seed"');
  if (op === undefined) throw new UnreadableOutput('a case without the member "op_name"');
  const repro = objectAt(value, 'repro_info');
  const stats = objectAt(value, 'error_stats');
  return {
    passed: flagAt(value, 'passed') ?? false,
    seed,
    op,
    dtype: textAt(repro, 'dtype') ?? textAt(value, 'dtype') ?? dtype,
    layout: textAt(repro, 'layout_name') ?? textAt(repro, 'layout') ?? '',
    shape: listAt(repro, 'shape').filter((one): one is number => typeof one === 'number'),
    dims: numbersOf(objectAt(repro, 'dims')),
    kernel: textAt(repro, 'kernel') || undefined,
    strategy: textAt(repro, 'value_strategy') || undefined,
    maxDiff: numberAt(value, 'max_diff') ?? 0,
    findings: listAt(value, 'failures').map(finding),
    timestamp: numberAt(value, 'timestamp') ?? 0,
    passesNow: flagAt(value, 'passes_now') ?? false,
    stats: stats && {
      count: numberAt(stats, 'count') ?? 0,
      exceeding: numberAt(stats, 'num_exceeding') ?? 0,
      maxAbs: numberAt(stats, 'max_abs') ?? Infinity,
      maxRel: numberAt(stats, 'max_rel') ?? Infinity,
      maxUlp: numberAt(stats, 'max_ulp'),
    },
  };
}

export function readOp(value: Json | undefined): OpReport {
  const op = textAt(value, 'op_name');
  const dtype = textAt(value, 'dtype');
  if (op === undefined) throw new UnreadableOutput('an op without the member "op_name"');
  const error = textAt(value, 'error') || undefined;
  const failed = numberAt(value, 'failed') ?? (error ? 0 : undefined);
  const passed = numberAt(value, 'passed') ?? (error ? 0 : undefined);
  if (failed === undefined || passed === undefined) {
    throw new UnreadableOutput(`op ${op} without the members "passed" and "failed"`);
  }
  return {
    op,
    dtype: dtype ?? '',
    kernel: textAt(value, 'kernel') || undefined,
    cases: numberAt(value, 'cases') ?? numberAt(value, 'total') ?? passed + failed,
    passed,
    failed,
    broken: error !== undefined || textAt(value, 'state') === 'broken',
    // Published clients recognize broken ops by this prefix.
    skipped: error ?? (textAt(value, 'skipped_reason')?.replace(/^error: /, '') || undefined),
    referenceFailed: flagAt(value, 'reference_failed') ?? false,
    notRun: numberAt(value, 'not_run') ?? 0,
    durationMs: numberAt(value, 'duration_ms') ?? 0,
    failures: listAt(value, 'failures').map((one) => readCase(one, dtype)),
    notes: textsAt(value, 'notes'),
    passedDtypes: Array.isArray((value as JsonObject)['proofs']) ? provenDtypes(value) : undefined,
  };
}

/** The document of `test`, `fuzz` or `ci`; streams have its members in RunFinished. */
export function readReport(value: Json): RunReport {
  if (Array.isArray(value)) return mergeReports(value.map(readReport));
  if (!isObject(value)) throw new UnreadableOutput('the report is no JSON object');
  if (Array.isArray(value['report'])) return readReport(value['report']);
  const body = objectAt(value, 'report') ?? value;
  const type = textAt(body, 'type') ?? '';
  if (type === 'Error') throw new ToolSaid(textAt(body, 'message') ?? 'an error');
  const isFuzz = numberAt(body, 'total') !== undefined && !Array.isArray(body['ops']);
  const ops = isFuzz ? fuzzedOps(body) : listAt(body, 'ops').map(readOp);
  if (!isFuzz && !Array.isArray(body['ops'])) {
    throw new UnreadableOutput(`a report of type "${type}" without the member "ops"`);
  }
  return {
    type,
    seed: seedAt(body, 'seed'),
    ops,
    incomplete: incompleteOf(body),
    durationMs: numberAt(body, 'duration_ms') ?? 0,
  };
}

/** There is a proof for each dtype with a passing case. */
const provenDtypes = (value: Json | undefined): string[] => listAt(value, 'proofs')
  .filter((one) => (numberAt(one, 'judged') ?? 0) > 0).map((one) => textAt(one, 'dtype') ?? '');

function incompleteOf(body: JsonObject): string | undefined {
  const value = body['incomplete'];
  if (value === undefined || value === null || value === false || value === '') return undefined;
  if (typeof value === 'string') return value;
  return textAt(value, 'message') ?? textAt(value, 'reason') ?? 'the run was ended early';
}

/** FuzzResults name an op only in its failures; newer versions also have `op_name`. */
function fuzzedOps(body: JsonObject): OpReport[] {
  const failures = listAt(body, 'failures').map((one) => readCase(one));
  const op = textAt(body, 'op_name') ?? failures[0]?.op ?? '';
  const error = textAt(body, 'error') || undefined;
  return [{
    op,
    dtype: '',
    cases: numberAt(body, 'total') ?? 0,
    passed: numberAt(body, 'passed') ?? 0,
    failed: numberAt(body, 'failed') ?? failures.length,
    broken: error !== undefined,
    skipped: error,
    referenceFailed: false,
    notRun: 0,
    durationMs: numberAt(body, 'duration_ms') ?? 0,
    failures,
    notes: textsAt(body, 'notes'),
    passedDtypes: provenDtypes(body),
  }];
}

function mergeReports(reports: RunReport[]): RunReport {
  return {
    type: reports[0]?.type ?? '',
    seed: reports[0]?.seed,
    ops: reports.flatMap((one) => one.ops),
    incomplete: reports.find((one) => one.incomplete)?.incomplete,
    durationMs: reports.reduce((sum, one) => sum + one.durationMs, 0),
  };
}

/** The document of `gpuemu failures`. */
export function readFailures(value: Json): CaseResult[] {
  if (!isObject(value) || !Array.isArray(value['results'])) {
    const said = textAt(value, 'message');
    throw said === undefined ? new UnreadableOutput('no member "results"') : new ToolSaid(said);
  }
  return value['results'].map((one) => readCase(one));
}

export interface DaemonState {
  state: 'running' | 'stopped' | 'silent';
  version?: string;
  /** The version of the program that sent the request. */
  toolVersion?: string;
  backend?: string;
  configPath?: string;
  pid?: number;
  workers?: number;
  jobs?: number;
  devices: string[];
}

/** The document of `gpuemu status`. */
export function readStatus(value: Json): DaemonState {
  const state = textAt(value, 'daemon');
  if (state === 'stopped' || state === 'silent') {
    return { state, pid: numberAt(value, 'pid'), devices: [] };
  }
  const version = textAt(value, 'version');
  if (version === undefined) throw new UnreadableOutput('a status without the member "version"');
  return {
    state: 'running',
    version,
    backend: textAt(value, 'backend'),
    configPath: textAt(value, 'config_path'),
    pid: numberAt(value, 'pid'),
    workers: numberAt(value, 'workers'),
    jobs: numberAt(value, 'jobs_running'),
    devices: listAt(value, 'devices').map((one) => textAt(one, 'name') ?? '').filter(Boolean),
  };
}

export interface ConfigProblem {
  file: string;
  /** Counted from 1; 0 for the whole file or an environment variable. */
  line: number;
  column: number;
  endLine?: number;
  endColumn?: number;
  key: string;
  message: string;
  warning: boolean;
}

/** The document of `gpuemu config check`. */
export function readConfigProblems(value: Json): ConfigProblem[] {
  if (!isObject(value) || !Array.isArray(value['problems'])) {
    throw new UnreadableOutput(textAt(value, 'message') ?? 'no member "problems"');
  }
  const one = (problem: Json, warning: boolean): ConfigProblem => ({
    file: textAt(problem, 'file') ?? '',
    line: numberAt(problem, 'line') ?? 0,
    column: numberAt(problem, 'column') ?? 0,
    endLine: numberAt(problem, 'end_line'),
    endColumn: numberAt(problem, 'end_column') ?? numberAt(problem, 'end'),
    key: textAt(problem, 'key') ?? '',
    message: textAt(problem, 'message') ?? '',
    warning: warning || textAt(problem, 'severity') === 'warning',
  });
  return [
    ...value['problems'].map((problem) => one(problem, false)),
    ...listAt(value, 'warnings').map((problem) => one(problem, true)),
  ];
}
