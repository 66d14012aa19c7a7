// The entry point: creates everything at activation, and provides the API for other extensions and tests.

import * as activation from './core/loaded';
import * as vscode from 'vscode';
import { close, reopen } from './core/process';
import { RunSummary } from './core/verdict';
import { Commands } from './commands';
import { ConfigLanguage } from './configLanguage';
import { DaemonView } from './daemonView';
import { DetailsPanel } from './detailsPanel';
import { FailureCommands } from './failureCommands';
import { FailuresView } from './failuresView';
import { Fixes } from './fixes';
import { Folder } from './folder';
import { Folders } from './folders';
import { KernelFeatures } from './kernelFeatures';
import { OnSave } from './onSave';
import { ProblemsPanel } from './problemsPanel';
import { PythonWatch } from './python';
import { StatusBar } from './statusBar';
import { Tasks } from './tasks';
import { watchTerminals } from './terminal';
import { Testing } from './testing';
import * as log from './log';
import { messageOf } from './tool';

export interface GpuemuApi {
  version: 1;
  onDidFinishRun: vscode.Event<RunSummary>;
  runs(): RunSummary[];
}

const RUNS_MAX = 100;

export function activate(context: vscode.ExtensionContext): GpuemuApi {
  activation.start();
  reopen();
  log.openLog(context);
  const folders = new Folders();
  const problems = new ProblemsPanel(folders);
  const testing = new Testing(folders);
  const details = new DetailsPanel(folders, context.extensionUri);
  const kernels = new KernelFeatures(folders);
  const language = new ConfigLanguage(folders, problems, context.extensionUri);
  context.subscriptions.push(
    folders, problems, testing, details, kernels, language, new FailuresView(folders),
    new DaemonView(folders), new StatusBar(folders), new OnSave(folders, testing),
    vscode.languages.registerCodeActionsProvider(
      { scheme: 'file' }, new Fixes(), { providedCodeActionKinds: Fixes.kinds }),
    vscode.tasks.registerTaskProvider('gpuemu', new Tasks(folders)),
    { dispose: close },
  );
  new Commands(folders, kernels, details).register(context);
  new FailureCommands(folders, details).register(context);
  watchTerminals(context);
  const api = apiOf(context, folders);
  follow(context, folders, language);
  activation.stop();
  log.info(`active after ${activation.spentText()}`);
  return api;
}

export function deactivate(): void {
  close();
}

function apiOf(context: vscode.ExtensionContext, folders: Folders): GpuemuApi {
  const finished = new vscode.EventEmitter<RunSummary>();
  const runs: RunSummary[] = [];
  context.subscriptions.push(finished, folders.onDidFinishRun(({ folder }) => {
    if (!folder.lastRun) return;
    runs.push(folder.lastRun);
    if (runs.length > RUNS_MAX) runs.shift();
    finished.fire(folder.lastRun);
  }));
  return { version: 1, onDidFinishRun: finished.event, runs: () => [...runs] };
}

/** One daemon serves all folders. */
const startsDaemon = (folders: Folders, folder: Folder): boolean => folder === folders.all().find((one) =>
  one.trouble === undefined && one.tool.setting('autoStartDaemon', true));

/** Starts the daemon and reads the stored results of the folder. */
async function serve(folders: Folders, folder: Folder): Promise<void> {
  if (!vscode.workspace.isTrusted || folder.trouble === 'program') return;
  try {
    if (folder.trouble === 'config') {
      await folder.enqueue(() => folder.loadStatus());
      return;
    }
    if (startsDaemon(folders, folder)) {
      await folder.enqueue(() => folder.tool.start(['daemon', 'start', '--background'],
        { timeoutMs: 30_000 }).then((running) => running?.ended));
    }
    await folder.enqueue(async () => {
      await folder.loadFailures();
      await folder.loadStatus();
    });
  } catch (error) {
    log.warn(`${folder.configFile}: ${messageOf(error)}`);
  }
}

/** Reads everything now and when folders, trust or settings change. Nothing waits for it. */
function follow(
  context: vscode.ExtensionContext, folders: Folders, language: ConfigLanguage,
): void {
  const known = new Set<Folder>();
  const unread = new Set<Folder>();
  const load = async (folder: Folder): Promise<void> => {
    unread.delete(folder);
    await folder.loadProject();
    await serve(folders, folder);
  };
  const loadNew = (): void => {
    const all = folders.all();
    void vscode.commands.executeCommand('setContext', 'gpuemu.active', all.length > 0);
    for (const one of [...known]) {
      if (all.includes(one)) continue;
      known.delete(one);
      unread.delete(one);
    }
    for (const one of all) {
      if (known.has(one)) continue;
      known.add(one);
      void load(one);
    }
  };
  const reload = (): void => {
    language.forgetSchema();
    for (const one of folders.all()) {
      one.tool.forget();
      void load(one);
    }
  };
  const python = new PythonWatch(reload);
  context.subscriptions.push(
    python, folders.onDidChangeList(loadNew),
    folders.onDidChange(({ folder, what }) => {
      python.follow();
      if (what !== 'project') return;
      if (folder.trouble !== undefined) unread.add(folder);
      // For example, gpuemu.toml was repaired.
      else if (unread.delete(folder)) void serve(folders, folder);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void folders.discover().catch(
      (error: unknown) => log.error(`the search for gpuemu.toml: ${messageOf(error)}`))),
    vscode.workspace.onDidGrantWorkspaceTrust(reload),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('gpuemu.binaryPath')) reload();
      else if (event.affectsConfiguration('gpuemu.failuresLimit')) {
        for (const one of folders.all()) void one.loadFailures();
      }
    }),
  );
  folders.discover().then(loadNew, (error: unknown) => log.error(`the search for gpuemu.toml: ${messageOf(error)}`));
}

activation.stop();
