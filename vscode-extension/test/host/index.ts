// What the editor calls to run the suite inside its extension host.

import * as fs from 'node:fs';
import * as path from 'node:path';
import Mocha from 'mocha';

/** What nobody has caught; the editor only logs it. */
function uncaught(): string[] {
  const found: string[] = [];
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? reason.stack ?? reason.message : String(reason);
    // Other extensions have rejections, too.
    if (/vscode-extension|gpuemu/.test(text)) found.push(text);
  });
  return found;
}

export function run(): Promise<void> {
  const found = uncaught();
  const mocha = new Mocha({ ui: 'tdd', timeout: 180_000, color: false, retries: 0, slow: 5000 });
  const wanted = process.env['GPUEMU_HOST_SUITE'] ?? 'fake';
  for (const name of fs.readdirSync(__dirname)) {
    if (name.startsWith(wanted) && name.endsWith('.test.js')) mocha.addFile(path.join(__dirname, name));
  }
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      if (failures === 0 && found.length > 0) reject(new Error(`nobody has caught:\n${found.join('\n')}`));
      else if (failures === 0) resolve();
      else reject(new Error(`${failures} tests failed`));
    });
  });
}
