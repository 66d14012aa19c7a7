import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { FailureReader, summarized } from '../../src/core/failureStream';
import { parseJson } from '../../src/core/json';
import { problemsOf } from '../../src/core/problems';
import { CaseResult, readCase, readFailures } from '../../src/core/records';
import { rowsOf, rowTooltip } from '../../src/core/tree';

/** A failure as the tool writes it, with a seed above 2^53 as a number. */
const caseText = (at: number): string => JSON.stringify({
  passed: false, seed: 'SEED', op_name: at % 2 ? 'scale' : 'sum', max_diff: 1.5, max_rel_diff: 0.5,
  timestamp: 1790000000 + at, note: '"}]{\\', duration_ms: 3,
  failures: [{
    kind: 'OutOfBounds', message: `thread ${at % 64} writes 4 bytes behind y`, index: at, expected: null,
    actual: null, output: 'y', source_file: '/p/kernels/scale.cu', source_line: 4,
  }, { kind: 'OutputMismatch', message: 'element 3: expected 1, got 2', index: 3, expected: 1, actual: 2 }],
  error_stats: { count: 4096, num_exceeding: 17, max_abs: 0.5, max_rel: 0.5, max_ulp: 9,
    percentiles: { p50: 1e-7, p90: 1e-6, p99: 1e-5 }, histogram: [4000, 60, 20, 10, 6] },
  repro_info: { seed: 'SEED', dtype: 'float32', shape: [64, 64], strides: [64, 1], layout: 'Contiguous',
    dims: { rows: 64, cols: 64 }, kernel: 'scale', value_strategy: 'normal' },
}).replace(/"SEED"/g, String(17_000_000_000_000_000_000n + BigInt(at)));

/** The document in pieces as a pipe delivers them. */
function* pieces(count: number, size: number): Generator<string> {
  let text = '{"results":[';
  for (let at = 0; at < count; ++at) {
    text += `${at === 0 ? '' : ','}${caseText(at)}`;
    for (; text.length >= size; text = text.slice(size)) yield text.slice(0, size);
  }
  yield `${text}],"type":"Results"}\n`;
}

const documentOf = (count: number): string => [...pieces(count, 4096)].join('');

function read(all: Iterable<string>): CaseResult[] {
  const found: CaseResult[] = [];
  const reader = new FailureReader((one) => found.push(one));
  for (const piece of all) reader.push(piece);
  reader.end();
  return found;
}

test('stored failures that arrive in pieces are those of the whole document', () => {
  const whole = readFailures(parseJson(documentOf(20)));
  assert.equal(whole[19]?.seed, '17000000000000000019');
  for (const size of [1, 7, 100, 1000, 65536]) assert.deepEqual(read(pieces(20, size)), whole, `${size}`);
  assert.deepEqual(read(['{"type":"Results","more":{"a":[1]},"results":[', caseText(1), ']}']), whole.slice(1, 2));
  assert.deepEqual(read(['{"results": []}']), []);
});

test('a list that is cut off, an error of the tool and a flood are no list', () => {
  const text = documentOf(20);
  assert.throws(() => read([text.slice(0, -2000)]), /cut off/);
  assert.throws(() => read([text.slice(0, 5)]), SyntaxError);
  assert.throws(() => read(['{"message":"no dae', 'mon","type":"Error"}']), /no daemon/);
  assert.throws(() => read(['{"results":[{"seed":1}]}']), /"op_name"/);
  const flood = Array.from({ length: 32 }, () => 'no JSON '.repeat(1 << 13));
  assert.throws(() => read(flood), /no stored failure/);
});

test('a summary has what problems and rows show', () => {
  const full = readCase(parseJson(caseText(5)));
  const short = summarized(full);
  const shownOf = (one: CaseResult): unknown => [
    problemsOf([one], new Map(), '/p', '/p/gpuemu.toml'), rowTooltip(one, '/p'),
    rowsOf([one]).map((row) => row.id)];
  assert.deepEqual(shownOf(short), shownOf(full));
  assert.deepEqual([short.stats, short.shape, short.findings.length], [undefined, [], 1]);
});

const collect = ((): (() => void) => {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc') as () => void;
})();

const heapUsed = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

/** What the heap holds at most while failures arrive, and what it holds of them, in bytes of each. */
function costOf(count: number, isShort: boolean): { most: number; kept: number; text: number } {
  const idle = heapUsed();
  const words = new Map<string, string>();
  const kept: CaseResult[] = [];
  const reader = new FailureReader((one) =>
    kept.push(isShort ? summarized(one, words) : one));
  let most = 0;
  let text = 0;
  let at = 0;
  for (const piece of pieces(count, 65536)) {
    reader.push(piece);
    text += piece.length;
    if (++at % 16 === 0) most = Math.max(most, heapUsed() - idle);
  }
  reader.end();
  const after = heapUsed() - idle;
  assert.equal(kept.length, count);
  return { most: Math.max(most, after) / count, kept: after / count, text: text / count };
}

test('ten times the failures take ten times their summaries, and nothing for their text', () => {
  const few = costOf(2000, true);
  const many = costOf(20_000, true);
  const full = costOf(2000, false);
  console.log(`of a failure with ${many.text.toFixed(0)} bytes of text ${many.kept.toFixed(0)} are kept, ` +
    `with its details it were ${full.kept.toFixed(0)}`);
  assert.ok(many.kept < 0.6 * full.kept, `${many.kept} of ${full.kept} bytes are kept`);
  assert.ok(many.most < 1.3 * many.kept, `${many.most} bytes are held for ${many.kept}`);
  assert.ok(many.kept < 1.3 * few.kept, `${few.kept} bytes of each of few, ${many.kept} of many`);
});
