// What the extension costs: the time until it is active, of ten windows, and the memory of its host.

import { expect, test, type Page } from '@playwright/test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, Server, startServer } from './server';
import { open, openFile, statusItem } from './workbench';

const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };
const VSIX = path.join(ROOT, `build/gpuemu-${version}.vsix`);
const WINDOWS = 10;

test('the extension is active within 50 ms (median of ten windows)', async ({ page }) => {
  test.setTimeout(300_000);
  const server = await startServer({
    vsix: VSIX,
    project: path.join(EXTENSION, 'test/fixtures/project'),
    settings: { 'gpuemu.binaryPath': path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs') },
  });
  const times = (): number[] => {
    const logs = path.join(server.home, 'data/logs');
    return fs.readdirSync(logs, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('gpuemu.log'))
      .flatMap((name) => [...fs.readFileSync(path.join(logs, name), 'utf8')
        .matchAll(/active after ([\d.]+) ms/g)].map((match) => Number(match[1])));
  };
  try {
    for (let at = 1; at <= WINDOWS; ++at) {
      await open(page, server);
      await expect(statusItem(page)).toContainText('2', { timeout: 60_000 });
      await expect.poll(() => times().length).toBe(at);
    }
    const sorted = times().sort((a, b) => a - b);
    const median = (sorted[WINDOWS / 2 - 1]! + sorted[WINDOWS / 2]!) / 2;
    console.log(`active after ${median.toFixed(1)} ms (${sorted.join(', ')})`);
    expect(median).toBeLessThan(50);
  } finally {
    await server.stop();
  }
});

/** Megabytes of the extension host of a server: what it holds alone and its share of the rest. */
function hostMemory(server: Server): number {
  const isHost = (pid: string): boolean => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=extensionHost') &&
        fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${server.home}\0`);
    } catch {
      return false;  // It has ended.
    }
  };
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isHost(name));
  expect(pids).toHaveLength(1);
  const kilobytes = /^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pids[0]}/smaps_rollup`, 'utf8'))![1];
  return Number(kilobytes) / 1024;
}

/** The least of a while: a host that was just busy gives memory back late. */
async function leastMemory(page: Page, server: Server): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 15; ++i) {
    await page.waitForTimeout(1000);
    least = Math.min(least, hostMemory(server));
  }
  return least;
}

test('the extension takes less than 60 MB, with ten thousand failures', async ({ page }) => {
  const project = path.join(EXTENSION, 'test/fixtures/project');
  const measure = async (vsix: string | undefined): Promise<number> => {
    const server = await startServer({ vsix, project, settings: {
      'gpuemu.binaryPath': path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs'), 'gpuemu.failuresLimit': 10_000 } });
    try {
      fs.writeFileSync(path.join(server.home, 'fake/modes'), 'many');
      await open(page, server);
      if (vsix) await expect(statusItem(page)).toContainText('10000', { timeout: 60_000 });
      else await openFile(page, 'scale.cu');
      return await leastMemory(page, server);
    } finally {
      await server.stop();
    }
  };
  const without = await measure(undefined);
  const more = (await measure(VSIX)) - without;
  console.log(`the extension host takes ${without.toFixed(0)} MB, with the extension ${more.toFixed(0)} MB more`);
  expect(more).toBeLessThan(60);
});
