// Words for what a user does in the editor. Everything that follows from how the editor builds its
// page stands here.

import { expect, type Locator, type Page } from '@playwright/test';
import * as path from 'node:path';
import { EXTENSION, Server } from './server';

export async function open(page: Page, server: Server, target = server.workspace): Promise<void> {
  const kind = target.endsWith('.code-workspace') ? 'workspace' : 'folder';
  await page.goto(`${server.url}/?${kind}=${encodeURIComponent(target)}`);
  await page.locator('.monaco-workbench .part.statusbar').waitFor();
  // Before that it hears no key.
  await page.waitForFunction(() => performance.getEntriesByName('code/didStartWorkbench').length > 0);
}

export const statusItem = (page: Page): Locator =>
  page.locator('.statusbar-item[id="gpuemu.gpuemu.gpuemu.status"], .statusbar-item[id*="gpuemu.status"]')
    .first();

/** Types into the palette and takes a row; what is asked for too early is not in its list yet. */
async function pick(page: Page, key: string, typed: string, wanted: RegExp): Promise<void> {
  const box = page.locator('.quick-input-widget:visible input').first();
  const row = page.locator('.quick-input-list .monaco-list-row').filter({ hasText: wanted }).first();
  await expect(async () => {
    if (await box.isVisible()) await page.keyboard.press('Escape');
    await page.keyboard.press(key);
    await box.waitFor({ timeout: 10_000 });
    await box.fill(typed);
    await row.click({ timeout: 10_000 });
  }).toPass({ timeout: 120_000 });
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
}

const asPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A command by its title, as from the palette. Behind it stands its key; a longer title goes on with a blank. */
export const command = (page: Page, title: string): Promise<void> =>
  pick(page, 'F1', `>${title}`, new RegExp(`^\\s*${asPattern(title)}(?! )`));

export async function openFile(page: Page, name: string): Promise<void> {
  const base = path.basename(name);
  await pick(page, 'Control+P', name, new RegExp(asPattern(base)));
  await page.locator(`.editor-group-container .tab[data-resource-name="${base}"]`).first().waitFor();
}

export const problemRow = (page: Page, text: string): Locator =>
  page.locator('.markers-panel .monaco-list-row', { hasText: text }).first();

/** Only some rows of a long list are on the page: the filter brings the one that is meant. */
export async function filterProblems(page: Page, text: string): Promise<void> {
  await page.locator('.panel input[placeholder^="Filter"]').first().fill(text);
}

const fixes = (page: Page): Locator => page.locator('.action-widget .monaco-list-row:not(.group-header)');

/**
 * Opens the menu of quick fixes at a problem once the editor has the focus: a key that comes before
 * that goes to the Problems panel. The menu closes by itself when a marker moves: it is opened again.
 */
export async function openQuickFixes(page: Page, problem: Locator): Promise<void> {
  const menu = page.locator('.action-widget').first();
  await expect(async () => {
    // Elsewhere Escape has other meanings: the filter of the Problems panel is emptied by it.
    if (await menu.isVisible()) await page.keyboard.press('Escape');
    await problem.dblclick({ timeout: 10_000 });
    await page.locator('.editor-instance .monaco-editor.focused').waitFor({ timeout: 10_000 });
    await page.keyboard.press('Control+.');
    await expect(fixes(page).first()).toBeVisible({ timeout: 10_000 });
  }).toPass({ timeout: 120_000 });
}

/**
 * Chooses a quick fix of a problem, as from the light bulb at its line. It is chosen once: a second
 * time a fix may find its work done.
 */
export async function quickFix(page: Page, problem: Locator, title: string): Promise<void> {
  const actions = fixes(page);
  await expect(async () => {
    await openQuickFixes(page, problem);
    const titles = await actions.allTextContents();
    const at = titles.findIndex((one) => one.includes(title));
    expect(at, `${title} among ${titles.join(', ')}`).toBeGreaterThanOrEqual(0);
    // The menu takes no click in every version of the editor.
    for (let i = 0; i < at; ++i) await page.keyboard.press('ArrowDown');
    await expect(page.locator('.action-widget .monaco-list-row.focused')).toContainText(title,
      { timeout: 2000 });
  }).toPass({ timeout: 120_000 });
  await page.keyboard.press('Enter');
  await expect(actions.first()).toBeHidden();
}

export const tab = (page: Page, name: string | RegExp): Locator =>
  page.locator('.editor-group-container .tab', { hasText: name }).first();

export const treeRow = (page: Page, label: string): Locator =>
  page.locator(`.sidebar .monaco-list-row[aria-label*="${label}"]`).first();

export const testRow = (page: Page, label: string): Locator =>
  page.locator('.test-explorer .monaco-list-row', { hasText: label }).first();

/** Opens the row of a tree where it is closed. */
export async function expand(row: Locator): Promise<void> {
  await expect(async () => {
    if ((await row.getAttribute('aria-expanded')) !== 'true') {
      await row.locator('.monaco-tl-twistie').click();
    }
    await expect(row).toHaveAttribute('aria-expanded', 'true', { timeout: 5000 });
  }).toPass();
}

/** Closes the rows of the Failures view: those of a long list that are out of sight are not on the page. */
export async function collapseFailures(page: Page): Promise<void> {
  await command(page, 'gpuemu: Show Failures');
  const pane = page.locator('.sidebar .pane', { has: page.locator('.pane-header', { hasText: 'Failures' }) });
  await pane.locator('.pane-header').hover();
  await pane.locator('.pane-header .action-label[aria-label="Collapse All"]').click();
  await expect(pane.locator('.monaco-list-row[aria-level="2"]')).toHaveCount(0);
}

/** The page inside a webview: a frame in a frame. */
export const webview = (page: Page) =>
  page.frameLocator('iframe.webview.ready').first().frameLocator('iframe#active-frame');

const PICTURES = process.env['GPUEMU_PICTURES'] ?? path.join(EXTENSION, 'test-results/pictures');

export async function picture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(PICTURES, `${name}.png`), animations: 'disabled' });
}
