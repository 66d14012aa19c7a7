// The extension in the editor, with a stand-in of the tool whose answers are known.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { parseJson } from '../../src/core/json';
import { threadMs } from '../../src/core/loaded';
import { readFailures } from '../../src/core/records';
import {
  api, calls, file, forgetCalls, heapUsed, kindOf, longestBlock, modes, nextRun, openSaved, outputOf, problemsOf, realFile,
  revertAll, root, settle, until,
} from './helpers';

const SEED = '18446744073709551557';

suite('gpuemu', () => {
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

  test('problems that are the same as before are not drawn again', async () => {
    // What the start of the editor has still to tell is told.
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await settle();
    await settle();
    const changed: string[] = [];
    const listener = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      // Other extensions have problems too, of other files.
      changed.push(...uris.map((one) => path.basename(one.fsPath))
        .filter((name) => ['scale.cu', 'gpuemu.toml'].includes(name)));
    });
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await settle();
    assert.equal(changed.join(' '), '');
    modes('none');
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await until('a change', () => changed.includes('scale.cu'));
    listener.dispose();
    modes();
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
  });

  test('a gpuemu.toml that is broken is told though nobody opens it, and read when it is repaired', async () => {
    const uri = file('gpuemu.toml');
    const before = fs.readFileSync(uri.fsPath, 'utf8');
    const errors = (): vscode.Diagnostic[] =>
      vscode.languages.getDiagnostics(uri).filter((one) => one.code === 'config');
    modes('broken');
    fs.writeFileSync(uri.fsPath, before.replace('kernel = ', 'kernell = '));
    const [error] = await until('the error', () => errors().length > 0 && errors());
    assert.match(error!.message, /did you mean 'kernel'/);
    assert.ok(!calls().some((one) => one.startsWith('failures ')), calls().join('\n'));
    modes();
    fs.writeFileSync(uri.fsPath, before);
    await until('no error', () => errors().length === 0);
    await until('the failures', () => calls().some((one) => one.startsWith('failures ')));
  });

  test('every contributed command is registered, and nothing else', async () => {
    const extension = vscode.extensions.getExtension('gpuemu.gpuemu')!;
    const json = extension.packageJSON as { contributes: { commands: { command: string }[] } };
    const known = (await vscode.commands.getCommands(true)).filter((one) =>
      /^gpuemu\.\w+$/.test(one) && !one.startsWith('gpuemu.failures'));
    assert.deepEqual(known.filter((one) => !one.includes('.sessions')).sort(),
      json.contributes.commands.map((one) => one.command).sort());
  });

  test('the API has its version and no runs of nobody', async () => {
    const gpuemu = await api();
    assert.equal(gpuemu.version, 1);
    assert.ok(Array.isArray(gpuemu.runs()));
  });

  test('a failure stands at the line of its kernel', () => {
    const [problem] = problemsOf('kernels/scale.cu');
    assert.equal(problem!.range.start.line, 3);
    assert.equal(kindOf(problem!), 'OutOfBounds');
    assert.match(problem!.message, new RegExp(`scale \\(float32, n=129\\).*\\[seed ${SEED}\\]`));
    assert.equal(problem!.severity, vscode.DiagnosticSeverity.Error);
    const related = problem!.relatedInformation!.map((one) =>
      [path.basename(one.location.uri.fsPath), one.location.range.start.line]);
    assert.deepEqual(related, [['scale.cu', 2], ['scale.py', 0]]);
  });

  test('a failure without a line stands at its op', () => {
    const [problem] = problemsOf('gpuemu.toml');
    assert.equal(problem!.range.start.line, 20);
    assert.equal(kindOf(problem!), 'ToleranceExceeded');
    const related = problem!.relatedInformation!.map((one) => one.message);
    assert.ok(related.some((one) => one.includes('add.f32')));
  });

  test('the page of a kind is the documentation of it', async () => {
    const [problem] = problemsOf('kernels/scale.cu');
    const target = (problem!.code as { target: vscode.Uri }).target;
    const page = await vscode.workspace.openTextDocument(target);
    assert.match(page.getText(), /^# OutOfBounds\n/);
  });

  test('the document of a failure has its command', async () => {
    const page = await vscode.workspace.openTextDocument(
      vscode.Uri.from({ scheme: 'gpuemu', path: `/failure/scale/${SEED}.md` }));
    assert.match(page.getText(), new RegExp(`gpuemu reproduce ${SEED} --op scale`));
    // Lists keep a summary: the rest is asked for.
    assert.match(page.getText(), /values: normal/);
    assert.ok(calls().includes('failures --limit 200 --op scale --format json'), calls().join('\n'));
  });

  test('quick fixes are the next steps, and none is preferred', async () => {
    const uri = file('gpuemu.toml');
    await vscode.window.showTextDocument(uri);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      'vscode.executeCodeActionProvider', uri, problemsOf('gpuemu.toml')[0]!.range);
    const ours = actions.filter((one) => one.title.startsWith('gpuemu:'));
    const names = ours.map((one) => one.title.replace(/^gpuemu: /, ''));
    for (const name of ['Reproduce Failure', 'Minimize Failure', 'Explain Failure',
      'Keep as Regression', 'Suppress with Reason...']) assert.ok(names.includes(name), name);
    const tolerance = ours.find((one) => one.title.includes('Adjust Tolerance'))!;
    assert.match(tolerance.title, /to 1\.3e-5, measured 0\.0000123 \(weakens the check\)/);
    assert.ok(ours.every((one) => !one.isPreferred));
    await vscode.workspace.applyEdit(tolerance.edit!);
    const text = (await vscode.workspace.openTextDocument(uri)).getText();
    assert.match(text, /float32 = 1\.3e-5 {3}# measured in spring/);
  });

  test('a seed above 2^53 reaches the tool digit by digit', async () => {
    await vscode.commands.executeCommand('gpuemu.reproduce', SEED, 'scale');
    assert.ok(calls().includes(`reproduce ${SEED} --details --op scale --format json`), calls().join('\n'));
    await vscode.commands.executeCommand('gpuemu.explain', SEED, 'scale');
    assert.ok(calls().some((one) => one.startsWith(`explain ${SEED} `)));
  });

  test('minimize opens the smaller case, export its folder', async () => {
    await vscode.commands.executeCommand('gpuemu.minimize', SEED, 'scale');
    assert.ok(calls().includes('reproduce 77 --details --op scale --format json'), calls().join('\n'));
    await vscode.commands.executeCommand('gpuemu.addRegression', SEED, 'scale');
    assert.ok(fs.existsSync(path.join(root(), 'regressions', `scale-${SEED}`, 'README.md')));
  });

  test('running all ops is one process, with a verdict for each op and dtype', async () => {
    const run = await nextRun(() => vscode.commands.executeCommand('testing.runAll'));
    assert.deepEqual([run.passed, run.failed, run.errored, run.cancelled], [2, 1, 0, false]);
    assert.deepEqual(run.ops, ['scale', 'sum']);
    assert.equal(calls().filter((one) => one.startsWith('test ')).length, 1);
    assert.match(calls().join('\n'), /^test (scale sum|sum scale) --format json --stream$/m);
  });

  test('a run that is cut off is errored and never green', async () => {
    modes('truncated');
    const run = await nextRun(() => vscode.commands.executeCommand('testing.runAll'));
    assert.ok(run.errored > 0);
    assert.equal(run.passed, 0);
  });

  test('a daemon that goes away leaves no green run', async () => {
    modes('daemon-gone');
    const run = await nextRun(() => vscode.commands.executeCommand('testing.runAll'));
    assert.ok(run.errored > 0);
  });

  test('a flood that is no JSON is errored and takes no memory', async () => {
    modes('flood');
    const idle = heapUsed();
    const run = await nextRun(() => vscode.commands.executeCommand('testing.runAll'));
    assert.deepEqual([run.passed, run.errored > 0], [0, true]);
    assert.ok(heapUsed() - idle < 20 * 2 ** 20);
  });

  test('cancel interrupts, and says so', async () => {
    modes('slow');
    const ended = nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('the run', () => calls().some((one) => one.startsWith('test')));
    await new Promise((next) => setTimeout(next, 300));
    const begun = Date.now();
    await vscode.commands.executeCommand('gpuemu.cancel');
    const run = await ended;
    assert.equal(run.cancelled, true);
    assert.ok(Date.now() - begun < 3000);
  });

  test('a tool that does not listen is killed', async () => {
    modes('stubborn');
    const ended = nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('the run', () => calls().some((one) => one.startsWith('test')));
    await new Promise((next) => setTimeout(next, 300));
    await vscode.commands.executeCommand('gpuemu.cancel');
    assert.equal((await ended).cancelled, true);
  });

  test('saving a kernel runs its op once, however often it is saved within the delay', async () => {
    const config = vscode.workspace.getConfiguration('gpuemu');
    await config.update('validateOnSaveDelay', 4000, vscode.ConfigurationTarget.Workspace);
    const document = await openSaved('kernels/sum.cu');
    const before = document.getText();
    const ended = nextRun(async () => {
      for (let i = 0; i < 3; ++i) {
        const edit = new vscode.WorkspaceEdit();
        edit.insert(document.uri, new vscode.Position(0, 0), '// \n');
        await vscode.workspace.applyEdit(edit);
        await document.save();
      }
    });
    await ended;
    assert.deepEqual(calls().filter((one) => one.startsWith('test')),
      ['test sum --quick --format json --stream']);
    await config.update('validateOnSaveDelay', undefined, vscode.ConfigurationTarget.Workspace);
    fs.writeFileSync(document.uri.fsPath, before);
  });

  test('a later save ends the run of an earlier one', async () => {
    const document = await openSaved('kernels/sum.cu');
    const before = document.getText();
    const save = async (): Promise<void> => {
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(0, 0), '// \n');
      await vscode.workspace.applyEdit(edit);
      await document.save();
    };
    const ended: boolean[] = [];
    const listener = (await api()).onDidFinishRun((run) => ended.push(run.cancelled));
    modes('slow');
    await save();
    await until('the first run', () => calls().some((one) => one.startsWith('test ')));
    modes();
    await save();
    await until('both ends', () => ended.length === 2);
    listener.dispose();
    assert.deepEqual(ended, [true, false]);
    fs.writeFileSync(document.uri.fsPath, before);
  });

  test('an edit of a kernel weakens its problems until the next run', async () => {
    const document = await openSaved('kernels/scale.cu');
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), '// ');
    await vscode.workspace.applyEdit(edit);
    const stale = await until('an outdated problem', () =>
      problemsOf('kernels/scale.cu').find((one) => one.message.includes('edited since')));
    assert.equal(stale.severity, vscode.DiagnosticSeverity.Information);
    // A run speaks for what is saved.
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await settle();
    assert.ok(problemsOf('kernels/scale.cu').every((one) => one.message.includes('edited since')));
    const before = fs.readFileSync(document.uri.fsPath, 'utf8');
    await nextRun(() => document.save());
    await until('a fresh problem', () => problemsOf('kernels/scale.cu')
      .some((one) => !one.message.includes('edited since')));
    fs.writeFileSync(document.uri.fsPath, before);
    await settle();
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
  });

  test('a run of another op leaves an edited problem as it is', async () => {
    const document = await openSaved('kernels/scale.cu');
    await vscode.window.showTextDocument(document);
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), '// ');
    await vscode.workspace.applyEdit(edit);
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await until('the file as it is saved', () => !document.isDirty);
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests', 'sum', file('gpuemu.toml').fsPath));
    await settle();
    assert.ok(problemsOf('kernels/scale.cu').some((one) => one.message.includes('edited since')));
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('a fresh problem', () => problemsOf('kernels/scale.cu')
      .some((one) => !one.message.includes('edited since')));
  });

  test('a stored failure runs again after its op has passed, and goes when it passes too', async () => {
    modes('fixed');
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('no problems', () => problemsOf('kernels/scale.cu').length === 0 &&
      problemsOf('gpuemu.toml').length === 0);
    assert.ok(calls().includes(`reproduce ${SEED} --op scale --format json`), calls().join('\n'));
    modes();
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
  });

  test('a run does not wait for a stored failure that is run again', async () => {
    modes('fixed', 'long-replay');
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('the stored failure to run', () => calls().some((one) => one.startsWith('reproduce ')));
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
  });

  test('problems go when nothing fails any more', async () => {
    modes('none');
    await nextRun(() => vscode.commands.executeCommand('gpuemu.runTests'));
    await until('no problems', () => problemsOf('kernels/scale.cu').length === 0);
    modes();
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await until('problems', () => problemsOf('kernels/scale.cu').length > 0);
  });

  test('tasks are offered and run', async () => {
    const tasks = await vscode.tasks.fetchTasks({ type: 'gpuemu' });
    assert.deepEqual(tasks.map((one) => (one.definition as { command?: string }).command).sort(),
      ['check', 'ci', 'fuzz', 'lint', 'test']);
    const task = tasks.find((one) => one.definition['command'] === 'check')!;
    const ended = new Promise<number | undefined>((resolve) => {
      const listener = vscode.tasks.onDidEndTaskProcess((one) => {
        listener.dispose();
        resolve(one.exitCode);
      });
    });
    await vscode.tasks.executeTask(task);
    assert.equal(await ended, 2);
    const [problem] = await until('the matched problem', () => {
      const found = vscode.languages.getDiagnostics(realFile('gpuemu.toml')).filter((one) =>
        one.message.includes('project.nmae'));
      return found.length > 0 && found;
    });
    assert.equal(problem!.range.start.line, 2);
  });

  test('ten thousand failures are there soon after the tool has told them, and block nothing', async () => {
    modes('none');
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    modes('many');
    const begunAlone = Date.now();
    const text = await outputOf(['failures', '--limit', '10000', '--format', 'json']);
    const beforeReading = threadMs()!;
    assert.equal(readFailures(parseJson(text)).length, 10_000);
    const atOnceMs = threadMs()! - beforeReading;
    const aloneMs = Date.now() - begunAlone;
    const config = vscode.workspace.getConfiguration('gpuemu');
    await config.update('failuresLimit', 10_000, vscode.ConfigurationTarget.Workspace);
    await new Promise((next) => setTimeout(next, 1500));
    modes('none');
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    const idle = heapUsed();
    modes('many');
    const longest = longestBlock();
    const begun = Date.now();
    await vscode.commands.executeCommand('gpuemu.refreshFailures');
    await until('the problems', () => problemsOf('kernels/scale.cu').some((one) =>
      /and 1249 more|and 2499 more/.test(one.message)), 60_000);
    const tookMs = Date.now() - begun;
    const blockMs = longest();
    const heapMb = (heapUsed() - idle) / 2 ** 20;
    console.log(`10,000 failures: drawn after ${tookMs} ms; told by the tool and read at once ${aloneMs} ms; ` +
      `longest block ${blockMs.toFixed(0)} ms, read at once ${atOnceMs.toFixed(0)} ms; ${heapMb.toFixed(0)} MB more`);
    await config.update('failuresLimit', undefined, vscode.ConfigurationTarget.Workspace);
    assert.ok(tookMs < 4 * aloneMs, `${tookMs} ms, told and read at once ${aloneMs} ms`);
    assert.ok(blockMs < atOnceMs, `${blockMs} ms, read at once ${atOnceMs} ms`);
    assert.ok(heapMb * 2 ** 20 < text.length, `${heapMb} MB for ${text.length} characters`);
  });
});
