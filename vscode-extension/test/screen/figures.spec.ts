// How long the extension takes to become active, of ten windows.

import { expect, test } from '@playwright/test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, startServer } from './server';
import { open, statusItem } from './workbench';

const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };
const WINDOWS = 10;

test('the extension is active within 50 ms (median of ten windows)', async ({ page }) => {
  test.setTimeout(300_000);
  const server = await startServer({
    vsix: path.join(ROOT, `build/gpuemu-${version}.vsix`),
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
