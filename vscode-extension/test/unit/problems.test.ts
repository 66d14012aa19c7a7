import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { kindNames, sectionOf, severityOf } from '../../src/core/kinds';
import { OpEntry } from '../../src/core/ops';
import { problemsOf, suffixOf } from '../../src/core/problems';
import { CaseResult, Finding } from '../../src/core/records';
import { groupsToReplay } from '../../src/core/replay';
import { Row, rowAccessible, ROWS_MAX, rowsOf, rowTooltip } from '../../src/core/tree';
import { statusText } from '../../src/core/status';
import { someFail } from '../../src/core/words';

const finding = (more: Partial<Finding> = {}): Finding =>
  ({ kind: 'DataRace', message: 'two threads', ...more });
const failure = (more: Partial<CaseResult> = {}): CaseResult => ({
  passed: false, seed: '18446744073709551615', op: 'sum', dtype: 'float32', layout: '', shape: [],
  dims: { n: 3 }, maxDiff: 0, findings: [finding()], timestamp: 0,
  passesNow: false, ...more,
});
const ENTRY: OpEntry = {
  name: 'sum', isKernel: false, dtypes: ['float32'], variants: [], file: '/p/gpuemu.toml',
  line: 7, column: 1, reference: '/p/ref.py', entries: [], files: [], runnable: true,
};
const show = (failures: CaseResult[], entry: OpEntry | null = ENTRY) =>
  problemsOf(failures, new Map(entry ? [['sum', entry]] : []), '/p', '/p/gpuemu.toml');

test('a finding stands at its kernel line, else at its op, else at its reference', () => {
  const at = finding({ file: 'k/sum.cu', line: 12 });
  assert.deepEqual(show([failure({ findings: [at] })])[0]?.place, { file: '/p/k/sum.cu', line: 12 });
  assert.deepEqual(show([failure()])[0]?.place, { file: '/p/gpuemu.toml', line: 7 });
  assert.deepEqual(show([failure()], { ...ENTRY, line: 0 })[0]?.place, { file: '/p/ref.py', line: 0 });
  assert.deepEqual(show([failure()], null)[0]?.place, { file: '/p/gpuemu.toml', line: 0 });
});

test('failures of one kind at one line are one problem with a count', () => {
  const [problem, other] = show([failure(), failure({ seed: '2' }), failure({ dtype: 'float16' })]);
  assert.equal(problem?.more, 1);
  assert.equal(other?.dtype, 'float16');
  assert.equal(suffixOf(problem!), ' [seed 18446744073709551615, and 1 more here]');
});

test('a problem has the largest difference of its failures', () => {
  const [problem] = show([failure({ maxDiff: 2 }), failure({ seed: '2', maxDiff: 3 }), failure({ seed: '3' })]);
  assert.equal(problem?.maxDiff, 3);
});

test('after a run the stored failures of its ops run again that it has not executed', () => {
  const report = (more: object) => ({ type: '', durationMs: 0, ops: [{
    op: 'sum', dtype: 'float32', cases: 1, passed: 1, failed: 0, broken: false, referenceFailed: false,
    notRun: 0, durationMs: 0, failures: [], notes: [], ...more,
  }] });
  const at = (line: number): Finding[] => [finding({ file: '/p/sum.cu', line })];
  const stored = [failure({ findings: at(3) }), failure({ seed: '2', findings: at(3) }),
    failure({ seed: '3', findings: at(4) }), failure({ seed: '4', dtype: 'float16' }), failure({ op: 'max' })];
  const seeds = (more: object) => groupsToReplay(stored, report(more)).map((all) => all.map((one) => one.seed));
  assert.deepEqual(seeds({}), [['18446744073709551615', '2'], ['3']]);
  assert.deepEqual(seeds({ failed: 1, failures: [failure({ seed: '9', findings: at(4) })] }),
    [['18446744073709551615', '2']]);
  assert.deepEqual(seeds({ passed: 0 }), []);
  assert.deepEqual(groupsToReplay(stored, undefined), []);
});

test('what passes now is no problem', () => {
  assert.deepEqual(show([failure({ passesNow: true })]), []);
});

test('a place in a file whose name has blanks and umlauts is related, and no part of a name', () => {
  const file = 'k one/r\u00e4ce.cu';
  const message = `wrote at /p/${file}:9 and at /p/n\u00e4h.cuh:4, not my${file}:2; here /p/${file}:12`;
  const entry = { ...ENTRY, files: [`/p/${file}`, '/p/ref.py'], reference: undefined };
  const [problem] = show([failure({ findings: [finding({ file, line: 12, message })] })], entry);
  assert.deepEqual(problem!.related.map((one) => [one.message, one.place.file, one.place.line]).slice(0, 2), [
    [`also at ${file}:9`, `/p/${file}`, 9], ['also at n\u00e4h.cuh:4', '/p/n\u00e4h.cuh', 4]]);
  assert.ok(problem!.related.every((one) => one.place.file !== `/p/${file}` || one.place.line !== 2));
});

test('the second line of a race, the instruction and the reference are related', () => {
  const one = finding({
    file: '/p/k/sum.cu', line: 12, message: 'written at k/sum.cu:12, read at k/sum.cu:14',
    divergence: { file: '/p/k/sum.cu', line: 9, instruction: 'add.f32' },
  });
  const [problem] = show([failure({ findings: [one] })]);
  assert.deepEqual(problem?.related.map((each) => [each.place.file, each.place.line]),
    [['/p/k/sum.cu', 14], ['/p/k/sum.cu', 9], ['/p/ref.py', 0]]);
});

test('places in a folder whose name has blanks are found', () => {
  const one = finding({ file: '/a b/k/sum.cu', line: 12, message: 'read at /a b/k/sum.cu:14', note: 'begins at /a b/k/sum.cu:16' });
  const [problem] = problemsOf([failure({ findings: [one] })], new Map(), '/a b', '/a b/gpuemu.toml');
  assert.equal(problem?.related[0]?.place.file, '/a b/k/sum.cu');
  assert.match(problem!.message, /read at k\/sum.cu:14\nbegins at k\/sum.cu:16/);
  assert.match(rowTooltip(failure({ findings: [one] }), '/a b'), /begins at k\/sum.cu:16/);
});

test('every kind has a page, and an unknown one is an error', () => {
  const page = fs.readFileSync('../docs/reference/findings.md', 'utf8');
  for (const kind of kindNames()) assert.match(sectionOf(page, kind), new RegExp(`^# ${kind}`));
  assert.equal(severityOf('Novelty'), 'error');
  assert.equal(sectionOf(page, 'Novelty'), '');
});

test('rows are grouped by op, then kind and line', () => {
  const at = (line: number): Finding[] => [finding({ file: '/p/sum.cu', line })];
  const rows = rowsOf([failure({ findings: at(3) }), failure({ seed: '2', findings: at(4) }),
    failure({ op: 'max' })]);
  assert.deepEqual(rows.map((row) => row.type === 'op' && [row.op, row.children().length]),
    [['sum', 2], ['max', 1]]);
  assert.equal(rowAccessible(failure()), 'sum float32, DataRace, seed 18446744073709551615');
});

test('ten thousand failures are grouped in no time', () => {
  const many = Array.from({ length: 10_000 }, (_, at) => failure({ seed: String(at), op: `op${at % 40}` }));
  const begun = performance.now();
  rowsOf(many);
  show(many);
  assert.ok(performance.now() - begun < 500);
});

test('the status says what runs, and is broken only when something is', () => {
  const idle = { trusted: true, daemon: 'running' as const, failures: 0, jobs: [] };
  assert.equal(statusText(idle).text, 'gpuemu');
  assert.match(statusText({ ...idle, jobs: [{ title: 'gpuemu test', detail: '3 of 9 cases' }] }).text, /spin.*3 of 9/);
  assert.match(statusText({ ...idle, failures: 3 }).accessible, /daemon running.*3 stored failures/);
  assert.equal(statusText({ ...idle, daemon: 'silent' }).broken, true);
  assert.equal(statusText({ ...idle, trusted: false, problem: 'x' }).broken, false);
});

test('more cases than are shown have a row that counts them', () => {
  const many = Array.from({ length: ROWS_MAX + 3 }, (_, i) => failure({ seed: String(i) }));
  const [op] = rowsOf(many);
  const cases = (all: CaseResult[]): Row[] => {
    const [one] = rowsOf(all);
    const [kind] = one?.type === 'op' ? one.children() : [];
    return kind?.type === 'kind' ? kind.children() : [];
  };
  assert.equal(op?.type === 'op' && op.count, ROWS_MAX + 3);
  const last = cases(many).at(-1);
  assert.equal(last?.type === 'more' && last.count, 3);
  assert.equal(new Set(cases(many).map((one) => one.id)).size, ROWS_MAX + 1);
  assert.ok(cases(many.slice(3)).every((one) => one.type === 'failure'));
});

test('one failure is one failure', () => {
  const shown = (failures: number): string => statusText(
    { trusted: true, daemon: 'running', failures, jobs: [] }).accessible;
  assert.match(shown(1), /, 1 stored failure$/);
  assert.match(shown(2), /, 2 stored failures$/);
  assert.match(shown(0), /, 0 stored failures$/);
});

test('counts of one agree with their verb', () => {
  assert.equal(someFail(1, 1), '1 of 1 case fails');
  assert.equal(someFail(1, 3), '1 of 3 cases fails');
  assert.equal(someFail(3, 3), '3 of 3 cases fail');
});
