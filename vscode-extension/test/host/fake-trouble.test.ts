// What users and files do at the wrong moment: nothing is left behind, and an error is told or there is none.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  api, calls, file, forgetCalls, logText, modes, nextRun, problemsOf, revertAll, settle, until,
} from './helpers';

const SEED = '18446744073709551557';
const run = (name: string, ...args: unknown[]): Thenable<unknown> =>
  vscode.commands.executeCommand(`gpuemu.${name}`, ...args);

/** The messages that are shown while `work` runs; each is answered with its first button. */
async function messagesOf(work: () => Promise<void>): Promise<string[]> {
  const told: string[] = [];
  const names = ['showErrorMessage', 'showWarningMessage', 'showInformationMessage'] as const;
  const all = vscode.window as unknown as Record<string, unknown>;
  const before = names.map((name) => all[name]);
  for (const name of names) {
    all[name] = (text: string, ...items: unknown[]) => {
      told.push(text);
      return Promise.resolve(items[0]);
    };
  }
  try {
    await work();
  } finally {
    names.forEach((name, at) => { all[name] = before[at]; });
  }
  return told;
}

const isGone = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
};

suite('at the wrong moment', () => {
  suiteSetup(async () => {
    modes();
    await api();
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
  });
  setup(() => forgetCalls());
  teardown(async () => {
    modes();
    await revertAll();
  });

  test('the page of a failure is closed before its case has run', async () => {
    modes('slow-replay');
    const told = await messagesOf(async () => {
      const opened = run('openFailure', SEED, 'scale');
      await until('the case to run', () => calls().some((one) => one.startsWith('reproduce ')));
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await opened;
    });
    assert.deepEqual(told, []);
  });

  test('a baseline that cannot be saved is not called saved', async () => {
    modes('no-baseline');
    const told = await messagesOf(async () => { await run('showBaselineDiff', 'sum', file('gpuemu.toml').fsPath); });
    assert.deepEqual(told, ['There is no baseline yet.', 'gpuemu: no space left on the disk']);
  });

  test('a command for a gpuemu.toml that is not there says so', async () => {
    const told = await messagesOf(async () => {
      await run('reproduce', SEED, 'scale', '/nowhere/gpuemu.toml');
      await run('runTests', 'scale', '/nowhere/gpuemu.toml');
    });
    assert.deepEqual(told, ['Reproduce Failure: no folder here has a gpuemu.toml', 'gpuemu: no folder here has a gpuemu.toml']);
    assert.deepEqual(calls(), []);
  });

  test('an older state of a file, as a comparison shows it, is not the file', async () => {
    const uri = file('kernels/scale.cu').with({ scheme: 'older' });
    const changed = new vscode.EventEmitter<vscode.Uri>();
    let text = 'before\n';
    const provider = vscode.workspace.registerTextDocumentContentProvider('older', {
      onDidChange: changed.event, provideTextDocumentContent: () => text,
    });
    try {
      const document = await vscode.workspace.openTextDocument(uri);
      text = 'after\n';
      changed.fire(uri);
      await until('the change', () => document.getText() === text);
      await run('refreshFailures');
      await settle();
      const [problem] = problemsOf('kernels/scale.cu');
      assert.doesNotMatch(problem!.message, /edited since/);
      assert.equal(problem!.range.start.line, 3);
    } finally {
      provider.dispose();
    }
  });

  test('a seed without an op is debugged as it is', async () => {
    await run('debugFailure', '77');
    const terminal = await until('the terminal', () =>
      vscode.window.terminals.find((one) => one.name === 'gpuemu debug 77'));
    assert.deepEqual((terminal.creationOptions as vscode.TerminalOptions).shellArgs, ['debug', '77', '--repl']);
    terminal.dispose();
  });

  test('the program follows the Python environment that is chosen', async () => {
    const settings = vscode.workspace.getConfiguration('gpuemu');
    const program = settings.get<string>('binaryPath')!;
    for (const name of ['one', 'two']) {
      fs.mkdirSync(file(`${name}/bin`).fsPath, { recursive: true });
      fs.symlinkSync(program, file(`${name}/bin/gpuemu`).fsPath);
    }
    let chosen = 'one';
    const changed = new vscode.EventEmitter<void>();
    const python = { isActive: true, exports: { environments: {
      getActiveEnvironmentPath: () => ({ path: file(`${chosen}/bin/python`).fsPath }),
      onDidChangeActiveEnvironmentPath: changed.event,
    } } };
    const all = vscode.extensions as unknown as { getExtension(id: string): unknown };
    const before = all.getExtension;
    const found = (name: string): Promise<boolean> =>
      until(`the program of ${name}`, () => logText().includes(`gpuemu 1.0.0 at ${file(`${name}/bin/gpuemu`).fsPath}`));
    all.getExtension = (id) => (id === 'ms-python.python' ? python : before(id));
    try {
      await settings.update('binaryPath', '', vscode.ConfigurationTarget.Workspace);
      await found('one');
      await until('the failures', () => calls().some((one) => one.startsWith('failures ')));
      chosen = 'two';
      changed.fire();
      await found('two');
    } finally {
      all.getExtension = before;
      forgetCalls();
      await settings.update('binaryPath', undefined, vscode.ConfigurationTarget.Workspace);
      for (const name of ['one', 'two']) fs.rmSync(file(name).fsPath, { recursive: true });
    }
    await until('the failures', () => calls().some((one) => one.startsWith('failures ')));
  });

  test('an answer about an older gpuemu.toml does not replace that about the newer one', async () => {
    const uri = file('gpuemu.toml');
    const text = fs.readFileSync(uri.fsPath, 'utf8');
    const asked = (): number => calls().filter((one) => one === 'ops --format json').length;
    const begin = logText().length;
    const read = (): number => logText().slice(begin).split('gpuemu ops: exit code 0').length - 1;
    modes('broken', 'slow-ops');
    fs.writeFileSync(uri.fsPath, `${text}# 1\n`);
    await until('the first question', () => asked() >= 1);
    modes();
    fs.writeFileSync(uri.fsPath, text);
    await until('the answer to a later question', () => read() >= 1);
    await settle();
    const go = path.join(process.env['GPUEMU_FAKE']!, 'go');
    fs.writeFileSync(go, '');
    await until('the answer to the first question', () => logText().slice(begin).includes('gpuemu ops: exit code 2'));
    await settle();
    fs.rmSync(go);
    assert.doesNotMatch(logText().slice(begin), /kernell/, 'nothing is made of it');
  });

  test('gpuemu.toml goes during a run, and comes back', async () => {
    const uri = file('gpuemu.toml');
    const text = fs.readFileSync(uri.fsPath, 'utf8');
    const errors = (): vscode.Diagnostic[] =>
      vscode.languages.getDiagnostics(uri).filter((one) => one.code === 'config');
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document);
    modes('stubborn');
    void run('runTests');
    await until('the run', () => calls().some((one) => one.startsWith('test ')));
    const pid = Number(fs.readFileSync(path.join(process.env['GPUEMU_FAKE']!, 'pid'), 'utf8'));
    forgetCalls();
    fs.rmSync(uri.fsPath);
    try {
      await until('the end of the run', () => isGone(pid));
      await until('no problems', () => problemsOf('kernels/scale.cu').length === 0);
      await settle();
      // A check of what was typed before may have begun at the same time.
      assert.deepEqual(calls().filter((one) => !one.includes('config check')), [], 'nothing is started for it any more');
    } finally {
      modes();
      fs.writeFileSync(uri.fsPath, text);
    }
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
    // What is typed is checked as before.
    await until('the text of the file', () => !document.isDirty && document.getText() === text);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(uri, new vscode.Range(6, 0, 6, 6), 'kernell');
    await vscode.workspace.applyEdit(edit);
    await until('the error', () => errors().length > 0);
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await until('no error', () => errors().length === 0);
    const again = await nextRun(() => run('runQuickTests'));
    assert.deepEqual([again.passed, again.failed], [2, 1]);
  });
});
