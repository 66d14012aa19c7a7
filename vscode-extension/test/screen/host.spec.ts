// Runs the suite of test/host inside the editor's extension host.

import { expect, test, type Page } from '@playwright/test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, Server, startServer } from './server';

const FAKE = path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs');
const HOST_MS = 1_200_000;
test.setTimeout(HOST_MS + 60_000);  // What a suite that hangs has printed is shown too.

/** The editor reports lines and the end of the suite through two functions of the page. */
async function runSuite(page: Page, server: Server): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  let report: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => { report = resolve; });
  await page.exposeFunction('codeAutomationExit', (code: number) => report(code));
  await page.exposeFunction('codeAutomationLog', (type: string, args: unknown[]) => {
    lines.push(`${type}: ${args.join(' ')}`);
  });
  const remote = (name: string): string => `vscode-remote://${new URL(server.url).host}${name}`;
  const payload = JSON.stringify([
    ['extensionDevelopmentPath', remote(EXTENSION)],
    ['extensionTestsPath', remote(path.join(EXTENSION, 'dist/test/host/index'))],
  ]);
  await page.goto(`${server.url}/?folder=${encodeURIComponent(server.workspace)}` +
    `&payload=${encodeURIComponent(payload)}`);
  const code = await Promise.race([
    ended, new Promise<number>((resolve) => setTimeout(() => resolve(-1), HOST_MS))]);
  return { code, lines };
}

/** The extension's own log channel, as the server keeps it. */
function ownLog(server: Server): string {
  const logs = path.join(server.home, 'data/logs');
  const found = fs.readdirSync(logs, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('gpuemu.log'));
  return found.map((name) => fs.readFileSync(path.join(logs, name), 'utf8')).join('\n');
}

async function check(page: Page, server: Server): Promise<void> {
  const { code, lines } = await runSuite(page, server);
  const told = lines.map((line) => line.replace(/%[sdc]\S*/g, '').trim())
    .filter((line) => !/authentication provider|^\s*at .*workbench/.test(line));
  console.log(told.filter((line) => /✔|passing|failing|^error|\d+\)|Error|\bms\b/.test(line))
    .filter((line) => !/socket|connection token|workbench contribution/.test(line)).join('\n'));
  if (code !== 0) {
    fs.mkdirSync(path.join(EXTENSION, 'test-results'), { recursive: true });
    fs.writeFileSync(path.join(EXTENSION, 'test-results/host.log'),
      `${told.join('\n')}\n\n${ownLog(server)}\n\n${fs.readFileSync(server.log, 'utf8')}`);
    await page.screenshot({ path: path.join(EXTENSION, 'test-results/host.png') });
  }
  expect(code, 'see test-results/host.log').toBe(0);
}

test('the suite passes in the extension host', async ({ page }) => {
  const server = await startServer({
    project: path.join(EXTENSION, 'test/fixtures/project'),
    settings: { 'gpuemu.binaryPath': FAKE },
  });
  try {
    await check(page, server);
  } finally {
    await server.stop();
  }
});

test('the suite with the real tool passes in the extension host', async ({ page }) => {
  const bin = process.env['GPUEMU_BIN'] ?? path.join(ROOT, 'build/release/bin');
  const tool = path.join(bin, 'gpuemu');
  test.skip(!fs.existsSync(tool), `there is no ${tool}`);
  const server = await startServer({
    project: path.join(ROOT, 'examples'), without: ['triton'], settings: { 'gpuemu.binaryPath': tool },
    env: { GPUEMU_HOST_SUITE: 'real' },
  });
  try {
    await check(page, server);
  } finally {
    await server.stop();
  }
});
