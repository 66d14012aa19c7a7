import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heatMap, histogram, readErrorMap, strength } from '../../src/core/charts';
import { readCoverage } from '../../src/core/coverage';
import { detailsPage, failureMarkdown, linesAround, verdictSentence } from '../../src/core/details';
import { readLaunches, tileOf } from '../../src/core/launches';
import {
  lintMarkdown, lintSentence, readBaseline, readChanges, readLint, resultsOf,
} from '../../src/core/lint';
import { ptxLineOf } from '../../src/core/ptx';
import { CaseResult } from '../../src/core/records';
import { elementText, readTensors } from '../../src/core/tensors';

const RESULT: CaseResult = {
  passed: false, seed: '18446744073709551615', op: 'sum', dtype: 'float16', layout: 'Contiguous',
  shape: [2, 3], dims: { rows: 2, cols: 3 }, maxDiff: 0.5, timestamp: 0,
  passesNow: false, findings: [{
    kind: 'ToleranceExceeded', message: 'element <5> & "more"', index: 5, expected: 1, actual: 0.5,
    output: 'y', file: '/p/k/sum.cu', line: 7,
  }],
};
const MAP = readErrorMap({
  op_name: 'sum', output: 'y', seed: 1, dtype: 'float16', shape: [4, 6], rows: 2, columns: 3,
  cells: [0, 1e-6, 0.5, null, 0, 0], distribution: { '0': 3, '1e-06': 1, '1e-01': 1, 'not finite': 1 }, bound: 1e-3,
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

test('a tolerance can be adjusted where one decides', () => {
  const page = (...kinds: string[]): string => detailsPage({
    result: { ...RESULT, findings: kinds.map((kind) => ({ kind, message: '' })) }, inputs: [], explained: [], missing: [],
  }, 'n');
  assert.match(page('ToleranceExceeded'), /data-command="adjustTolerance"/);
  assert.doesNotMatch(page('OutOfBounds'), /adjustTolerance/);
  // Wrong values that follow from a race are no matter of tolerance.
  assert.doesNotMatch(page('DataRace', 'ToleranceExceeded'), /adjustTolerance/);
});

test('outputs without an error have a sentence instead of a map', () => {
  const page = detailsPage({
    result: RESULT, inputs: [], explained: [], missing: [], map: { ...MAP, cells: MAP.cells.map(() => 0) },
  }, 'n');
  assert.match(page, /Each element of y equals its reference\./);
  assert.doesNotMatch(page, /svg class="heat"/);
});

test('the tile of a block follows from the grid', () => {
  const launch = (grid: number[], block: number[]) => [{ entry: 'k', grid, block }];
  assert.deepEqual(tileOf(launch([4, 3, 1], [16, 16, 1]), 40, 60), { rows: 16, columns: 16 });
  assert.deepEqual(tileOf(launch([4, 4, 1], [32, 8, 1]), 100, 100), { rows: 32, columns: 32 });
  assert.deepEqual(tileOf(launch([15, 1, 1], [544, 1, 1]), 15, 521), { rows: 1, columns: 521 });
  assert.deepEqual(tileOf(launch([3, 1, 1], [256, 1, 1]), 1, 700), { rows: 1, columns: 256 });
  // One block, or a grid that does not fit the output, says nothing.
  assert.equal(tileOf(launch([1, 1, 1], [256, 1, 1]), 4, 4), undefined);
  assert.equal(tileOf(launch([7, 1, 1], [256, 1, 1]), 4, 4), undefined);
  assert.equal(tileOf([], 4, 4), undefined);
  assert.deepEqual(readLaunches({ launches: [{ entry: 'k', grid: [1, 2, 3], block: [4] }] }), []);
});

test('a source line has its PTX', () => {
  const ptx = ['.file 1 "/p/k/sum.cu"', '.file 2 "/p/k/other.cuh"', '.entry sum(', ') {',
    '\t.loc 1 7 3', '$L0:', '\tld.global.f32 \t%f1, [%rd1];', '\tadd.f32 \t%f2, %f1, %f1;',
    '\t.loc 2 7 3', '\tmul.f32 \t%f3, %f2, %f2;', '}'].join('\n');
  assert.equal(ptxLineOf(ptx, '/p/k/sum.cu', 7), 7);
  assert.equal(ptxLineOf(ptx, '/p/k/sum.cu', 7, 'add.f32 %f2, %f1, %f1'), 8);
  assert.equal(ptxLineOf(ptx, '/p/k/other.cuh', 7), 10);
  assert.equal(ptxLineOf(ptx, '/p/k/sum.cu', 8), undefined);
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

test('indices of axes do not cover each other', () => {
  const labels = (rows: number, columns: number): number => heatMap({
    ...MAP, rows, columns, shape: [rows, columns], cells: Array<number>(rows * columns).fill(1),
  }).match(/<text/g)!.length;
  assert.deepEqual([labels(8, 8), labels(1, 8), labels(8, 1), labels(1, 1)], [5, 4, 4, 3]);
});

test('the histogram is in order and has the bound', () => {
  const svg = histogram(MAP);
  assert.ok(svg.indexOf('>0<') < svg.indexOf('>1e-06<') &&
    svg.indexOf('>1e-01<') < svg.indexOf('>not finite<'));
  assert.match(svg, /bound 0.00100/);
  const place = (bound: number): number =>
    Number(/class="bound" x1="(\d+)"/.exec(histogram({ ...MAP, bound }))![1]);
  // Bars of 64 begin at 56; a bound lies inside of its decade, in a gap at the end of the bar before.
  assert.deepEqual([place(1e-6), place(1e-3), place(Math.sqrt(10) * 0.1)], [120, 184, 216]);
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

test('what the compiler made of a kernel is a table of its instances', () => {
  const compiled = (registers: number, fraction: number) => ({ compiled: [{
    arch: 'sm_80', registers, shared_bytes: 256, spill_store_bytes: 4, spill_load_bytes: 8, occupancy: { fraction },
  }] });
  const results = readLint([
    { kernel_name: 'k:a<float>', passed: false, violations: [{ kind: 'ExcessiveRegisters', message: 'too many' }], metrics: compiled(96, 0.31) },
    { kernel_name: 'k:b', passed: true, violations: [], metrics: compiled(10, 1) },
    { kernel_name: 'kk', passed: true, violations: [], metrics: compiled(10, 1) },
  ]);
  const own = resultsOf(results, 'k');
  assert.equal(own.length, 2);
  const text = lintMarkdown(own);
  assert.match(text, /\| `a<float>` \| sm_80 \| 96 \| 256 B \| 12 B \| 0.31 \|/);
  assert.match(text, /too many/);
  assert.equal(lintSentence(own[1]!), 'b: sm_80 10 registers, 12 bytes spilled, 256 shared, occupancy 1.00');
  const kernels = readBaseline({ diffs: [{ kernel_name: 'k:a<float>', baseline: { kernel_name: 'k:a<float>', ...compiled(40, 0.5) } }] });
  const compared = lintMarkdown(own, { tag: 'main', kernels });
  assert.match(compared, /\| 96 \(was 40\) \| 256 B \| 12 B \| 0.31 \(was 0.50\) \|/);
  assert.match(compared, /Compared with baseline `main`/);
  assert.match(lintMarkdown([own[1]!], { tag: 'main', kernels }), /As in baseline `main`/);
});

test('what changed since a baseline has its growth', () => {
  const changes = readChanges({ diffs: [{ kernel_name: 'k', changes: [{ metric: 'registers', before: 40, after: 96, percent: 140 }] }] });
  assert.deepEqual(changes.get('k'), ['registers 40 → 96 (+140.0 %)']);
});

test('a failure as Markdown ends with the command that repeats it', () => {
  assert.match(failureMarkdown(RESULT, ['a step']), /- a step[\s\S]*gpuemu reproduce 18446744073709551615 --op sum/);
});
