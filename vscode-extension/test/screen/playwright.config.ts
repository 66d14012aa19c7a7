import { defineConfig } from '@playwright/test';

// Debian's Chromium: no browser is downloaded.
export default defineConfig({
  testDir: '.',
  outputDir: '../../test-results',
  // How long is waited for what must come, on a machine that compiles at the same time.
  timeout: 600_000,
  expect: { timeout: 60_000 },
  workers: 1,
  retries: 0,  // A retry would hide what fails now and then.
  reporter: [['list'], ['junit', { outputFile: '../../test-results/report.xml' }]],
  use: {
    viewport: { width: 1120, height: 680 },
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--lang=en-US'],
    },
  },
});
