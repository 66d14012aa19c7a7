// What the extension costs: time until it is active, of ten windows, and memory of the extension host.
// The figures of docs/guides/vscode.md are printed here:
//   scripts/vscode_test.sh --screen figures.spec.ts
// A machine that does other things at the same time stretches times, not their ratios.

import { expect, test, type Page } from '@playwright/test';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, NODE, ROOT, Server, startServer } from './server';
import { open, statusItem } from './workbench';

const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };
const VSIX = path.join(ROOT, `build/gpuemu-${version}.vsix`);
const PROJECT = path.join(EXTENSION, 'test/fixtures/project');
const FAKE = path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs');
const WINDOWS = 10;

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.ceil(sorted.length / 2) - 1]! + sorted[Math.floor(sorted.length / 2)]!) / 2;
}

/** Milliseconds of the processor until Node itself has started. */
function startOfNode(): number {
  const one = (): number => Number(spawnSync(
    NODE, ['-e', 'const u = process.cpuUsage(); process.stdout.write(String((u.user + u.system) / 1000))'], { encoding: 'utf8' }).stdout);
  return median(Array.from({ length: WINDOWS }, one));
}

test('the extension is active sooner than Node starts', async ({ page }) => {
  test.setTimeout(900_000);
  const server = await startServer({
    vsix: VSIX, project: PROJECT, settings: { 'gpuemu.binaryPath': FAKE },
  });
  const times = (): [number, number][] => {
    const logs = path.join(server.home, 'data/logs');
    return fs.readdirSync(logs, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('gpuemu.log'))
      .flatMap((name) => [...fs.readFileSync(path.join(logs, name), 'utf8')
        .matchAll(/active after ([\d.]+) ms, ([\d.]+) ms of its thread/g)]
        .map((match): [number, number] => [Number(match[1]), Number(match[2])]));
  };
  let measured: [number, number][] = [];
  try {
    for (let at = 1; at <= WINDOWS; ++at) {
      await open(page, server);
      await expect(statusItem(page)).toContainText('2');
      await expect.poll(() => times().length).toBe(at);
    }
    measured = times();
  } finally {
    await server.stop();
  }
  const thread = median(measured.map(([, one]) => one));
  const node = startOfNode();
  console.log(`active after ${median(measured.map(([clock]) => clock)).toFixed(1)} ms, ${thread.toFixed(1)} ms of its ` +
    `thread (median of ${WINDOWS} windows); Node starts in ${node.toFixed(1)} ms of the processor`);
  expect(thread).toBeLessThan(node);
});

/** Megabytes that the extension host has for itself, garbage that waits for its collection included. */
function memoryOfHost(server: Server): number {
  const read = (pid: string, name: string): string => {
    try {
      return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
    } catch {
      return '';  // It has ended.
    }
  };
  const host = fs.readdirSync('/proc').find((pid) => /^\d+$/.test(pid) &&
    read(pid, 'cmdline').includes('--type=extensionHost') && read(pid, 'environ').includes(server.home));
  return Number(/RssAnon:\s+(\d+)/.exec(read(host ?? '0', 'status'))?.[1] ?? 0) / 1024;
}

/** The host of a window with so many stored failures, once it does nothing any more. */
async function settledMemory(page: Page, failures: number | undefined): Promise<number> {
  const server = await startServer({
    vsix: VSIX, project: failures === undefined ? path.join(PROJECT, 'kernels') : PROJECT,
    settings: { 'gpuemu.binaryPath': FAKE, 'gpuemu.failuresLimit': failures || 200 },
  });
  fs.writeFileSync(path.join(server.home, 'fake/modes'), failures === 0 ? 'none' : 'many');
  try {
    await open(page, server);
    if (failures !== undefined) {
      await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
        'aria-label', new RegExp(`daemon running.*${failures === 0 ? '' : `${failures} stored`}`));
    }
    let last = 0;
    await expect(async () => {
      const before = last;
      last = memoryOfHost(server);
      expect(last, 'there is an extension host').toBeGreaterThan(20);
      expect(Math.abs(last - before)).toBeLessThan(1);
    }).toPass({ intervals: [5000], timeout: 90_000 });
    return last;
  } finally {
    await server.stop();
  }
}

test('ten thousand failures make the extension host grow by less than a half', async ({ page }) => {
  test.setTimeout(900_000);
  const without = await settledMemory(page, undefined);
  const none = await settledMemory(page, 0);
  const few = await settledMemory(page, 1000);
  const many = await settledMemory(page, 10_000);
  console.log(`the extension host takes ${without.toFixed(0)} MB without a gpuemu.toml, ${none.toFixed(0)} MB with one, ` +
    `${few.toFixed(0)} MB with 1,000 failures and ${many.toFixed(0)} MB with 10,000`);
  expect(many).toBeLessThan(1.5 * without);
});
