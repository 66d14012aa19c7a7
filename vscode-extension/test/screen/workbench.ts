// Words for what a user does in the editor. Everything that follows from how the editor builds its
// page stands here.

import { expect, type Locator, type Page } from '@playwright/test';
import * as path from 'node:path';
import { EXTENSION, Server } from './server';

export async function open(page: Page, server: Server, target = server.workspace): Promise<void> {
  const kind = target.endsWith('.code-workspace') ? 'workspace' : 'folder';
  await page.goto(`${server.url}/?${kind}=${encodeURIComponent(target)}`);
  await page.locator('.monaco-workbench .part.statusbar').waitFor();
}

export const statusItem = (page: Page): Locator =>
  page.locator('.statusbar-item[id="gpuemu.gpuemu.gpuemu.status"], .statusbar-item[id*="gpuemu.status"]')
    .first();

/** A command by its title, as from the palette. */
export async function command(page: Page, title: string): Promise<void> {
  const box = page.locator('.quick-input-widget:visible input').first();
  await expect(async () => {
    await page.keyboard.press('F1');
    await box.waitFor({ timeout: 3000 });
  }).toPass();
  await box.fill(`>${title}`);
  const row = page.locator('.quick-input-list .monaco-list-row').filter({ hasText: title }).first();
  await row.waitFor();
  await row.click();
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
}

export async function openFile(page: Page, name: string): Promise<void> {
  const box = page.locator('.quick-input-widget:visible input').first();
  await expect(async () => {
    await page.keyboard.press('Control+P');
    await box.waitFor({ timeout: 3000 });
  }).toPass();
  await box.fill(name);
  const base = path.basename(name);
  const row = page.locator('.quick-input-list .monaco-list-row').filter({ hasText: base }).first();
  await row.waitFor();
  await row.click();
  await page.locator(`.editor-group-container .tab[data-resource-name="${base}"]`).first().waitFor();
}

export const problemRow = (page: Page, text: string): Locator =>
  page.locator('.markers-panel .monaco-list-row', { hasText: text }).first();

/** Only some rows of a long list are on the page: the filter brings the one that is meant. */
export async function filterProblems(page: Page, text: string): Promise<void> {
  await page.locator('.panel input[placeholder^="Filter"]').first().fill(text);
}

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
    await expect(row).toHaveAttribute('aria-expanded', 'true', { timeout: 2000 });
  }).toPass();
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
