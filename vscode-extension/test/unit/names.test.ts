// Names that other extensions, key bindings and settings of users rely on.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { isObject, Json, listAt, objectAt, parseJson, textAt } from '../../src/core/json';

const PACKAGE = parseJson(fs.readFileSync('package.json', 'utf8'));
const CONTRIBUTED = objectAt(PACKAGE, 'contributes')!;

const COMMANDS: Record<string, string> = {
  init: 'Create gpuemu.toml', runTests: 'Run All Ops', runQuickTests: 'Run All Ops (Quick)', fuzzOp: 'Fuzz Op...',
  reproduce: 'Reproduce Failure', minimize: 'Minimize Failure', explain: 'Explain Failure',
  debugFailure: 'Debug Failure', exportFailure: 'Export Failure', adjustTolerance: 'Adjust Tolerance',
  addRegression: 'Keep as Regression', suppress: 'Suppress with Reason', showFailures: 'Show Failures',
  refreshFailures: 'Refresh Failures', deleteFailure: 'Forget Failure', openFailure: 'Open Failure Details',
  lintKernel: 'Lint Kernel', showBaselineDiff: 'Compare with Baseline', startDaemon: 'Start Daemon',
  stopDaemon: 'Stop Daemon', selectBinary: 'Select gpuemu Binary', showLogs: 'Show Logs',
  openReport: 'Open Report', cancel: 'Cancel Running Job',
};

// Name, default, scope, words.
const SETTINGS: [string, Json, string, string[]?][] = [
  ['binaryPath', '', 'machine-overridable'],
  ['validateOnSave', 'quick', 'resource', ['off', 'quick', 'full']],
  ['validateOnSaveDelay', 500, 'resource'],
  ['profile', 'default', 'resource', ['quick', 'default', 'thorough']],
  ['codeLens', true, 'resource'], ['autoStartDaemon', true, 'resource'], ['failuresLimit', 200, 'resource'],
  ['backend', 'auto', 'resource', ['auto', 'cuda', 'emulator']],
  ['trace', 'off', 'window', ['off', 'messages', 'verbose']],
];

test('commands', () => {
  const found = listAt(CONTRIBUTED, 'commands').map((one) =>
    [textAt(one, 'command'), textAt(one, 'title'), textAt(one, 'category')]);
  assert.deepEqual(found.sort(), Object.entries(COMMANDS)
    .map(([name, title]) => [`gpuemu.${name}`, title, 'gpuemu']).sort());
});

test('settings', () => {
  const found = objectAt(objectAt(CONTRIBUTED, 'configuration'), 'properties')!;
  assert.deepEqual(Object.keys(found).sort(), SETTINGS.map(([name]) => `gpuemu.${name}`).sort());
  for (const [name, value, scope, words] of SETTINGS) {
    const one = found[`gpuemu.${name}`];
    assert.ok(isObject(one), name);
    assert.deepEqual([one['default'], one['scope'], one['enum']], [value, scope, words], name);
    assert.ok((textAt(one, 'markdownDescription') ?? '').length > 10, name);
  }
  const trust = objectAt(objectAt(PACKAGE, 'capabilities'), 'untrustedWorkspaces');
  assert.deepEqual([textAt(trust, 'supported'), listAt(trust, 'restrictedConfigurations')],
    ['limited', ['gpuemu.binaryPath']]);
});

test('views, matchers and the side of a remote window on which it runs', () => {
  const ids = (where: Json | undefined, key: string): (string | undefined)[] =>
    listAt(where, key).map((one) => textAt(one, 'id'));
  assert.deepEqual(ids(objectAt(CONTRIBUTED, 'viewsContainers'), 'activitybar'), ['gpuemu']);
  assert.deepEqual(ids(objectAt(CONTRIBUTED, 'views'), 'gpuemu'), ['gpuemu.failures', 'gpuemu.sessions']);
  assert.deepEqual(listAt(CONTRIBUTED, 'problemMatchers').map((one) => textAt(one, 'name')).sort(),
    ['gpuemu', 'gpuemu-config']);
  assert.equal(textAt(listAt(CONTRIBUTED, 'tomlValidation')[0], 'fileMatch'), 'gpuemu.toml');
  assert.equal(CONTRIBUTED['languages'], undefined, 'the language of gpuemu.toml is toml');
  assert.deepEqual(listAt(PACKAGE, 'extensionKind'), ['workspace']);
  // The editor gives a search by a pattern up after seven seconds; a name alone is looked up.
  assert.deepEqual(listAt(PACKAGE, 'activationEvents'),
    ['workspaceContains:gpuemu.toml', 'workspaceContains:**/gpuemu.toml', 'onTaskType:gpuemu']);
});

test('what menus and pages name is a command', () => {
  const text = JSON.stringify(PACKAGE);
  const named = [...text.matchAll(/command:gpuemu\.(\w+)|onCommand:gpuemu\.(\w+)/g)].map((one) => one[1] ?? one[2]!);
  const menus = Object.values(objectAt(CONTRIBUTED, 'menus')!).flatMap((entries) =>
    (entries as Json[]).map((one) => (textAt(one, 'command') ?? '').replace('gpuemu.', '')));
  for (const name of [...named, ...menus]) assert.ok(name in COMMANDS, name);
});

/** The rows of a table of a page: `| `gpuemu.NAME` | second | ...`. */
function rowsOf(page: string): Map<string, string> {
  const rows = fs.readFileSync(page, 'utf8').matchAll(/^\| `gpuemu\.(\w+)` \| ([^|]*?) \|/gm);
  return new Map([...rows].map((row) => [row[1]!, row[2]!]));
}

test('the guide names every command and every setting with its default', () => {
  const rows = rowsOf('../docs/guides/vscode.md');
  const wanted = [...Object.entries(COMMANDS),
    ...SETTINGS.map(([name, value]) => [name, `\`${JSON.stringify(value)}\``] as const)];
  assert.deepEqual([...rows].sort(), wanted.sort());
});

test('the page of the package names every setting with its default', () => {
  assert.deepEqual([...rowsOf('README.md')].sort(),
    SETTINGS.map(([name, value]) => [name, `\`${JSON.stringify(value)}\``]).sort());
});
