import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heatMap, histogram, readErrorMap, strength } from '../../src/core/charts';
import { readCoverage } from '../../src/core/coverage';
import { detailsPage, failureMarkdown, linesAround, verdictSentence } from '../../src/core/details';
import { lintMarkdown, readChanges, readLint } from '../../src/core/lint';
import { CaseResult } from '../../src/core/records';
import { elementText, readTensors } from '../../src/core/tensors';

const RESULT: CaseResult = {
  passed: false, seed: '18446744073709551615', op: 'sum', dtype: 'float16', layout: 'Contiguous',
  shape: [2, 3], dims: { rows: 2, cols: 3 }, maxDiff: 0.5, maxRelDiff: 1, timestamp: 0,
  passesNow: false, findings: [{
    kind: 'ToleranceExceeded', message: 'element <5> & "more"', index: 5, expected: 1, actual: 0.5,
    output: 'y', file: '/p/k/sum.cu', line: 7,
  }],
};
const MAP = readErrorMap({
  op_name: 'sum', output: 'y', seed: 1, dtype: 'float16', shape: [4, 6], rows: 2, columns: 3,
  cells: [0, 1e-6, 0.5, null, 0, 0], distribution: { '0': 3, '1e-06': 1, '0.1': 1, inf: 1 },
})!;

test('the verdict is one sentence', () => {
  assert.equal(verdictSentence(RESULT),
    'sum is farther from the reference than its bound at sum.cu:7, in float16 with rows=2, cols=3.');
});

test('the page allows nothing from elsewhere and escapes what it shows', () => {
  const page = detailsPage({
    result: RESULT, inputs: [], map: MAP, explained: ['because <b>'], missing: [],
    source: linesAround('/p/k/sum.cu', 'a\nb\n  y[i] = x < 3;\nd', 3, 1),
  }, 'abc');
  assert.match(page, /default-src 'none'; style-src 'nonce-abc'; script-src 'nonce-abc'/);
  assert.ok(page.includes('element &lt;5&gt; &amp; &quot;more&quot;'));
  assert.ok(page.includes('because &lt;b&gt;') && page.includes('x &lt; 3'));
  assert.ok(!/<(?:img|link|iframe)|https?:|\son\w+=/.test(page));
  for (const script of page.matchAll(/<script[^>]*>/g)) assert.match(script[0], /nonce="abc"/);
});

test('an excerpt has a caret below its line', () => {
  const page = detailsPage({
    result: RESULT, inputs: [], explained: [], missing: [],
    source: linesAround('/p/k/sum.cu', 'a\n  bad();\nc', 2),
  }, 'n');
  assert.match(page, /<mark>.*bad\(\);<\/mark>\n<span class="caret" aria-hidden="true"> {8}\^{6}</);
});

test('the map needs all of its cells', () => {
  assert.equal(readErrorMap({ rows: 2, columns: 2, cells: [1] }), undefined);
  assert.equal(readErrorMap(null), undefined);
});

test('cells are shaded by decades, not finite ones fully', () => {
  assert.deepEqual([strength(0, 1), strength(null, 1), strength(1, 1)], [0, 1, 1]);
  assert.ok(strength(1e-4, 1) > strength(1e-6, 1));
  const svg = heatMap(MAP, { rows: 2, columns: 2 });
  assert.equal(svg.match(/data-at=/g)?.length, 6);
  assert.match(svg, /aria-label="Error of y: 3 of 6 cells differ, largest 0.500"/);
  assert.match(svg, /class="tiles"><line/);
});

test('the histogram is in order and has the bound', () => {
  const svg = histogram(MAP, 1e-3);
  assert.ok(svg.indexOf('>0<') < svg.indexOf('>1e-06<') && svg.indexOf('>0.1<') < svg.indexOf('>inf<'));
  assert.match(svg, /bound 0.00100/);
});

test('tensors of every width', () => {
  const bytes = (...values: number[]): string => Buffer.from(values).toString('base64');
  const [half, brain, real, whole] = readTensors({
    a: { dtype: 'float16', shape: [2], data: bytes(0, 0x3c, 0, 0x7c) },
    b: { dtype: 'bfloat16', shape: [1], data: bytes(0x80, 0xbf) },
    c: { dtype: 'float32', shape: [1], data: bytes(0, 0, 0xc0, 0x7f) },
    d: { dtype: 'int8', shape: [2], data: bytes(255, 1) },
    e: { dtype: 'complex64', shape: [1], data: '' },
  });
  assert.deepEqual([half?.values, brain?.values, whole?.values], [[1, Infinity], [-1], [-1, 1]]);
  assert.equal(elementText(real!.values[0]!, 'float32'), 'nan');
  assert.equal(elementText(Math.fround(0.1), 'float32'), '0.100000001');
});

test('long tensors are cut', () => {
  const data = Buffer.alloc(40_000).toString('base64');
  const [tensor] = readTensors({ x: { dtype: 'float32', shape: [10_000], data } });
  assert.deepEqual([tensor?.values.length, tensor?.cut], [4096, true]);
});

test('coverage has lines with the ways out of their branches', () => {
  const [file] = readCoverage({
    lines: [{ file: '/k.cu', line: 9, hits: 3 }, { file: '/k.cu', line: 8, hits: 0 }],
    branches: [{ file: '/k.cu', line: 9, branch: 0, way: 1, to_line: 10, hits: 0 }],
  });
  assert.deepEqual(file?.lines, [{ line: 8, hits: 0, ways: [] }, { line: 9, hits: 3, ways: [{ hits: 0, toLine: 10 }] }]);
});

test('what the compiler made of a kernel is a table', () => {
  const [one] = readLint([{
    kernel_name: 'k', passed: false, violations: [{ kind: 'ExcessiveRegisters', message: 'too many' }],
    metrics: { compiled: [{ arch: 'sm_80', registers: 96, shared_bytes: 256, spill_store_bytes: 0, spill_load_bytes: 0, occupancy: { fraction: 0.31 } }] },
  }]);
  const changes = readChanges({ diffs: [{ kernel_name: 'k', changes: [{ metric: 'registers', before: 40, after: 96, percent: 140 }] }] });
  const text = lintMarkdown(one!, changes.get('k'));
  assert.match(text, /\| sm_80 \| 96 \| 256 B \| 0 B \| 0.31 \|/);
  assert.match(text, /registers 40 → 96 \(\+140.0 %\)/);
});

test('a failure as Markdown ends with the command that repeats it', () => {
  assert.match(failureMarkdown(RESULT, ['a step']), /- a step[\s\S]*gpuemu reproduce 18446744073709551615 --op sum/);
});
