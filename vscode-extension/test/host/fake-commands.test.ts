// Commands and settings as command lines of the tool.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  api, calls, file, forgetCalls, lensesOf, modes, nextRun, openSaved, problemsOf, revertAll, root, until,
} from './helpers';

const SEED = '18446744073709551557';
const run = (name: string, ...args: unknown[]): Thenable<unknown> =>
  vscode.commands.executeCommand(`gpuemu.${name}`, ...args);
const config = (): string => file('gpuemu.toml').fsPath;

/** The settings of the folder while `work` runs. */
async function withSettings(settings: Record<string, unknown>, work: () => Promise<void>): Promise<void> {
  const all = vscode.workspace.getConfiguration('gpuemu');
  const set = async (name: string, value: unknown): Promise<void> =>
    all.update(name, value, vscode.ConfigurationTarget.Workspace);
  for (const [name, value] of Object.entries(settings)) await set(name, value);
  try {
    await work();
  } finally {
    for (const name of Object.keys(settings)) await set(name, undefined);
  }
}

async function change(name: string): Promise<vscode.TextDocument> {
  const document = await openSaved(name);
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, new vscode.Position(0, 0), '// \n');
  await vscode.workspace.applyEdit(edit);
  return document;
}

suite('commands and settings', () => {
  suiteSetup(async () => {
    modes();
    await api();
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
  });
  setup(() => forgetCalls());
  teardown(revertAll);

  const told = (line: string): Promise<boolean> =>
    until(`${line} among ${calls().join(', ')}`, () => calls().includes(line));

  test('commands about a failure', async () => {
    await run('exportFailure', SEED, 'scale');
    await told(`export ${SEED} --output ${path.join(root(), `gpuemu-export-${SEED}`)} --op scale --format json`);
    assert.equal(path.basename(vscode.window.activeTextEditor!.document.fileName), 'README.md');
    await run('deleteFailure', SEED, 'scale');
    await told(`failures --delete ${SEED} --op scale --format json`);
    await run('openFailure', SEED, 'scale');
    await told(`reproduce ${SEED} --details --op scale --format json`);
    fs.rmSync(path.join(root(), `gpuemu-export-${SEED}`), { recursive: true });
  });

  test('commands about an op and a kernel', async () => {
    await nextRun(() => run('fuzzOp', 'scale', config()));
    await told('fuzz scale --iterations 1000 --format json --stream');
    await nextRun(() => run('runQuickTests', 'sum', config()));
    await told('test sum --quick --format json --stream');
    await run('lintKernel', 'scale', config());
    await told('lint --kernel scale --format json');
    await run('showBaselineDiff', 'sum', config());
    await told('diff --baseline main --no-fail --format json');
    const page = vscode.window.activeTextEditor!.document;
    assert.equal(page.uri.toString(), 'gpuemu:/baseline/main.md');
    assert.match(page.getText(), /## sum\n\n- registers/);
  });

  test('commands about the daemon and the report', async () => {
    await run('startDaemon');
    await told('daemon start --background');
    await run('stopDaemon');
    await told('daemon stop');
    await run('openReport');
    await told('report --format html');
    await until('the report', () => vscode.window.tabGroups.all.some((group) =>
      group.tabs.some((one) => one.label.endsWith(': report'))));
    await run('showLogs');
  });

  test('gpuemu.profile says how many cases run, gpuemu.backend where', async () => {
    await withSettings({ profile: 'thorough', backend: 'emulator' }, async () => {
      await nextRun(() => run('runTests'));
      await told('test --thorough --format json --stream');
      assert.equal(fs.readFileSync(path.join(process.env['GPUEMU_FAKE']!, 'backend'), 'utf8'), 'emulator');
    });
    await nextRun(() => run('runTests'));
    assert.equal(fs.readFileSync(path.join(process.env['GPUEMU_FAKE']!, 'backend'), 'utf8'), '');
  });

  test('gpuemu.validateOnSave says whether a save runs anything, and how much', async () => {
    const before = fs.readFileSync(file('kernels/sum.cu').fsPath);
    await withSettings({ validateOnSave: 'off', validateOnSaveDelay: 0 }, async () => {
      await (await change('kernels/sum.cu')).save();
      await new Promise((next) => setTimeout(next, 1000));
      assert.deepEqual(calls().filter((one) => one.startsWith('test ')), []);
    });
    await withSettings({ validateOnSave: 'full', validateOnSaveDelay: 0 }, async () => {
      const document = await change('kernels/sum.cu');
      await nextRun(() => document.save());
      await told('test sum --format json --stream');
    });
    fs.writeFileSync(file('kernels/sum.cu').fsPath, before);
  });

  test('gpuemu.trace says what the log tells beside command lines', async () => {
    const logs = path.join(path.dirname(process.env['GPUEMU_FAKE']!), 'data/logs');
    const name = fs.readdirSync(logs, { recursive: true, encoding: 'utf8' })
      .filter((one) => one.endsWith('gpuemu.log')).map((one) => path.join(logs, one))[0]!;
    const toldBy = async (trace: string): Promise<string> => {
      const begin = fs.statSync(name).size;
      let text = '';
      await withSettings({ trace }, async () => {
        await nextRun(() => run('runQuickTests', 'sum', config()));
        await until('the end of the run in the log', () => {
          text = fs.readFileSync(name).subarray(begin).toString();
          return /gpuemu test: exit code 0, \d+ ms/.test(text);
        });
      });
      return text;
    };
    const off = await toldBy('off');
    assert.match(off, /\$ \S*fake-gpuemu\.mjs test sum --quick --format json --stream {3}in /);
    assert.doesNotMatch(off, /OpStarted/);
    const messages = await toldBy('messages');
    assert.match(messages, /\] OpStarted$/m);
    assert.doesNotMatch(messages, /"type"/);
    assert.match(await toldBy('verbose'), /"type":"OpStarted","op_name":"sum"/);
  });

  test('gpuemu.codeLens switches the lenses off', async () => {
    assert.ok((await lensesOf(file('gpuemu.toml'))).some(([, title]) => title === 'Fuzz'));
    await withSettings({ codeLens: false }, async () => {
      await until('no lenses', async () => (await lensesOf(file('gpuemu.toml')))
        .every(([, title]) => title !== 'Fuzz'));
    });
  });
});
