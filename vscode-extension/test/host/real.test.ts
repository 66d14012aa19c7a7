// The extension in the editor with the real tool and a real daemon, on the project's examples.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import { api, file, kindOf, lensesOf, nextRun, outputOf, problemsOf, realFile, settle, until } from './helpers';

const FAULTS: [string, string, string][] = [
  ['scale_missing_tail_mask', 'kernels/scale_missing_tail_mask.cu', 'y[i] = factor * x[i];'],
  ['reduce_missing_sync', 'kernels/reduce_missing_sync.cu', 'partial[threadIdx.x] +='],
];

async function typeInto(document: vscode.TextDocument): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, new vscode.Position(0, 0), '// \n');
  await vscode.workspace.applyEdit(edit);
}

/** Takes the text of the file: a busy machine may tell the editor late, or never, that another program wrote it. */
async function reread(document: vscode.TextDocument): Promise<void> {
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand('workbench.action.files.revert');
}

suite('the examples', function suiteOfExamples() {
  this.timeout(240_000);

  suiteTeardown(async () => {
    await vscode.commands.executeCommand('gpuemu.stopDaemon');
  });

  test('a run finds exactly the planted faults, at their lines', async () => {
    await api();
    await until('the ops', async () =>
      (await lensesOf(file('kernels/softmax.cu'))).length > 0, 30_000);
    const run = await nextRun(() => vscode.commands.executeCommand('gpuemu.runQuickTests'));
    assert.deepEqual([run.failed, run.errored], [3, 0], JSON.stringify(run));
    for (const [op, name, code] of FAULTS) {
      const document = await vscode.workspace.openTextDocument(file(name));
      const problem = await until(op, () => problemsOf(name).find((one) =>
        document.lineAt(one.range.start.line).text.includes(code)));
      assert.ok(kindOf(problem).length > 0);
    }
    assert.equal(problemsOf('kernels/softmax.cu').length, 0);
  });

  test('a save has its verdict as soon as the editor alone saves and the tool alone tests, after the delay', async () => {
    const document = await vscode.workspace.openTextDocument(file('kernels/softmax.cu'));
    fs.writeFileSync(file('notes.txt').fsPath, 'no op depends on it\n');
    const notes = await vscode.workspace.openTextDocument(file('notes.txt'));
    const delayMs = vscode.workspace.getConfiguration('gpuemu').get<number>('validateOnSaveDelay')!;
    let [aloneMs, editorMs, savedMs, toolMs] = [Infinity, Infinity, Infinity, Infinity];
    for (let i = 0; i < 5; ++i) {
      await typeInto(notes);
      const begunEditor = Date.now();
      await notes.save();
      editorMs = Math.min(editorMs, Date.now() - begunEditor);

      await typeInto(document);
      const begun = Date.now();
      const run = await nextRun(() => document.save());
      savedMs = Math.min(savedMs, Date.now() - begun);
      toolMs = Math.min(toolMs, run.durationMs);
      assert.deepEqual([run.ops, run.failed, run.errored], [['softmax'], 0, 0]);

      // The same work once more: another text of the kernel.
      await settle();
      fs.appendFileSync(document.uri.fsPath, `// ${i}\n`);
      const begunAlone = Date.now();
      const said = await outputOf(['test', 'softmax', '--quick', '--format', 'json', '--stream']);
      aloneMs = Math.min(aloneMs, Date.now() - begunAlone);
      assert.match(said, /"RunFinished"/);
      await reread(document);
      await until('the text of the file', () => document.getText().endsWith(`// ${i}\n`));
    }
    console.log(`save to verdict ${savedMs} ms: a delay of ${delayMs} ms, ${toolMs} ms of the tool; alone the editor ` +
      `saves in ${editorMs} ms and the tool tests in ${aloneMs} ms`);
    // The tool alone has both cores to itself; during a save the editor works beside it.
    assert.ok(savedMs - delayMs < 5 * (editorMs + aloneMs),
      `${savedMs} ms; the editor alone ${editorMs} ms, the tool alone ${aloneMs} ms`);
  });

  test('the problem of a repaired kernel goes, though the run did not execute its stored cases', async () => {
    const name = 'kernels/scale_missing_tail_mask.cu';
    const document = await vscode.workspace.openTextDocument(file(name));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, document.positionAt(document.getText().indexOf('y[i] = factor')), 'if (i < n) ');
    await vscode.workspace.applyEdit(edit);
    const run = await nextRun(() => document.save());
    assert.deepEqual([run.ops, run.failed], [['scale_missing_tail_mask'], 0]);
    await until('no problem', () => problemsOf(name).length === 0, 60_000);
  });

  test('a task shows its findings at their lines', async () => {
    const tasks = await vscode.tasks.fetchTasks({ type: 'gpuemu' });
    const task = tasks.find((one) => one.definition['command'] === 'test')!;
    await vscode.tasks.executeTask(task);
    const found = await until('the finding', () => vscode.languages.getDiagnostics(
      realFile('kernels/reduce_missing_sync.cu')).find((one) => one.code === 'DataRace'), 120_000);
    const document = await vscode.workspace.openTextDocument(file('kernels/reduce_missing_sync.cu'));
    assert.ok(document.lineAt(found.range.start.line).text.includes('partial[threadIdx.x] +='));
  });

  test('a hover on a kernel tells what the compiler made of it', async () => {
    const uri = file('kernels/softmax.cu');
    const document = await vscode.workspace.openTextDocument(uri);
    const at = document.positionAt(document.getText().indexOf('void softmax(') + 7);
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, at);
    const text = hovers.flatMap((one) => one.contents.map((each) => (each as vscode.MarkdownString).value)).join('\n');
    assert.match(text, /\| kernel \| arch \| registers \| shared \| spills \| occupancy \|/);
    assert.match(text, /\| `softmax` \| sm_\d+ \| \d+ \|/);
  });

  test('an error in gpuemu.toml is the tool\'s own', async () => {
    const uri = file('gpuemu.toml');
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document);
    const at = document.positionAt(document.getText().indexOf('accumulate = "cols"'));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(uri, at, 'accumulatee = "cols"\n');
    await vscode.workspace.applyEdit(edit);
    const found = await until('the error', () => vscode.languages.getDiagnostics(uri)
      .find((one) => one.code === 'config' && one.message.includes('accumulatee')), 20_000);
    assert.equal(found.range.start.line, at.line);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });
});
