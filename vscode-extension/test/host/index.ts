// What the editor calls to run the suite inside its extension host.

import * as fs from 'node:fs';
import * as path from 'node:path';
import Mocha from 'mocha';

export function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 180_000, color: false, retries: 0, slow: 5000 });
  const wanted = process.env['GPUEMU_HOST_SUITE'] ?? 'fake';
  for (const name of fs.readdirSync(__dirname)) {
    if (name.startsWith(wanted) && name.endsWith('.test.js')) mocha.addFile(path.join(__dirname, name));
  }
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      if (failures === 0) resolve();
      else reject(new Error(`${failures} tests failed`));
    });
  });
}
