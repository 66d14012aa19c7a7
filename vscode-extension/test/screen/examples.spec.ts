// The project's examples with the real tool and a real daemon, as a user goes through them. The
// pictures of docs/guides/vscode.md are made here:
//   GPUEMU_PICTURES=$PWD/docs/images/vscode scripts/vscode_test.sh --screen examples.spec.ts
// and then reduced to 96 colours. The suite of screen.spec.ts takes pictures of the same names.

import { expect, test } from '@playwright/test';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { EXTENSION, ROOT, startServer } from './server';
import {
  collapseFailures, command, expand, filterProblems, open, openFile, picture, problemRow, quickFix, statusItem, tab,
  testRow, treeRow, webview,
} from './workbench';

const TOOL = path.join(process.env['GPUEMU_BIN'] ?? path.join(ROOT, 'build/release/bin'), 'gpuemu');
const { version } = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string };

const VSIX = path.join(ROOT, `build/gpuemu-${version}.vsix`);

test.skip(!fs.existsSync(TOOL), `there is no ${TOOL}`);

// Sizes of name and identifier, type 3, name: the note of an ELF file with its build.
const BUILD_ID = Buffer.from([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0]);

/** The same programs but for the identifier of the daemon's build. */
function otherInstallation(home: string): string {
  const folder = path.join(home, 'other');
  fs.mkdirSync(folder);
  for (const name of fs.readdirSync(path.dirname(TOOL))) {
    fs.symlinkSync(path.join(path.dirname(TOOL), name), path.join(folder, name));
  }
  const daemon = path.join(folder, 'gpuemu-daemon');
  const content = fs.readFileSync(daemon);
  const at = content.indexOf(BUILD_ID) + BUILD_ID.length;
  content.subarray(at, at + 20).reverse();
  fs.rmSync(daemon);
  fs.writeFileSync(daemon, content, { mode: 0o755 });
  // Programs look for each other beside themselves.
  fs.rmSync(path.join(folder, 'gpuemu'));
  fs.copyFileSync(TOOL, path.join(folder, 'gpuemu'));
  return path.join(folder, 'gpuemu');
}

test('the examples, from the first run to the daemon that goes away', async ({ page }) => {
  test.setTimeout(1_200_000);
  const server = await startServer({
    vsix: VSIX, project: path.join(ROOT, 'examples'),
    without: ['triton'], settings: { 'gpuemu.binaryPath': TOOL, 'gpuemu.profile': 'quick' },
  });
  const env = { ...process.env, HOME: server.home };
  const tool = (...args: string[]): string => spawnSync(
    TOOL, args, { cwd: server.workspace, env, encoding: 'utf8' }).stdout;
  const daemonBuild = (): string => /"build":"(\w+)"/.exec(tool('status', '--format', 'json'))?.[1] ?? '';
  const other = otherInstallation(server.home);
  spawnSync(other, ['daemon', 'start', '--background'], { cwd: server.workspace, env });
  const otherBuild = daemonBuild();
  expect(otherBuild).not.toBe('');
  try {
    await open(page, server);
    await expect(statusItem(page)).toBeVisible();

    await test.step('a run from the Testing view', async () => {
      await command(page, 'Testing: Focus on Test Explorer View');
      await expect(testRow(page, 'softmax')).toBeVisible();
      await command(page, 'Test: Run All Tests');
      await expect(testRow(page, 'reduce_missing_sync')).toHaveAttribute(
        'aria-label', /Failed/, { timeout: 240_000 });
      await expect(testRow(page, 'softmax')).toHaveAttribute('aria-label', /Passed/);
      await expand(testRow(page, 'gelu'));
      await picture(page, 'testing');
      expect(daemonBuild(), 'the daemon of another build was replaced').not.toBe(otherBuild);
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
      await expect(webview(page).locator('h3').first()).toContainText('x: float32');
      await picture(page, 'details');
      await expect(webview(page).locator('h2', { hasText: 'The same in PTX' })).toBeVisible();
    });

    await test.step('the page of wrong values has a map of the errors with the bound', async () => {
      await command(page, 'View: Close All Editors');
      await collapseFailures(page);
      await expand(treeRow(page, 'rowmax_wrong_identity, '));
      await expand(treeRow(page, 'ToleranceExceeded, '));
      await page.locator('.sidebar .monaco-list-row', { hasText: 'cols=1031 rows=16' }).click();
      await expect(webview(page).locator('svg.heat')).toBeVisible();
      await expect(webview(page).locator('svg.histogram')).toContainText('bound');
      await expect(webview(page).locator('#cell')).toContainText('tiles of blocks: 1 by');
      await webview(page).locator('h2', { hasText: 'Where the errors are' }).evaluate((title) => title.scrollIntoView(true));
      await picture(page, 'error-map');
    });

    await test.step('each quick fix', async () => {
      await command(page, 'View: Close All Editors');
      await command(page, 'Problems: Focus on Problems View');
      const fix = async (op: string, title: string): Promise<void> => {
        await command(page, 'View: Close All Editors');
        await command(page, 'Problems: Focus on Problems View');
        await filterProblems(page, `${op} (`);
        await quickFix(page, problemRow(page, `${op} (float32`), title);
      };
      await fix('reduce_missing_sync', 'Reproduce Failure');
      await expect(webview(page).locator('h1')).toContainText('has a data race');
      await fix('reduce_missing_sync', 'Minimize Failure');
      await expect(webview(page).locator('h1')).toContainText('with cols=1, rows=1');
      await fix('rowmax_wrong_identity', 'Explain Failure');
      await expect(webview(page).locator('h2', { hasText: 'Why' })).toBeVisible();
      await fix('reduce_missing_sync', 'Open Failure Details');
      await expect(webview(page).locator('h1')).toContainText('has a data race');
      await fix('reduce_missing_sync', 'Keep as Regression');
      await expect(tab(page, 'README.md')).toBeVisible();
      expect(fs.readdirSync(path.join(server.workspace, 'regressions'))[0]).toMatch(/^reduce_missing_sync-\d+$/);
      await fix('reduce_missing_sync', 'Debug Failure');
      await expect.poll(() => spawnSync('pgrep', ['-fc', 'gpuemu debug .* --repl'], { encoding: 'utf8' })
        .stdout.trim()).not.toBe('0');
      await command(page, 'Terminal: Kill the Active Terminal Instance');
      await fix('rowmax_wrong_identity', 'Adjust Tolerance');
      await expect(tab(page, 'gpuemu.toml')).toHaveClass(/dirty/);
      await command(page, 'File: Save');
      await expect(tab(page, 'gpuemu.toml')).not.toHaveClass(/dirty/);
      expect(fs.readFileSync(path.join(server.workspace, 'gpuemu.toml'), 'utf8'))
        .toMatch(/rowmax_wrong_identity"[^#]*\ntolerances\.float32 = [\d.e-]+/);
      await fix('reduce_missing_sync', 'Suppress with Reason');
      await page.keyboard.type('taught on purpose');
      await page.keyboard.press('Enter');
      await expect(tab(page, 'gpuemu.toml')).toHaveClass(/dirty/);
      await filterProblems(page, 'reduce_missing_sync (');
      // Hints stand in no list.
      await expect(problemRow(page, 'reduce_missing_sync (float32')).toBeHidden();
      await command(page, 'File: Revert File');
      await filterProblems(page, '');
    });

    await test.step('coverage paints the lines of a kernel', async () => {
      await command(page, 'View: Close All Editors');
      await command(page, 'Testing: Focus on Test Explorer View');
      await testRow(page, 'softmax').hover();
      await testRow(page, 'softmax').getByRole('button', { name: /Coverage/ }).first().click();
      await openFile(page, 'softmax.cu');
      await expect(page.locator('.coverage-deco-gutter').first()).toBeVisible({ timeout: 120_000 });
      await picture(page, 'coverage');
    });

    await test.step('a fuzz run that is cancelled', async () => {
      await command(page, 'View: Close All Editors');
      await openFile(page, 'softmax.cu');
      await page.locator('.codelens-decoration a', { hasText: 'Fuzz' }).first().click();
      await expect(statusItem(page)).toContainText(/\d+ of \d+ cases/);
      await command(page, 'gpuemu: Cancel Running Job');
      await expect(statusItem(page)).not.toContainText('cases');
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
      await expect(problemRow(page, "did you mean 'accumulate'")).toBeVisible();
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
        'aria-label', /daemon running.*3 failed/);
    });
  } finally {
    tool('daemon', 'stop');
    await server.stop();
  }
});

test('a new user comes from a kernel to its first failure', async ({ page }) => {
  const server = await startServer({
    vsix: VSIX, project: path.join(ROOT, 'examples/kernels'), settings: { 'gpuemu.profile': 'quick' },
  });
  try {
    for (const name of fs.readdirSync(server.workspace)) {
      if (name !== 'reduce_missing_sync.cu') fs.rmSync(path.join(server.workspace, name));
    }
    // Where pip puts it for one user.
    fs.mkdirSync(path.join(server.home, '.local/bin'), { recursive: true });
    fs.symlinkSync(TOOL, path.join(server.home, '.local/bin/gpuemu'));
    await open(page, server);
    await command(page, 'gpuemu: Show Failures');
    await expect(page.locator('.welcome-view', { hasText: 'No folder here has a gpuemu.toml' })).toBeVisible();
    await page.locator('.welcome-view .monaco-button', { hasText: 'Get Started' }).click();
    await expect(page.locator('.gettingStartedContainer', { hasText: 'Test a GPU Kernel' })).toBeVisible();
    await picture(page, 'walkthrough');
    await page.locator('.welcome-view .monaco-button', { hasText: 'Create gpuemu.toml' }).first().click();
    await expect(tab(page, 'gpuemu.toml')).toBeVisible();
    await expect(page.locator('.codelens-decoration a', { hasText: 'Run' }).first()).toBeVisible();
    await page.locator('.codelens-decoration a', { hasText: 'Run' }).first().click();
    await expect(treeRow(page, 'DataRace at reduce_missing_sync.cu:13')).toBeVisible();
    await command(page, 'Problems: Focus on Problems View');
    await expect(problemRow(page, 'reduce_missing_sync (float32')).toContainText('DataRace');
    await problemRow(page, 'reduce_missing_sync (float32').dblclick();
    await expect(tab(page, 'reduce_missing_sync.cu')).toBeVisible();
    await picture(page, 'first-failure');
  } finally {
    spawnSync(TOOL, ['daemon', 'stop'], { cwd: server.workspace, env: { ...process.env, HOME: server.home } });
    await server.stop();
  }
});

test('a new user in an empty folder gets an example, and is told what is wrong in its gpuemu.toml', async ({ page }) => {
  const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuemu-empty-'));
  const server = await startServer({
    vsix: VSIX, project: empty, settings: { 'gpuemu.binaryPath': TOOL, 'gpuemu.profile': 'quick' },
  });
  const config = path.join(server.workspace, 'gpuemu.toml');
  const label = statusItem(page).locator('[aria-label]').first();
  try {
    await open(page, server);
    await command(page, 'gpuemu: Show Failures');
    await page.locator('.welcome-view .monaco-button', { hasText: 'Create gpuemu.toml' }).first().click();
    await expect(tab(page, 'gpuemu.toml')).toBeVisible();
    await expect(page.locator('.codelens-decoration a', { hasText: 'Run' }).first()).toBeVisible();
    await page.locator('.welcome-view .monaco-button', { hasText: 'Run All Ops' }).click();
    await expect(label).toHaveAttribute('aria-label', /last run 1 passed,/);
    await picture(page, 'first-run');

    await command(page, 'View: Close All Editors');
    const text = fs.readFileSync(config, 'utf8');
    fs.writeFileSync(config, text.replace('outputs = ', 'output = '));
    await expect(label).toHaveAttribute('aria-label', /gpuemu\.toml:\d+:1: .*did you mean 'outputs'/);
    await page.locator('.welcome-view .monaco-button', { hasText: 'Show Errors' }).click();
    await expect(problemRow(page, "did you mean 'outputs'")).toBeVisible();
    await picture(page, 'broken-config');
    await command(page, 'gpuemu: Run All Ops (Quick)');
    await expect(page.locator('.notification-toast', { hasText: "did you mean 'outputs'" })).toBeVisible();
    await picture(page, 'broken-run');
    fs.writeFileSync(config, text);
    await expect(problemRow(page, "did you mean 'outputs'")).toBeHidden();
    await expect(page.locator('.welcome-view .monaco-button', { hasText: 'Run All Ops' })).toBeVisible();
  } finally {
    spawnSync(TOOL, ['daemon', 'stop'], { cwd: server.workspace, env: { ...process.env, HOME: server.home } });
    await server.stop();
    fs.rmSync(empty, { recursive: true });
  }
});

test('two folders share the daemon, one after the other', async ({ page }) => {
  const server = await startServer({
    vsix: VSIX, project: path.join(ROOT, 'examples'), without: ['triton'],
    settings: { 'gpuemu.binaryPath': TOOL, 'gpuemu.profile': 'quick' },
  });
  const both = ['first', 'second'].map((name) => path.join(server.home, name));
  for (const folder of both) {
    fs.mkdirSync(folder);
    fs.copyFileSync(path.join(server.workspace, 'kernels/reduce_missing_sync.cu'), path.join(folder, 'sums.cu'));
    spawnSync(TOOL, ['init', '--target-dir', folder], { env: { ...process.env, HOME: server.home } });
  }
  const workspace = path.join(server.home, 'both.code-workspace');
  fs.writeFileSync(workspace, JSON.stringify({ folders: both.map((folder) => ({ path: folder })) }));
  try {
    await open(page, server, workspace);
    await command(page, 'Testing: Focus on Test Explorer View');
    for (const name of ['first', 'second']) await expect(testRow(page, name)).toBeVisible();
    await command(page, 'Test: Run All Tests');
    for (const name of ['first', 'second']) {
      await expect(testRow(page, name)).toHaveAttribute('aria-label', new RegExp(`${name} \\(Failed`));
    }
    await command(page, 'gpuemu: Show Failures');
    await collapseFailures(page);
    for (const name of ['first', 'second']) await expect(treeRow(page, name)).toBeVisible();
    await expect(page.locator('.notification-toast')).toHaveCount(0);
  } finally {
    spawnSync(TOOL, ['daemon', 'stop'], { cwd: both[0], env: { ...process.env, HOME: server.home } });
    await server.stop();
  }
});
