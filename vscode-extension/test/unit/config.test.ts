import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { applied, hasOutputTolerance, isSuppressed, roundedUp, suppressionEdit, suppressionsOf, toleranceEdit } from '../../src/core/edits';
import { inlineTableAt, keyUnder, valueKeyAt } from '../../src/core/inlineTables';
import { kernelsIn } from '../../src/core/kernelText';
import { affectedOps, projectOfText, readProject } from '../../src/core/ops';
import { keyAt, keyMarkdown, keysAt } from '../../src/core/schema';
import { limitOf, namesOf, profileArguments } from '../../src/core/settings';
import { parseToml, stringsIn, tableNamed, valueOf } from '../../src/core/toml';
import { parseJson } from '../../src/core/json';

const TEXT = `# all
[validation]   # how
dtypes = ["float32", "f16"]

# softmax of rows
[[ops]]
name = "softmax"   # unique
kernel = ["fast", "slow"]
reference = "ref/softmax.py"
inputs = [
  { name = "x", shape = ["rows", "cols"] },  # ] no end
]
[ops.tolerances]
float32 = 1e-6     # measured

[[kernels]]
name = "fast"
source = "k/fast.cu"
launches = [{ entry = "fast<{ctype}>", grid = "rows" }]

[[kernels]]
name = "alone"
source = "k/alone.cu"
dims = { n = [1, 8] }
`;

test('tables, keys and values have their places', () => {
  const tables = parseToml(TEXT);
  assert.deepEqual(tables.map((one) => one.path),
    ['', 'validation', 'ops', 'ops.tolerances', 'kernels', 'kernels']);
  const op = tableNamed(tables, 'ops', 'softmax')!;
  assert.equal(valueOf(op, 'reference'), 'ref/softmax.py');
  const inputs = op.entries.find((one) => one.key === 'inputs')!;
  assert.ok(inputs.value.endsWith(']') && inputs.value.includes('no end'));
  const [fast] = stringsIn(op.entries.find((one) => one.key === 'kernel')!);
  assert.equal(TEXT.slice(fast!.span.start, fast!.span.end), '"fast"');
});

test('a file that is being written is read as far as it goes', () => {
  const tables = parseToml('[[ops]]\nname = "a"\ninputs = [\n[[ops]]\nname = "b"\nkern');
  assert.deepEqual(tables.map((one) => valueOf(one, 'name')), [undefined, 'a', 'b']);
  parseToml('[[');
  parseToml('a = """');
  parseToml('= 3\n"');
});

test('inline tables have their keys, also while they are written', () => {
  const at = (text: string) => {
    const offset = text.indexOf('|');
    const plain = text.replace('|', '');
    const entry = { ...parseToml(plain)[1]!.entries[0]! };
    entry.valueSpan = { start: entry.valueSpan.start, end: Math.max(entry.valueSpan.end, offset) };
    const table = inlineTableAt(plain, entry, offset);
    return table && [table.path.join('.'), table.keys.map((one) => one.name).join(' '),
      valueKeyAt(table, offset)?.name, keyUnder(table, offset)?.name];
  };
  assert.deepEqual(at('[[ops]]\ninputs = [{ name = "x", sh|ape = ["n"] }]\n'), ['inputs', 'name shape', undefined, 'shape']);
  assert.deepEqual(at('[[ops]]\ninputs = [{ name = "x" }, { name = "y", | }]\n'), ['inputs', 'name', undefined, undefined]);
  assert.deepEqual(at('[[ops]]\ninputs = [\n  { name = "x, } #", # {\n    |'), ['inputs', 'name', undefined, undefined]);
  assert.deepEqual(at('[[ops]]\ninputs = [{ name = "x", layout = "|" }]\n'), ['inputs', 'name layout', 'layout', undefined]);
  assert.deepEqual(at('[[ops]]\ntolerances = { float32 = { at|ol = 1 } }\n'), ['tolerances.float32', 'atol', undefined, 'atol']);
  assert.equal(at('[[ops]]\ninputs = [{ name = "x" }|]\n'), undefined);
  assert.equal(at('[[ops]]\nname = "a|"\n'), undefined);
});

test('a project of a text has its ops, dtypes and files', () => {
  const project = projectOfText(TEXT, '/p/gpuemu.toml');
  assert.deepEqual(project.ops.map((one) => [one.name, one.line, one.dtypes]),
    [['softmax', 6, ['float32', 'float16']], ['alone', 21, ['float32', 'float16']]]);
  assert.deepEqual(project.ops[0]?.entries, ['fast']);
  assert.deepEqual(affectedOps(project, '/p/k/fast.cu'), ['softmax']);
  assert.deepEqual(affectedOps(project, '/p/else.cu'), []);
});

test('the document of gpuemu ops', () => {
  const project = readProject({
    file: '/p/gpuemu.toml',
    ops: [{
      name: 'softmax', section: 'ops', execution_mode: 'kernel', dtypes: ['float32'],
      variants: ['fast'], file: '/p/gpuemu.toml', line: 6, column: 1, end_line: 12,
      files: [{ role: 'kernel', path: '/p/k/fast.cu' }, { role: 'reference', path: '/p/r.py' }],
    }],
    kernels: [{ name: 'fast', entries: ['fast<{ctype}>'], file: '/p/gpuemu.toml', line: 16, files: [] }],
  }, '/p');
  assert.deepEqual([project.ops[0]?.reference, project.ops[0]?.entries], ['/p/r.py', ['fast']]);
  assert.throws(() => readProject({ type: 'Error', message: 'wrong file' }, '/p'), /wrong file/);
});

test('a tolerance is set where it stands, comments stay', () => {
  const edit = toleranceEdit(TEXT, 'softmax', 'float32', 1.23e-5)!;
  assert.equal(applied(TEXT, edit), TEXT.replace('1e-6     # measured', '1.3e-5     # measured'));
});

test('a tolerance that is new joins its table, or the op', () => {
  assert.match(applied(TEXT, toleranceEdit(TEXT, 'softmax', 'float16', 0.002)!),
    /float32 = 1e-6 {5}# measured\nfloat16 = 0.002\n/);
  const text = '[[ops]]\nname = "a"  # one\r\n[ops.invariants]\nno_nan = true\n';
  assert.match(applied(text, toleranceEdit(text, 'a', 'float32', 0.5)!),
    /name = "a" {2}# one\r\ntolerances.float32 = 0.5\r\n\[ops.invariants\]/);
  const inline = '[[ops]]\nname = "a"\ntolerances = { float32 = { atol = 1, rtol = 2 } }  # x\n';
  assert.match(applied(inline, toleranceEdit(inline, 'a', 'float32', 3)!), /= \{ float32 = 3 \} {2}# x/);
  assert.match(applied(inline, toleranceEdit(inline, 'a', 'float16', 3)!), /\}, float16 = 3 \} {2}# x/);
  assert.equal(toleranceEdit(TEXT, 'nobody', 'float32', 1), undefined);
});

test('a tolerance replaces what is said of its dtype, however that is written', () => {
  const op = '[[ops]]\nname = "a"\n';
  const edited = (text: string): string => applied(op + text, toleranceEdit(op + text, 'a', 'float32', 3)!).slice(op.length);
  assert.equal(edited('tolerances = { bfloat16 = 1, f32 = 2 }\n'), 'tolerances = { bfloat16 = 1, f32 = 3 }\n');
  assert.equal(edited('tolerances.f32 = 2 # x\ndims = {}\n'), 'tolerances.f32 = 3 # x\ndims = {}\n');
  assert.equal(edited('tolerances.float32.atol = 2\n'), 'tolerances.float32.atol = 3\n');
  assert.equal(edited('tolerances.f32.rtol = 2\ndims = {}\n'),
    'tolerances.f32.rtol = 2\ntolerances.f32.atol = 3\ndims = {}\n');
  assert.equal(edited('[ops.tolerances]\nF32 = "auto"\n'), '[ops.tolerances]\nF32 = 3\n');
  assert.equal(edited('[ops.tolerances]\nfloat32.ulp = 2\n'), '[ops.tolerances]\nfloat32.ulp = 2\nfloat32.atol = 3\n');
  assert.equal(edited('[ops.tolerances.float32]\natol = 2\nrtol = 1\n'), '[ops.tolerances.float32]\natol = 3\nrtol = 1\n');
  assert.equal(edited('[ops.tolerances.f32]\nrtol = 1\n'), '[ops.tolerances.f32]\nrtol = 1\natol = 3\n');
  assert.equal(edited('[ops.tolerances.float16]\nrtol = 1\n'), 'tolerances.float32 = 3\n[ops.tolerances.float16]\nrtol = 1\n');
  // That of the next op is not this one's.
  const next = '[[ops]]\nname = "b"\n[ops.tolerances]\nfloat32 = 1\n';
  assert.equal(edited(next), `tolerances.float32 = 3\n${next}`);
});

test('an output may have a tolerance of its own', () => {
  const op = '[[ops]]\nname = "a"\n';
  const has = (text: string): boolean => hasOutputTolerance(op + text, 'a');
  assert.ok(has('outputs = [{ name = "y", tolerance = 1e-3 }]\n'));
  assert.ok(has('[[ops.outputs]]\nname = "y"\ntolerance.atol = 1e-3\n'));
  assert.ok(!has('tolerances.float32 = 1\noutputs = [{ name = "y" }]\n'));
  assert.ok(!has('outputs = [{ name = "y" }]\n[[ops]]\nname = "b"\noutputs = [{ name = "y", tolerance = 1 }]\n'));
});

test('a measured value is rounded up, never down', () => {
  for (const value of [1.23e-5, 9.99e-7, 1, 0.1, 3.0000001e-4, 123456, 5e-324, 0.30000000000000004]) {
    assert.ok(Number(roundedUp(value)) >= value, `${value} became ${roundedUp(value)}`);
  }
  assert.deepEqual([roundedUp(0.0123), roundedUp(1.21e-9)], ['0.013', '1.3e-9']);
});

test('a suppression is a comment above its op', () => {
  const edit = suppressionEdit(TEXT, {
    op: 'softmax', kind: 'ToleranceExceeded', dtype: 'float16', reason: ' known\n loss ',
  })!;
  const text = applied(TEXT, edit);
  assert.match(text, /# softmax of rows\n# gpuemu: suppress ToleranceExceeded float16: known loss\n\[\[ops\]\]/);
  const all = suppressionsOf(text);
  assert.equal(isSuppressed(all, 'softmax', 'ToleranceExceeded', 'float16')?.reason, 'known loss');
  assert.equal(isSuppressed(all, 'softmax', 'ToleranceExceeded', 'float32'), undefined);
  assert.equal(isSuppressed(all, 'fast', 'ToleranceExceeded', 'float16'), undefined);
});

test('kernels are found in CUDA C++ and in Triton', () => {
  const cuda = `// __global__ void not_me(int)
extern "C" __global__ void
__launch_bounds__(256) scale(float* x) {}
template <typename T> __global__ __launch_bounds__(128, 2) void gelu(const T* x);
/* __global__ void nor_me() */
__global__ static void last(int n) { helper(n); }
`;
  assert.deepEqual(kernelsIn('a.cu', cuda).map((one) => [one.name, one.line]),
    [['scale', 2], ['gelu', 3], ['last', 5]]);
  const triton = '@triton.jit\n@other\ndef add(x):\n  pass\n@jit(debug=1)\ndef mul(y): pass\ndef no(): pass\n';
  assert.deepEqual(kernelsIn('a.py', triton).map((one) => one.name), ['add', 'mul']);
  assert.deepEqual(kernelsIn('a.txt', cuda), []);
});

test('the schema that is shipped has every table, with descriptions', () => {
  const schema = parseJson(fs.readFileSync('schemas/gpuemu.schema.json', 'utf8'));
  for (const name of ['project', 'runtime', 'validation', 'ops', 'kernels', 'policies', 'ci', 'daemon']) {
    assert.ok(keysAt(schema, [name]).length > 0, name);
  }
  assert.ok(keysAt(schema, ['ops']).some((key) => key.name === 'accumulate'));
  const backend = keyAt(schema, ['runtime', 'backend'])!;
  assert.ok(backend.values.includes('"cuda"'));
  assert.match(keyMarkdown(backend), /emulator/);
  assert.equal(keyAt(schema, ['ops', 'nothing']), undefined);
});

test('every key of the schema is offered and explains itself', () => {
  const schema = parseJson(fs.readFileSync('schemas/gpuemu.schema.json', 'utf8'));
  const silent: string[] = [];
  let count = 0;
  const visit = (path: string[]): void => {
    for (const key of keysAt(schema, path)) {
      const full = [...path, key.name];
      if (path.length > 6) continue;
      ++count;
      const info = keyAt(schema, full);
      if (!info || (info.description === '' && info.values.length === 0)) silent.push(full.join('.'));
      visit(full);
    }
  };
  visit([]);
  assert.deepEqual(silent, []);
  assert.ok(count > 150, `${count} keys`);
});

const TOOL = `${process.env['GPUEMU_BIN'] ?? '../build/release/bin'}/gpuemu`;

test('the schema that is shipped is what the tool prints',
  { skip: fs.existsSync(TOOL) ? false : `there is no ${TOOL}` }, () => {
    const done = spawnSync(TOOL, ['config', 'schema'], { encoding: 'utf8' });
    assert.equal(fs.readFileSync('schemas/gpuemu.schema.json', 'utf8'), done.stdout,
      'gpuemu config schema >vscode-extension/schemas/gpuemu.schema.json');
  });

test('a long run of blanks takes no time', () => {
  const blanks = ' '.repeat(100_000);
  for (const line of [`[${blanks}]x`, `[${blanks}x`, `[[ops${blanks}]]${blanks}x`, `[ops${blanks}# ]`]) {
    assert.ok(parseToml(`${line}\nname = "a"\n`).length > 0);
  }
  assert.deepEqual(parseToml('[ [').map((one) => one.path), ['', '[']);
  const [, table] = parseToml('  [ops.tolerances]   # of sum');
  assert.deepEqual([table!.path, table!.headerSpan], ['ops.tolerances', { start: 2, end: 18 }]);
});

test('settings of another type or size than is allowed', () => {
  assert.deepEqual([200, 0, -5, 1e9, 2.4, NaN, '50', null].map(limitOf), [200, 1, 1, 10_000, 2, 200, 200, 200]);
  assert.deepEqual(['quick', 'default', 'thorough', 'config=/x', ''].map(profileArguments),
    [['--quick'], [], ['--thorough'], [], []]);
  assert.deepEqual([undefined, 'softmax', ['a', 3, 'b'], 7].map(namesOf), [[], ['softmax'], ['a', 'b'], []]);
});

test('a gpuemu.toml of a thousand ops is read in a time that grows with its length', () => {
  const ops = (count: number): string => Array.from({ length: count }, (_, i) =>
    `# gpuemu: suppress DataRace: ${i}\n[[ops]]\nname = "a${i}"\nkernel = "a${i}"\n\n[[kernels]]\nname = "a${i}"\n`).join('\n');
  const msOf = (text: string): number => {
    const begun = process.cpuUsage();
    const project = projectOfText(text, '/p/gpuemu.toml');
    const count = suppressionsOf(text).length;
    assert.deepEqual([project.ops.length, project.ops.at(-1)!.line, count],
      [count, text.split('\n').length - 6, count]);
    const { user } = process.cpuUsage(begun);
    return user / 1000;
  };
  msOf(ops(500));  // Warms the compiler up.
  const [few, many] = [msOf(ops(500)), msOf(ops(5000))];
  assert.ok(many < 60 * Math.max(few, 5), `${few} ms for 500 ops, ${many} ms for 5000`);
});
