// What the user sees, of the installed package. The tool is a stand-in whose answers are known.

import { expect, test as base } from '@playwright/test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXTENSION, ROOT, Server, startServer, Wanted } from './server';
import {
  command, expand, open, openFile, picture, problemRow, statusItem, testRow, treeRow, webview,
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

test.describe('with stored failures', () => {
  test.beforeEach(async ({ page, server }) => {
    modes(server);
    await open(page, server);
    await expect(statusItem(page)).toContainText('2', { timeout: 60_000 });
  });

  test('the status bar says what is known', async ({ page }) => {
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /gpuemu, daemon running.*2 stored failures/);
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
    const kind = treeRow(page, 'OutOfBounds at scale.cu:4, 1 failures');
    await expand(kind);
    await expect(treeRow(page, `scale float32, OutOfBounds, seed ${SEED}`)).toBeVisible();
    await picture(page, 'failures');
  });

  test('the page of a failure has its case, a map of the errors and the next steps', async ({ page }) => {
    await command(page, 'gpuemu: Show Failures');
    await expand(treeRow(page, 'OutOfBounds at scale.cu:4, 1 failures'));
    await treeRow(page, `scale float32, OutOfBounds, seed ${SEED}`).click();
    const view = webview(page);
    await expect(view.locator('h1')).toContainText('scale touches memory that is not its own');
    await expect(view.locator('svg.heat')).toBeVisible();
    await expect(view.locator('mark')).toContainText('if (i <= n)');
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

  test('a quick fix is the next step', async ({ page }) => {
    await openFile(page, 'scale.cu');
    await command(page, 'Problems: Focus on Problems View');
    await problemRow(page, 'writes 4 bytes behind y').dblclick();
    const action = page.locator('.action-widget .monaco-list-row', { hasText: 'Reproduce Failure' });
    // The menu closes by itself when the focus or a marker moves: a user opens it again.
    await expect(async () => {
      await page.keyboard.press('Escape');
      await page.locator('.editor-instance .view-line', { hasText: 'i <= n' }).click();
      await page.keyboard.press('Control+.');
      await expect(action).toBeVisible({ timeout: 3000 });
    }).toPass({ timeout: 30_000 });
    await picture(page, 'quick-fixes');
    await page.keyboard.press('Enter');
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

test('without the program there is one message with what can be done', async ({ page }) => {
  const server = await start({ settings: { 'gpuemu.binaryPath': '/nowhere/gpuemu' } });
  try {
    await open(page, server);
    const toast = page.locator('.notification-toast', { hasText: 'not at /nowhere/gpuemu' });
    await expect(toast).toBeVisible({ timeout: 60_000 });
    await expect(toast).toHaveCount(1);
    await expect(toast).toContainText('Select gpuemu Binary');
  } finally {
    await server.stop();
  }
});

test('an older program is refused by its version', async ({ page }) => {
  const server = await start();
  try {
    modes(server, 'old');
    await open(page, server);
    await expect(page.locator('.notification-toast', { hasText: 'is version 0.9.0' }))
      .toBeVisible({ timeout: 60_000 });
  } finally {
    await server.stop();
  }
});

test('nothing is started in a folder that is not trusted', async ({ page }) => {
  const server = await start({ trusted: false });
  try {
    await open(page, server);
    await openFile(page, 'gpuemu.toml');
    await expect(statusItem(page).locator('[aria-label]').first()).toHaveAttribute(
      'aria-label', /not trusted/, { timeout: 60_000 });
    await expect(page.locator('.codelens-decoration', { hasText: 'Fuzz' }).first()).toBeVisible();
    expect(fs.existsSync(path.join(server.home, 'fake/calls'))).toBe(false);
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
    await expect(statusItem(page)).toContainText('4', { timeout: 60_000 });
    await command(page, 'Test: Run All Tests');
    await command(page, 'Testing: Focus on Test Explorer View');
    await expect(testRow(page, 'second')).toHaveAttribute('aria-label', /second \(Failed/);
  } finally {
    await server.stop();
  }
});
