import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CASES_MAX, LineSplitter, RunEvent, RunOutcome, RunReader } from '../../src/core/stream';
import { summaryOf, verdictOf } from '../../src/core/verdict';

const OP = { op_name: 'scale', dtype: 'float32', cases: 4, passed: 3, failed: 1 };
const FAILED = {
  type: 'CaseFailed', passed: false, seed_text: '9007199254740993', seed: 9007199254740992,
  op_name: 'scale', failures: [{ kind: 'OutOfBounds', message: 'm' }],
  repro_info: { dtype: 'float32' },
};
const REPORT = { type: 'TestReport', seed: 1, total: 4, passed: 3, failed: 1, ops: [OP] };

function read(lines: object[], code: number | null, errors = ''): [RunOutcome, RunEvent[]] {
  const events: RunEvent[] = [];
  const reader = new RunReader((event) => events.push(event));
  for (const line of lines) reader.line(JSON.stringify(line));
  return [reader.end(code, code === null ? 'SIGKILL' : null, errors), events];
}

test('lines are cut however they arrive', () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line), 100);
  for (const c of '{"a":1}\r\n\n{"b":"\u00fc"}') splitter.push(c);
  splitter.end();
  assert.deepEqual(lines, ['{"a":1}', '{"b":"\u00fc"}']);
});

test('a line beyond the limit is dropped and counted, the next one is read', () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line), 5);
  splitter.push('123');
  splitter.push('456789');
  splitter.push('0\nabc\n');
  splitter.end();
  assert.deepEqual([lines, splitter.dropped], [['abc'], 1]);
});

test('events come as they stream, and streamed cases belong to their op', () => {
  const [outcome, events] = read([
    { type: 'RunStarted', ops: ['scale'], dtypes: ['float32'], cases: 4 },
    { type: 'OpStarted', op_name: 'scale', dtype: 'float32' },
    { type: 'Progress', done: 2, total: 4, failures: 1 },
    FAILED, { type: 'OpFinished', ...OP }, { type: 'Novelty' },
    { type: 'RunFinished', exit_code: 1, report: REPORT },
  ], 1);
  assert.deepEqual(events.map((one) => one.type),
    ['started', 'opStarted', 'progress', 'caseFailed', 'opFinished']);
  assert.equal(outcome.problem, undefined);
  assert.equal(outcome.report?.ops[0]?.failures[0]?.seed, '9007199254740993');
});

test('a reader of the last line alone, and of a report of several lines, has the report', () => {
  assert.equal(read([REPORT], 1)[0].report?.ops[0]?.failed, 1);
  const reader = new RunReader(() => undefined);
  for (const line of JSON.stringify(REPORT, null, 2).split('\n')) reader.line(line);
  assert.equal(reader.end(1, null, '').report?.ops[0]?.failed, 1);
});

test('a case that is told twice is there once', () => {
  const whole = { ...REPORT, ops: [{ ...OP, failures: [{ ...FAILED, type: undefined }] }] };
  const [outcome] = read([FAILED, { type: 'RunFinished', report: whole }], 1);
  assert.equal(outcome.report?.ops[0]?.failures.length, 1);
});

test('fuzz has the names of its ops from the stream', () => {
  const [outcome] = read([
    { type: 'OpFinished', op_name: 'scale', total: 9, passed: 9, failed: 0, proofs: [{ dtype: 'float16', judged: 2 }] },
    { type: 'RunFinished', report: { type: 'FuzzResults', total: 9, passed: 9, failed: 0, failures: [] } },
  ], 0);
  const [op] = outcome.report!.ops;
  assert.deepEqual([op?.op, op?.cases, op?.passedDtypes], ['scale', 9, ['float16']]);
});

test('a run without a readable end is never green', () => {
  const begun = [{ type: 'RunStarted', ops: ['scale'] }, { type: 'OpFinished', ...OP, failed: 0 }];
  for (const code of [0, 1, 3, null]) {
    const [outcome] = read(begun, code, 'daemon gone');
    assert.match(outcome.problem ?? '', /without a report.*daemon gone/);
    const summary = summaryOf('/p', outcome, false, 5);
    assert.deepEqual([summary.passed, summary.errored], [0, 1]);
  }
});

test('truncated JSON is told as such', () => {
  const reader = new RunReader(() => undefined);
  reader.line(JSON.stringify(REPORT).slice(0, 40));
  assert.match(reader.end(0, null, '').problem ?? '', /cut off or no JSON/);
});

test('a record without its members is told by name', () => {
  const [outcome] = read([{ type: 'OpFinished', op_name: 'scale' }, REPORT], 0);
  assert.match(outcome.problem ?? '', /"passed"/);
});

test('an incomplete run and a killed one have a problem beside their report', () => {
  const incomplete = { ...REPORT, incomplete: 'interrupted after 2 of 4 cases' };
  assert.match(read([incomplete], 3)[0].problem ?? '', /interrupted/);
  assert.match(read([REPORT], null)[0].problem ?? '', /SIGKILL/);
  assert.match(read([{ type: 'Error', message: 'no op' }], 2)[0].problem ?? '', /no op/);
});

test('an op is broken by its state, or by the error of a fuzzed one', () => {
  const reason = 'k.cu(3): error: no such thing';
  const [broken] = read([{ ...REPORT, ops: [{
    ...OP, passed: 0, failed: 0, state: 'broken', skipped_reason: `error: ${reason}` }] }], 3)[0].report!.ops;
  assert.deepEqual(verdictOf(broken!), { state: 'errored', reason });
  const [stopped] = read([{ ...REPORT, ops: [{
    ...OP, passed: 0, failed: 0, state: 'no_variant_fits', skipped_reason: 'no kernel' }] }], 0)[0].report!.ops;
  assert.deepEqual(verdictOf(stopped!), { state: 'skipped', reason: 'no kernel' });
  const [fuzzed] = read([{ type: 'OpFinished', op_name: 'a', error: 'gone' }, {
    type: 'RunFinished', report: [{ type: 'FuzzResults', total: 0, error: 'gone' }] }], 3)[0].report!.ops;
  assert.equal(verdictOf(fuzzed!).state, 'errored');
});

test('the verdict of an op', () => {
  const base = {
    op: 'a', dtype: 'float32', cases: 4, passed: 4, failed: 0, broken: false, referenceFailed: false,
    notRun: 0, durationMs: 0, failures: [], notes: [],
  };
  assert.equal(verdictOf(base).state, 'passed');
  assert.equal(verdictOf({ ...base, failed: 1 }).state, 'failed');
  assert.equal(verdictOf({ ...base, referenceFailed: true }).state, 'errored');
  assert.equal(verdictOf({ ...base, notRun: 2 }).state, 'errored');
  assert.equal(verdictOf({ ...base, passed: 0, cases: 0 }).state, 'errored');
  assert.equal(verdictOf({ ...base, passed: 0, skipped: 'runs in the client' }).state, 'skipped');
  assert.deepEqual(verdictOf({ ...base, passed: 0, broken: true, skipped: 'does not compile' }),
    { state: 'errored', reason: 'does not compile' });
});

test('a flood of lines takes a bounded amount of memory and has no verdict', () => {
  const reader = new RunReader(() => undefined);
  for (let i = 0; i < 20; ++i) reader.line('x'.repeat(1 << 20));
  reader.line(JSON.stringify(REPORT));
  assert.match(reader.end(0, null, '').problem ?? '', /characters of it are no JSON/);
  const lines = Array.from({ length: CASES_MAX + 5 }, () => FAILED);
  const [outcome] = read([...lines.map((one, i) => ({ ...one, seed_text: String(i) })), REPORT], 1);
  assert.equal(outcome.report?.ops[0]?.failures.length, CASES_MAX);
});
