import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { atLeast, candidates, findBinary, versionIn } from '../../src/core/binary';
import { Latest } from '../../src/core/latest';
import { PathMapper, pathMaps } from '../../src/core/pathMap';
import { close, commandLine, killAll, reopen, runningCount, start } from '../../src/core/process';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuemu unit \u00e4\u00f6 '));
after(() => fs.rmSync(folder, { recursive: true }));

function script(name: string, body: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return file;
}

/** What has ended and waits to be asked for its end does not count. */
const alive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

test('arguments arrive as they are, in a folder with spaces and umlauts', async () => {
  const program = script('say it', 'pwd; printf "%s\\n" "$@"; echo bad >&2; exit 3');
  const ended = await start({ program, args: ['a b', '$(x)', '"', '\u00e4'], cwd: folder }).ended;
  assert.deepEqual(ended.output.trim().split('\n'), [folder, 'a b', '$(x)', '"', '\u00e4']);
  assert.deepEqual([ended.code, ended.errors], [3, 'bad\n']);
});

test('what cannot be started is a problem, not an exception', async () => {
  const ended = await start({ program: path.join(folder, 'none'), args: [], cwd: folder }).ended;
  assert.match(ended.problem ?? '', /cannot be started/);
});

test('what the system refuses at once is a problem too, and a folder that is gone is named', async () => {
  const program = script('fine', 'true');
  const problemOf = async (args: string[], cwd: string): Promise<string> =>
    (await start({ program, args, cwd }).ended).problem ?? '';
  assert.match(await problemOf(['a\0b'], folder), /cannot be started: .*null bytes/);
  assert.match(await problemOf(['x'.repeat(4 << 20)], folder), /cannot be started: spawn E2BIG/);
  assert.match(await problemOf([], program), /cannot be started/);
  const gone = path.join(folder, 'gone');
  assert.ok((await problemOf([], gone)).endsWith(`fine cannot be started: there is no folder ${gone}`));
  assert.equal(runningCount(), 0);
});

test('a process that is left behind does not keep its starter from ending', async () => {
  const program = script('leaves', 'echo told; setsid sleep 30 & echo $! >"$1"; exit 4');
  const file = path.join(folder, 'left.pid');
  const ended = await start({ program, args: [file], cwd: folder, pipesMs: 100 }).ended;
  process.kill(Number(fs.readFileSync(file, 'utf8')), 'SIGKILL');
  assert.deepEqual([ended.code, ended.output], [4, 'told\n']);
});

test('cancel interrupts, and what it has found comes along', async () => {
  const program = script('polite', 'trap "echo kept; exit 130" INT; echo begun; sleep 30 & wait');
  const running = start({
    program, args: [], cwd: folder, onOutput: (text) => {
      seen += text;
      if (text.includes('begun')) running.cancel();
    },
  });
  let seen = '';
  const ended = await running.ended;
  assert.deepEqual([ended.code, ended.cancelled, seen], [130, true, 'begun\nkept\n']);
});

test('who does not follow is killed with everything that it started', async () => {
  const program = script('stubborn', 'trap "" INT; sleep 60 & echo $!; wait; sleep 60');
  let child = 0;
  const running = start({
    program, args: [], cwd: folder, graceMs: 100, onOutput: (text) => {
      child = Number(text);
      running.cancel();
    },
  });
  const ended = await running.ended;
  assert.equal(ended.signal, 'SIGKILL');
  for (let i = 0; i < 50 && alive(child); ++i) await new Promise((next) => setTimeout(next, 20));
  assert.equal(alive(child), false);
});

test('buffers are bounded', async () => {
  const program = script('loud', 'while :; do echo 0123456789012345678901234567890123456789; done');
  const ended = await start({ program, args: [], cwd: folder, outputMax: 10_000, graceMs: 100 }).ended;
  assert.match(ended.problem ?? '', /more than 10000 bytes/);
  assert.ok(ended.output.length <= 10_000);
});

test('a time-out ends it', async () => {
  const ended = await start({
    program: script('slow', 'exec sleep 60'), args: [], cwd: folder, timeoutMs: 50, graceMs: 100,
  }).ended;
  assert.equal(ended.timedOut, true);
});

test('nothing runs after killAll', async () => {
  const running = start({ program: script('left', 'exec sleep 60'), args: [], cwd: folder });
  assert.equal(runningCount(), 1);
  killAll();
  await running.ended;
  assert.equal(runningCount(), 0);
});

test('nothing is started once the editor ends', async () => {
  const running = start({ program: script('last', 'exec sleep 60'), args: [], cwd: folder });
  close();
  assert.equal((await running.ended).signal, 'SIGKILL');
  const after = await start({ program: script('after', 'echo here'), args: [], cwd: folder }).ended;
  assert.deepEqual([after.output, /the editor ends/.test(after.problem ?? '')], ['', true]);
  reopen();
});

test('paths are those that the editor knows, wherever the text is cut', async () => {
  const paths = pathMaps([{ shown: '/link', real: '/real \u00e4' }, { shown: '/link/p', real: '/real \u00e4/p' },
    { shown: '/link/p', real: '/else/p.x' }, { shown: '/same', real: '/same' }]);
  assert.deepEqual(paths, [{ from: '/real \u00e4/', to: '/link/' }, { from: '/else/p.x/', to: '/link/p/' }]);
  const text = '"/real \u00e4/a.cu" at /else/p.x/b.cu:3, not /x/real \u00e4/c nor /else/pyx/d, /real';
  const wanted = '"/link/a.cu" at /link/p/b.cu:3, not /x/real \u00e4/c nor /else/pyx/d, /real';
  for (let size = 1; size < text.length; ++size) {
    const mapper = new PathMapper(paths);
    let found = '';
    for (let at = 0; at < text.length; at += size) found += mapper.push(text.slice(at, at + size));
    assert.equal(found + mapper.end(), wanted, `pieces of ${size}`);
  }
  const program = script('where', `echo '/else/p.x/q'; echo '/else/p.x/q' >&2`);
  const ended = await start({ program, args: [], cwd: folder, paths }).ended;
  assert.deepEqual([ended.output, ended.errors], ['/link/p/q\n', '/link/p/q\n']);
});

test('the setting is the only candidate, else the environment comes before PATH', async () => {
  const around = { setting: '', folder, workspace: '/w', home: '/home/u', env: { PATH: '/usr/bin:relative', VIRTUAL_ENV: '/v' } };
  const all = candidates(around);
  assert.ok(all.indexOf(path.join(folder, '.venv/bin/gpuemu')) < all.indexOf('/v/bin/gpuemu'));
  assert.ok(all.indexOf(path.join(folder, 'env/bin/gpuemu')) < all.indexOf('/w/.venv/bin/gpuemu'));
  assert.ok(all.indexOf('/w/env/bin/gpuemu') < all.indexOf('/v/bin/gpuemu'));
  assert.ok(all.indexOf('/v/bin/gpuemu') < all.indexOf('/usr/bin/gpuemu'));
  assert.ok(!all.some((one) => one.startsWith('relative')));
  assert.deepEqual(candidates({ ...around, setting: '~/g' }), ['/home/u/g']);
  assert.equal(candidates({ ...around, interpreter: '~/py/bin/python' })[0], '/home/u/py/bin/gpuemu');
  for (const setting of ['${workspaceFolder}/g', 'g']) assert.deepEqual(candidates({ ...around, setting }), ['/w/g']);
  fs.mkdirSync(path.join(folder, 'venv/bin'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'venv/bin/gpuemu'), '', { mode: 0o755 });
  assert.equal(await findBinary(around), path.join(folder, 'venv/bin/gpuemu'));
  assert.equal(await findBinary({ ...around, setting: '/nowhere' }), undefined);
});

test('versions', () => {
  assert.equal(versionIn('gpuemu v1.12.0\n'), '1.12.0');
  for (const other of ['hello', 'Python 3.11.2', 'my-gpuemu 1.0.0']) assert.equal(versionIn(other), undefined);
  assert.deepEqual([atLeast('1.0.0', '1.0.0'), atLeast('1.10.0', '1.9'), atLeast('0.9.9', '1.0.0')],
    [true, true, false]);
});

test('a command line can be pasted into a shell', () => {
  assert.equal(commandLine('/a b/gpuemu', ['test', "it's"]), `'/a b/gpuemu' test 'it'\\''s'`);
});

test('the latest wins, and what waits is joined', async () => {
  const done: string[] = [];
  const aborted: string[] = [];
  const latest = new Latest<string>(async (value, signal) => {
    await new Promise((next) => setTimeout(next, 30));
    (signal.aborted ? aborted : done).push(value);
  }, () => undefined, (earlier, later) => earlier + later);
  latest.ask('a', 1);
  latest.ask('b', 1);
  await new Promise((next) => setTimeout(next, 15));
  latest.ask('c', 1);
  await new Promise((next) => setTimeout(next, 120));
  assert.deepEqual([aborted, done], [['ab'], ['c']]);
});

test('work that fails is told, and the next is done', async () => {
  const told: string[] = [];
  const latest = new Latest<string>((value) => {
    told.push(value);
    return value === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve();
  }, (error) => told.push(String(error)));
  latest.ask('bad', 1);
  await new Promise((next) => setTimeout(next, 20));
  latest.ask('good', 1);
  await new Promise((next) => setTimeout(next, 20));
  assert.deepEqual(told, ['bad', 'Error: no', 'good']);
});
