// How long the extension takes to become active, of ten windows.

import { expect, test } from '@playwright/test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, Server, startServer } from './server';
import { open, statusItem } from './workbench';

const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };
const WINDOWS = 10;
const VSIX = path.join(ROOT, `build/gpuemu-${version}.vsix`);
const PROJECT = path.join(EXTENSION, 'test/fixtures/project');
const FAKE = path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs');

test('the extension is active within 50 ms (median of ten windows)', async ({ page }) => {
  test.setTimeout(300_000);
  const server = await startServer({
    vsix: VSIX, project: PROJECT, settings: { 'gpuemu.binaryPath': FAKE },
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

/** Megabytes that the extension host holds of its own, garbage that waits for its collection included. */
function memoryOfHost(server: Server): number {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const read = (pid: string, name: string): string => {
    try {
      return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
    } catch {
      return '';  // It has ended.
    }
  };
  const host = pids.find((pid) => read(pid, 'cmdline').includes('--type=extensionHost') &&
    read(pid, 'environ').includes(server.home));
  return Number(/RssAnon:\s+(\d+)/.exec(read(host ?? '0', 'status'))?.[1] ?? NaN) / 1024;
}

test('what the extension host takes', async ({ page }) => {
  test.setTimeout(300_000);
  const measured: number[] = [];
  for (const [mode, failuresLimit] of [['', 0], ['none', 200], ['many', 1000], ['many', 10_000]] as const) {
    const server = await startServer({
      vsix: mode === '' ? undefined : VSIX, project: PROJECT,
      settings: { 'gpuemu.binaryPath': FAKE, 'gpuemu.failuresLimit': failuresLimit },
    });
    fs.writeFileSync(path.join(server.home, 'fake/modes'), mode);
    try {
      await open(page, server);
      if (mode === 'none') await expect(statusItem(page)).toBeVisible({ timeout: 60_000 });
      if (mode === 'many') await expect(statusItem(page)).toContainText(String(failuresLimit), { timeout: 60_000 });
      await page.waitForTimeout(6000);
      measured.push(memoryOfHost(server));
    } finally {
      await server.stop();
    }
  }
  console.log(measured.join(' '));
});
