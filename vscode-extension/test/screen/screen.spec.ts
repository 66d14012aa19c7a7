// What the user sees, of the installed package. The tool is a stand-in whose answers are known.

import { expect, test as base } from '@playwright/test';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { EXTENSION, ROOT, Server, startServer, Wanted } from './server';
import {
  command, expand, open, openFile, openQuickFixes, picture, problemRow, quickFix, statusItem, testRow, treeRow, webview,
} from './workbench';

const FAKE = path.join(EXTENSION, 'test/fixtures/fake-gpuemu.mjs');
const PROJECT = path.join(EXTENSION, 'test/fixtures/project');
const SEED = '18446744073709551557';
const version = (JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8')) as
  { version: string }).version;
const VSIX = path.join(ROOT, `build/gpuemu-${version}.vsix`);

const start = (more: Partial<Wanted> = {}): Promise<Server> => startServer({
  vsix: VSIX, project: PROJECT, settings: { 'gpuemu.binaryPath': FAKE }, ...more,
});

const test = base.extend<object, { server: Server }>({
  server: [async ({}, use) => {
    const server = await start();
    await use(server);
    await server.stop();
  }, { scope: 'worker' }],
});

const modes = (server: Server, ...names: string[]): void =>
  fs.writeFileSync(path.join(server.home, 'fake/modes'), names.join(' '));

/** What has ended and waits to be asked for its end does not count. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test.describe('with stored failures', () => {
  test.beforeEach(async ({ page, server }) => {
    modes(server);
    await open(page, server);
    await expect(statusItem(page)).toContainText('2');
  });

  test('the status bar and the badge say what is known, and the daemon was started', async ({ page, server }) => {
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /gpuemu, daemon running.*2 stored failures/);
    await expect(page.locator('.activitybar .action-item', { has: page.locator('[aria-label^="gpuemu" i]') })
      .locator('.badge-content')).toHaveText('2');
    const calls = fs.readFileSync(path.join(server.home, 'fake/calls'), 'utf8');
    expect(calls).toContain('["daemon","start","--background"]');
  });

  test('problems stand at their lines', async ({ page }) => {
    await openFile(page, 'scale.cu');
    await command(page, 'Problems: Focus on Problems View');
    await expect(problemRow(page, 'writes 4 bytes behind y')).toContainText('OutOfBounds');
    await expect(problemRow(page, 'writes 4 bytes behind y')).toContainText('Ln 4');
    await expect(page.locator('.editor-instance .squiggly-error').first()).toBeVisible();
    await picture(page, 'problems');
  });

  test('failures are grouped, and a row tells all of itself', async ({ page }) => {
    await command(page, 'gpuemu: Show Failures');
    const kind = treeRow(page, 'OutOfBounds at scale.cu:4, 1 failure');
    await expand(kind);
    await expect(treeRow(page, `scale float32, OutOfBounds, seed ${SEED}`)).toBeVisible();
    await picture(page, 'failures');
  });

  test('the page of a failure has its case, a map of the errors and the next steps', async ({ page }) => {
    await command(page, 'gpuemu: Show Failures');
    await expand(treeRow(page, 'OutOfBounds at scale.cu:4, 1 failure'));
    await treeRow(page, `scale float32, OutOfBounds, seed ${SEED}`).click();
    const view = webview(page);
    await expect(view.locator('h1')).toContainText('scale touches memory that is not its own');
    await expect(view.locator('svg.heat')).toBeVisible();
    await expect(view.locator('mark').first()).toContainText('if (i <= n)');
    await expect(view.locator('h3', { hasText: 'x: float32[3]' })).toBeVisible();
    await view.locator('svg.heat').focus();
    await page.keyboard.press('ArrowRight');
    await expect(view.locator('#cell')).toContainText('row 0, column 0: 0');
    await page.keyboard.press('ArrowRight');
    await expect(view.locator('#cell')).toContainText('column 1');
    await view.locator('h1').click();
    await picture(page, 'details');
    await view.locator('button', { hasText: 'Minimize' }).click();
    await expect(page.locator('.tab', { hasText: 'scale 77' }).first()).toBeVisible();
  });

  test('the Testing view has a verdict for each op and dtype', async ({ page }) => {
    await command(page, 'Test: Run All Tests');
    await command(page, 'Testing: Focus on Test Explorer View');
    const op = testRow(page, 'scale');
    await expect(op).toHaveAttribute('aria-label', /scale \(Failed/);
    await expand(op);
    await expect(testRow(page, 'float16')).toHaveAttribute('aria-label', /float16 \(Passed/);
    await picture(page, 'testing');
  });

  test('a dtype that no case of a fuzz run has reached has not passed', async ({ page, server }) => {
    await command(page, 'Testing: Focus on Test Explorer View');
    const profile = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Fuzz' }).first();
    await expect(async () => {
      await page.keyboard.press('Escape');
      await testRow(page, 'scale').click({ button: 'right' });
      await page.locator('.monaco-menu .action-item', { hasText: 'Execute Using Profile' }).hover();
      await page.keyboard.press('Enter');
      await expect(profile).toBeVisible({ timeout: 10_000 });
    }).toPass({ timeout: 120_000 });
    await profile.click();
    await expand(testRow(page, 'scale'));
    await expect(testRow(page, 'float32')).toHaveAttribute('aria-label', /float32 \(Passed/);
    await expect(testRow(page, 'float16')).toHaveAttribute('aria-label', /float16 \(Errored/);
    const calls = fs.readFileSync(path.join(server.home, 'fake/calls'), 'utf8');
    expect(calls).toContain('["fuzz","scale","--format","json","--stream"]');
  });

  test('a quick fix is the next step', async ({ page }) => {
    await openFile(page, 'scale.cu');
    await command(page, 'Problems: Focus on Problems View');
    const problem = problemRow(page, 'writes 4 bytes behind y');
    await openQuickFixes(page, problem);
    await picture(page, 'quick-fixes');
    await quickFix(page, problem, 'Reproduce Failure');
    await expect(webview(page).locator('h1')).toContainText('scale touches');
  });

  test('gpuemu.toml has lenses, and what is wrong in it is underlined', async ({ page }) => {
    await openFile(page, 'gpuemu.toml');
    await expect(page.locator('.codelens-decoration', { hasText: 'Fuzz' }).first()).toBeVisible();
    await page.locator('.editor-instance .view-line', { hasText: 'wrong on purpose' }).click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('kernell = 3');
    await command(page, 'Problems: Focus on Problems View');
    await expect(problemRow(page, "did you mean 'kernel'?")).toBeVisible();
    await picture(page, 'config');
    await page.locator('.editor-instance .view-line', { hasText: 'kernell' }).click();
    for (let i = 0; i < 12; ++i) await page.keyboard.press('Control+Z');
    await expect(problemRow(page, "did you mean 'kernel'?")).toBeHidden();
  });

  test('a running job is seen and can be cancelled', async ({ page, server }) => {
    modes(server, 'slow');
    await command(page, 'gpuemu: Run All Ops');
    await expect(statusItem(page)).toContainText('1 of 1000 cases');
    await command(page, 'gpuemu: Cancel Running Job');
    await expect(statusItem(page)).not.toContainText('1 of 1000 cases');
  });
});

test('without the program there is one message with what can be done, and one that comes later is found', async ({ page }) => {
  const server = await start({ settings: { 'gpuemu.binaryPath': '${workspaceFolder}/later/gpuemu' } });
  try {
    modes(server, 'mute');
    await open(page, server);
    const toast = page.locator('.notification-toast', { hasText: 'gpuemu program is not at' });
    await expect(toast).toBeVisible();
    await expect(toast).toHaveCount(1);
    await expect(toast).toContainText('Select gpuemu Binary');
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /program is not at/);
    // Who asks again gets the same message, not another one beside it.
    await command(page, 'gpuemu: Run All Ops (Quick)');
    await expect(toast).toHaveCount(1);
    await expect(page.locator('.notification-toast')).toHaveCount(1);
    await command(page, 'gpuemu: Show Failures');
    await expect(page.locator('.welcome-view .monaco-button', { hasText: 'Select gpuemu Binary' })).toBeVisible();
    fs.mkdirSync(path.join(server.workspace, 'later'));
    fs.symlinkSync(FAKE, path.join(server.workspace, 'later/gpuemu'));
    await page.waitForTimeout(3500);  // So often it is looked for.
    await command(page, 'gpuemu: Refresh Failures');
    await expect(page.locator('.notification-toast', { hasText: '--version had no answer within 10 s' }))
      .toBeVisible();
    modes(server);
    await page.waitForTimeout(3500);
    await command(page, 'gpuemu: Run All Ops (Quick)');
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /daemon running, last run 2 passed, 1 failed/);
  } finally {
    await server.stop();
  }
});

test('a gpuemu.toml in a folder of the workspace is found without being opened', async ({ page }) => {
  const outer = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuemu-outer-'));
  fs.cpSync(PROJECT, path.join(outer, 'libs/attention'), { recursive: true });
  const server = await start({ project: outer });
  try {
    await open(page, server);
    await expect(statusItem(page)).toContainText('2');
    await openFile(page, 'scale.cu');
    await command(page, 'Problems: Focus on Problems View');
    await expect(problemRow(page, 'writes 4 bytes behind y')).toContainText('Ln 4');
  } finally {
    await server.stop();
    fs.rmSync(outer, { recursive: true });
  }
});

test('an older program is refused by its version', async ({ page }) => {
  const server = await start();
  try {
    modes(server, 'old');
    await open(page, server);
    await expect(page.locator('.notification-toast', { hasText: 'is version 0.9.0' }))
      .toBeVisible();
  } finally {
    await server.stop();
  }
});

test('a daemon of another version is shown as such, and none is started where that is switched off', async ({ page }) => {
  const server = await start({ settings: { 'gpuemu.binaryPath': FAKE, 'gpuemu.autoStartDaemon': false } });
  try {
    modes(server, 'other-daemon');
    await open(page, server);
    await command(page, 'gpuemu: Show Failures');
    await expect(treeRow(page, 'Another version the program is 1.0.0')).toBeVisible();
    expect(fs.readFileSync(path.join(server.home, 'fake/calls'), 'utf8')).not.toContain('"daemon","start"');
  } finally {
    await server.stop();
  }
});

test('a window that is loaded again leaves no process of the one before', async ({ page }) => {
  const server = await start();
  try {
    modes(server, 'stubborn');
    await open(page, server);
    await expect(statusItem(page)).toContainText('2');
    await command(page, 'gpuemu: Run All Ops');
    await expect(statusItem(page)).toContainText('1 of 1000 cases');
    const pid = Number(fs.readFileSync(path.join(server.home, 'fake/pid'), 'utf8'));
    expect(isRunning(pid)).toBe(true);
    await command(page, 'Developer: Reload Window');
    await expect.poll(() => isRunning(pid)).toBe(false);
  } finally {
    await server.stop();
  }
});

test('ten thousand failures are drawn, and the window answers', async ({ page }) => {
  const server = await start({ settings: { 'gpuemu.binaryPath': FAKE, 'gpuemu.failuresLimit': 10_000 } });
  try {
    modes(server, 'many');
    await open(page, server);
    await expect(statusItem(page)).toContainText('10000');
    await command(page, 'gpuemu: Show Failures');
    await expect(treeRow(page, 'scale, 5000 failures')).toBeVisible();
    await expand(treeRow(page, 'OutOfBounds at scale.cu:2, 2500 failures'));
    await expect(treeRow(page, 'scale float32, OutOfBounds, seed 17')).toBeVisible();
  } finally {
    await server.stop();
  }
});

test('views and pages in the light theme', async ({ page }) => {
  const server = await start({ settings: {
    'gpuemu.binaryPath': FAKE, 'workbench.colorTheme': 'Default Light Modern' } });
  try {
    await open(page, server);
    await expect(statusItem(page)).toContainText('2');
    await command(page, 'gpuemu: Show Failures');
    await treeRow(page, `scale float32, OutOfBounds, seed ${SEED}`).click();
    await expect(webview(page).locator('svg.heat')).toBeVisible();
    await picture(page, 'light-details');
    await webview(page).locator('svg.histogram').scrollIntoViewIfNeeded();
    await picture(page, 'light-error-map');
    await openFile(page, 'scale.cu');
    await command(page, 'Problems: Focus on Problems View');
    await picture(page, 'light-problems');
  } finally {
    await server.stop();
  }
});

test('nothing is started in a folder that is not trusted, and everything once it is', async ({ page }) => {
  const server = await start({ trusted: false });
  try {
    const config = path.join(server.workspace, 'gpuemu.toml');
    fs.writeFileSync(config, `${fs.readFileSync(config, 'utf8')}kernell = 3\n`);
    await open(page, server);
    await openFile(page, 'gpuemu.toml');
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /not trusted/);
    await expect(page.locator('.codelens-decoration', { hasText: 'Fuzz' }).first()).toBeVisible();
    await command(page, 'gpuemu: Run All Ops');
    await expect(page.locator('.notification-toast', { hasText: 'in a folder that is not trusted' })).toBeVisible();
    expect(fs.existsSync(path.join(server.home, 'fake/calls'))).toBe(false);
    await command(page, 'Workspaces: Manage Workspace Trust');
    await page.locator('.workspace-trust-editor').getByRole('button', { name: /^Trust/ }).first().click();
    await expect(statusItem(page)).toContainText('2');
    // It was open all the time.
    await command(page, 'Problems: Focus on Problems View');
    await expect(problemRow(page, "did you mean 'kernel'?")).toBeVisible();
  } finally {
    await server.stop();
  }
});

test('two folders are shown side by side', async ({ page }) => {
  const server = await start();
  try {
    const second = path.join(server.home, 'second');
    fs.cpSync(PROJECT, second, { recursive: true });
    const workspace = path.join(server.home, 'both.code-workspace');
    fs.writeFileSync(workspace, JSON.stringify({
      folders: [{ path: server.workspace }, { path: second }],
    }));
    await open(page, server, workspace);
    await expect(statusItem(page)).toContainText('4');
    await command(page, 'Test: Run All Tests');
    await command(page, 'Testing: Focus on Test Explorer View');
    await expect(testRow(page, 'second')).toHaveAttribute('aria-label', /second \(Failed/);
  } finally {
    await server.stop();
  }
});
