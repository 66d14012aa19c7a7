// The project's examples with the real tool and a real daemon, as a user goes through them. The
// pictures of docs/guides/vscode.md are made here:
//   GPUEMU_PICTURES=$PWD/docs/images/vscode scripts/vscode_test.sh --screen examples.spec.ts

import { expect, test } from '@playwright/test';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, startServer } from './server';
import {
  command, expand, filterProblems, open, openFile, picture, problemRow, statusItem, testRow, treeRow,
  webview,
} from './workbench';

const TOOL = path.join(process.env['GPUEMU_BIN'] ?? path.join(ROOT, 'build/release/bin'), 'gpuemu');
const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };

test.skip(!fs.existsSync(TOOL), `there is no ${TOOL}`);

test('the examples, from the first run to the daemon that goes away', async ({ page }) => {
  test.setTimeout(400_000);
  const server = await startServer({
    vsix: path.join(ROOT, `build/gpuemu-${version}.vsix`), project: path.join(ROOT, 'examples'),
    without: ['triton'], settings: { 'gpuemu.binaryPath': TOOL, 'gpuemu.profile': 'quick' },
  });
  const tool = (...args: string[]): void => {
    spawnSync(TOOL, args, { cwd: server.workspace, env: { ...process.env, HOME: server.home } });
  };
  try {
    await open(page, server);
    await expect(statusItem(page)).toBeVisible({ timeout: 60_000 });

    await test.step('a run from the Testing view', async () => {
      await command(page, 'Testing: Focus on Test Explorer View');
      await expect(testRow(page, 'softmax')).toBeVisible({ timeout: 30_000 });
      await command(page, 'Test: Run All Tests');
      await expect(testRow(page, 'reduce_missing_sync')).toHaveAttribute(
        'aria-label', /Failed/, { timeout: 240_000 });
      await expect(testRow(page, 'softmax')).toHaveAttribute('aria-label', /Passed/);
      await expand(testRow(page, 'gelu'));
      await picture(page, 'testing');
    });

    await test.step('the planted faults at their lines', async () => {
      await openFile(page, 'reduce_missing_sync.cu');
      await command(page, 'Problems: Focus on Problems View');
      for (const [op, kind] of [['scale_missing_tail_mask', 'OutOfBounds'],
        ['rowmax_wrong_identity', 'gpuemu'], ['reduce_missing_sync', 'DataRace']] as const) {
        await filterProblems(page, `${op} (`);
        await expect(problemRow(page, `${op} (float32`)).toContainText(kind);
      }
      await problemRow(page, 'reduce_missing_sync (float32').dblclick();
      await picture(page, 'problems');
      await filterProblems(page, '');
    });

    await test.step('the page of a failure', async () => {
      await command(page, 'View: Close All Editors');
      await command(page, 'View: Hide Panel');
      await command(page, 'gpuemu: Show Failures');
      const kind = treeRow(page, 'DataRace at reduce_missing_sync.cu');
      await expand(kind);
      const row = treeRow(page, 'reduce_missing_sync float32, DataRace, seed');
      await picture(page, 'failures');
      await row.click();
      await expect(webview(page).locator('h1')).toContainText('has a data race');
      await expect(webview(page).locator('h3').first()).toContainText('x: float32', { timeout: 60_000 });
      await picture(page, 'details');
    });

    await test.step('a fuzz run that is cancelled', async () => {
      await command(page, 'View: Close All Editors');
      await openFile(page, 'softmax.cu');
      await page.locator('.codelens-decoration a', { hasText: 'Fuzz' }).first().click();
      await expect(statusItem(page)).toContainText(/\d+ of \d+ cases/, { timeout: 60_000 });
      await command(page, 'gpuemu: Cancel Running Job');
      await expect(statusItem(page)).not.toContainText('cases', { timeout: 20_000 });
    });

    await test.step('gpuemu.toml', async () => {
      await command(page, 'View: Close All Editors');
      await openFile(page, 'gpuemu.toml');
      await page.keyboard.press('Control+F');
      await page.keyboard.type('accumulate = "cols"');
      await page.keyboard.press('Escape');
      await page.keyboard.press('End');
      await page.keyboard.press('Enter');
      await page.keyboard.type('accumulte = 3');
      await page.keyboard.press('Escape');
      await command(page, 'Problems: Focus on Problems View');
      await filterProblems(page, 'accumulte');
      await expect(problemRow(page, "did you mean 'accumulate'")).toBeVisible({ timeout: 30_000 });
      await picture(page, 'config');
      await command(page, 'File: Revert File');
    });

    await test.step('a daemon that was stopped behind the editor is started again', async () => {
      tool('daemon', 'stop');
      await command(page, 'gpuemu: Run All Ops (Quick)');
      await expect(page.locator('.notification-toast', { hasText: 'gpuemu test all ops' }))
        .toBeVisible();
      await expect(page.locator('.notification-toast', { hasText: 'gpuemu test all ops' }))
        .toBeHidden({ timeout: 120_000 });
      await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
        'aria-label', /daemon running.*3 failed/, { timeout: 30_000 });
    });
  } finally {
    tool('daemon', 'stop');
    await server.stop();
  }
});
