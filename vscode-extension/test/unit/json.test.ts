import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson, seedAt } from '../../src/core/json';
import {
  readCase, readConfigProblems, readFailures, readReport, readStatus,
} from '../../src/core/records';

test('seeds above 2^53 keep every digit', () => {
  const value = parseJson('{"seed": 18446744073709551615, "note": "12345678901234567890"}');
  assert.equal(seedAt(value, 'seed'), '18446744073709551615');
  assert.equal((value as { note: string }).note, '12345678901234567890');
});

test('the member with the suffix _text wins over a number', () => {
  const value = parseJson('{"seed": 7, "seed_text": "1795253678581123457"}');
  assert.equal(seedAt(value, 'seed'), '1795253678581123457');
});

test('long fractions and exponents stay numbers', () => {
  const value = parseJson('{"a": 0.12345678901234567, "b": 1234567890123456789e2, "c": -5}');
  assert.deepEqual(value, { a: 0.12345678901234567, b: 1234567890123456789e2, c: -5 });
});

const CASE = {
  passed: false, seed: 9, op_name: 'scale', max_diff: 4, max_rel_diff: 0.5, timestamp: 1,
  failures: [{
    kind: 'OutOfBounds', message: 'reads behind x', index: 3, expected: 2, actual: null,
    output: 'y', source_file: '/p/kernels/scale.cu', source_line: 9, later: true,
  }],
  repro_info: { dtype: 'float32', shape: [2, 2], layout: 'Contiguous', dims: { n: 4 } },
  unknown_member: {},
};

test('a case is read with its place, and what is unknown is ignored', () => {
  const one = readCase(CASE);
  assert.equal(one.findings[0]?.file, '/p/kernels/scale.cu');
  assert.equal(one.findings[0]?.line, 9);
  assert.equal(one.findings[0]?.actual, undefined);
  assert.deepEqual([one.dtype, one.dims], ['float32', { n: 4 }]);
});

test('a case without a seed is no case', () => {
  assert.throws(() => readCase({ op_name: 'x' }), /"seed"/);
});

test('stored failures need their list', () => {
  assert.equal(readFailures({ type: 'Results', results: [CASE] }).length, 1);
  assert.throws(() => readFailures({ type: 'Error', message: 'no daemon' }), /no daemon/);
});

test('a report of an error says what the error says', () => {
  assert.throws(() => readReport({ type: 'Error', message: 'no op x' }), /no op x/);
  assert.throws(() => readReport({ type: 'TestReport' }), /"ops"/);
});

test('reports of several ops of fuzz are joined', () => {
  const one = { type: 'FuzzResults', seed: 1, total: 5, passed: 5, failed: 0, failures: [] };
  const report = readReport({ type: 'RunFinished', report: [one, { ...one, failed: 1 }] });
  assert.deepEqual(report.ops.map((op) => op.failed), [0, 1]);
});

test('the states of the daemon', () => {
  assert.equal(readStatus({ daemon: 'stopped' }).state, 'stopped');
  assert.equal(readStatus({ daemon: 'silent', pid: 3 }).pid, 3);
  assert.equal(readStatus({ type: 'DaemonStatus', version: '1.0.0' }).state, 'running');
  assert.throws(() => readStatus({}), /"version"/);
});

test('errors of gpuemu.toml come with their ranges, warnings behind them', () => {
  const [error, warning] = readConfigProblems({
    problems: [{ file: 'a', line: 2, column: 3, end_line: 2, end_column: 8, key: 'k', message: 'm' }],
    warnings: [{ file: 'a', line: 4, column: 1, key: '', message: 'w' }],
  });
  assert.deepEqual([error?.endColumn, error?.warning, warning?.warning], [8, false, true]);
});
