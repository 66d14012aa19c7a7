// The Testing view in the editor: selections and profiles, as command lines of the tool.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import { api, calls, forgetCalls, modes, nextRun, openSaved, problemsOf, revertAll, until } from './helpers';

const RUN = 2;
const DEBUG = 4;
const COVERAGE = 8;

/** Runs items by their ids, as a click on them does. */
const runItems = (group: number, ...items: string[][]): Thenable<unknown> =>
  vscode.commands.executeCommand(
    'vscode.runTestsById', group, ...items.map((ids) => ['gpuemu', ...ids].join('\0')));

const runs = (): string[] => calls().filter((one) => /^(test|fuzz|coverage) /.test(one));

suite('the Testing view', () => {
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

  test('one dtype of one op is one process for that', async () => {
    const run = await nextRun(() => runItems(RUN, ['scale', 'scale/float16']));
    assert.deepEqual(runs(), ['test scale --dtype float16 --format json --stream']);
    assert.deepEqual([run.passed, run.failed], [1, 0]);
  });

  test('an op and a dtype of another one are one process', async () => {
    await nextRun(() => runItems(RUN, ['sum'], ['scale', 'scale/float32']));
    assert.equal(runs().length, 1);
    assert.match(runs()[0]!, /^test (sum scale|scale sum) --dtype float32 --format/);
  });

  test('a wrong value is shown as a difference of expected and actual', async () => {
    const made = vscode.TestMessage.diff;
    const shown: string[][] = [];
    vscode.TestMessage.diff = (message, expected, actual) => {
      shown.push([expected, actual]);
      return made(message, expected, actual);
    };
    modes('wrong');
    try {
      await nextRun(() => runItems(RUN, ['sum']));
      assert.equal(shown.length, 1);
      assert.match(shown[0]![0]!, /\b1\b/);
      assert.match(shown[0]![1]!, /\b2\b/);
      shown.length = 0;
      await nextRun(() => runItems(RUN, ['scale', 'scale/float32']));
      assert.deepEqual(shown, [], 'a write out of bounds has no values to compare');
    } finally {
      vscode.TestMessage.diff = made;
    }
  });

  test('coverage runs the cases and reads what they reached of each kernel', async () => {
    await nextRun(() => runItems(COVERAGE, ['scale']));
    await until('the coverage', () => runs().length >= 2);
    assert.deepEqual(runs(), [
      'test scale --format json --stream', 'coverage --kernel scale --format json']);
  });

  test('debug opens the prompt at the failing case', async () => {
    void runItems(DEBUG, ['scale']);
    const terminal = await until('the terminal', () =>
      vscode.window.terminals.find((one) => one.name === 'gpuemu debug scale'));
    const options = terminal.creationOptions as vscode.TerminalOptions;
    assert.deepEqual(options.shellArgs, ['debug', '18446744073709551557', '--op', 'scale', '--repl']);
    terminal.dispose();
  });

  test('a continuous run executes what a saved file belongs to', async () => {
    await vscode.commands.executeCommand('testing.startContinuousRun');
    const document = await openSaved('kernels/sum.cu');
    const before = document.getText();
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), '// \n');
    await vscode.workspace.applyEdit(edit);
    const run = await nextRun(() => document.save());
    assert.deepEqual(runs(), ['test sum --format json --stream']);
    assert.deepEqual(run.ops, ['sum']);
    await vscode.commands.executeCommand('testing.stopContinuousRun');
    forgetCalls();
    await nextRun(async () => {
      await vscode.workspace.applyEdit(edit);
      await document.save();
    });
    assert.deepEqual(runs(), ['test sum --quick --format json --stream']);
    fs.writeFileSync(document.uri.fsPath, before);
  });
});
