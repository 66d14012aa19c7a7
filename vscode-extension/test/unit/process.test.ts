import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { atLeast, candidates, findBinary, versionIn } from '../../src/core/binary';
import { Latest } from '../../src/core/latest';
import { commandLine, killAll, runningCount, start } from '../../src/core/process';

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

test('the setting is the only candidate, else the environment comes before PATH', async () => {
  const around = { setting: '', folder, home: '/home/u', env: { PATH: '/usr/bin:relative', VIRTUAL_ENV: '/v' } };
  const all = candidates(around);
  assert.ok(all.indexOf(path.join(folder, '.venv/bin/gpuemu')) < all.indexOf('/v/bin/gpuemu'));
  assert.ok(all.indexOf('/v/bin/gpuemu') < all.indexOf('/usr/bin/gpuemu'));
  assert.ok(!all.some((one) => one.startsWith('relative')));
  assert.deepEqual(candidates({ ...around, setting: '~/g' }), ['/home/u/g']);
  assert.equal(candidates({ ...around, interpreter: '~/py/bin/python' })[0], '/home/u/py/bin/gpuemu');
  assert.deepEqual(candidates({ ...around, setting: '${workspaceFolder}/g' }), [path.join(folder, 'g')]);
  fs.mkdirSync(path.join(folder, 'venv/bin'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'venv/bin/gpuemu'), '', { mode: 0o755 });
  assert.equal(await findBinary(around), path.join(folder, 'venv/bin/gpuemu'));
  assert.equal(await findBinary({ ...around, setting: '/nowhere' }), undefined);
});

test('versions', () => {
  assert.equal(versionIn('gpuemu v1.12.0\n'), '1.12.0');
  assert.equal(versionIn('hello'), undefined);
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
  }, (earlier, later) => earlier + later);
  latest.ask('a', 1);
  latest.ask('b', 1);
  await new Promise((next) => setTimeout(next, 15));
  latest.ask('c', 1);
  await new Promise((next) => setTimeout(next, 120));
  assert.deepEqual([aborted, done], [['ab'], ['c']]);
});
