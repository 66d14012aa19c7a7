// gpuemu.toml and kernels as languages: errors, completion, hover, definitions, lenses.

import assert from 'node:assert/strict';
import * as path from 'node:path';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import { api, file, lensesOf, modes, revertAll, root, until } from './helpers';

const config = (): vscode.Uri => file('gpuemu.toml');

async function place(text: string, uri = config(), into = 0): Promise<vscode.Position> {
  const document = await vscode.workspace.openTextDocument(uri);
  const at = document.getText().indexOf(text);
  assert.ok(at >= 0, text);
  return document.positionAt(at + into);
}

async function hoverAt(uri: vscode.Uri, position: vscode.Position): Promise<string> {
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
    'vscode.executeHoverProvider', uri, position);
  return hovers.flatMap((one) => one.contents.map((each) =>
    typeof each === 'string' ? each : each.value)).join('\n');
}

suite('gpuemu.toml and kernels', () => {
  suiteSetup(async () => {
    modes();
    await api();
  });
  teardown(revertAll);

  test('what is typed wrongly is underlined before it is saved', async () => {
    const document = await vscode.workspace.openTextDocument(config());
    await vscode.window.showTextDocument(document);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(config(), new vscode.Range(6, 0, 6, 6), 'kernell');
    await vscode.workspace.applyEdit(edit);
    const found = await until('the error', () =>
      vscode.languages.getDiagnostics(config()).find((one) => one.code === 'config'));
    assert.deepEqual([found.range.start.line, found.range.start.character,
      found.range.end.character], [6, 0, 7]);
    assert.match(found.message, /did you mean 'kernel'/);
    await until('the end of the copy', () => !fs.readdirSync(root()).some((name) => name.startsWith('.gpuemu-')));
    await vscode.commands.executeCommand('undo');
    await until('no error', () => !vscode.languages.getDiagnostics(config())
      .some((one) => one.code === 'config'));
  });

  test('keys complete by table, values by key', async () => {
    const names = async (text: string, into: number): Promise<string[]> => {
      const list = await vscode.commands.executeCommand<vscode.CompletionList>(
        'vscode.executeCompletionItemProvider', config(), await place(text, config(), into));
      return list.items.map((one) => (typeof one.label === 'string' ? one.label : one.label.label));
    };
    const keys = await names('dims = { n = [1, 500] }\ndtypes', 0);
    assert.ok(keys.includes('accumulate') && !keys.includes('reference'), keys.join(' '));
    const inline = await names('name = "x", shape', 0);
    assert.ok(inline.includes('shape') || inline.includes('range'), inline.join(' '));
    const kernels = await names('kernel = "scale"', 9);
    assert.ok(kernels.includes('scale') && kernels.includes('sum'), kernels.join(' '));
  });

  test('a key explains itself', async () => {
    assert.match(await hoverAt(config(), await place('dims = {', config(), 1)), /\*\*dims\*\*/);
    assert.match(await hoverAt(config(), await place('shape = ["n"]', config(), 1)), /\*\*shape\*\*/);
    assert.match(await hoverAt(config(), await place('block = 128', config(), 1)), /\*\*block\*\*/);
  });

  test('kernels, references and entries lead to what they name', async () => {
    const target = async (text: string, into: number): Promise<[string, number]> => {
      const found = await vscode.commands.executeCommand<(vscode.Location & vscode.LocationLink)[]>(
        'vscode.executeDefinitionProvider', config(), await place(text, config(), into));
      const one = found[0]!;
      return [path.basename((one.uri ?? one.targetUri).fsPath),
        (one.range ?? one.targetRange).start.line];
    };
    assert.deepEqual(await target('kernel = "sum"', 12), ['gpuemu.toml', 30]);
    assert.deepEqual(await target('references/scale.py', 3), ['scale.py', 0]);
    assert.deepEqual(await target('kernels/scale.cu', 3), ['scale.cu', 0]);
    assert.deepEqual(await target('entry = "scale"', 11), ['scale.cu', 1]);
  });

  test('Run, Fuzz and Lint stand above ops and above their kernels', async () => {
    const toml = await lensesOf(config());
    for (const line of [4, 20]) {
      assert.deepEqual(toml.filter(([at]) => at === line).map(([, title]) => title).slice(0, 3),
        ['Run', 'Fuzz', 'Lint']);
    }
    const cuda = await until('lenses in the kernel', async () => {
      const found = await lensesOf(file('kernels/scale.cu'));
      return found.length >= 3 && found;
    });
    assert.deepEqual(cuda.slice(0, 3).map(([line]) => line), [1, 1, 1]);
  });

  test('a hover on a kernel tells what the compiler made of it', async () => {
    const uri = file('kernels/sum.cu');
    const text = await hoverAt(uri, await place('void sum', uri, 6));
    assert.match(text, /\| `sum` \| sm_80 \| 10 \(was 8\) \|/);
    assert.match(text, /Compared with baseline `main`/);
  });

  test('the language of the file is nobody\'s but toml\'s', async () => {
    const document = await vscode.workspace.openTextDocument(config());
    assert.ok(['toml', 'plaintext'].includes(document.languageId), document.languageId);
  });
});
