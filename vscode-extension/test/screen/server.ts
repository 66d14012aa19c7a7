// An editor for a test: a server with a home, settings and extensions of its own, and a workspace
// in a folder whose name has blanks, an umlaut, a quote and what addresses and shells read otherwise.

import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';

export const EXTENSION = path.resolve(__dirname, '../..');
export const ROOT = path.resolve(EXTENSION, '..');
const PLACE = process.env['GPUEMU_VSCODE'] ?? path.join(ROOT, 'build/vscode');
export const NODE = path.join(PLACE, 'node24');
const ENTRY = path.join(PLACE, 'server/node_modules/code-server/out/node/entry.js');

const SETTINGS = {
  'workbench.startupEditor': 'none', 'workbench.enableExperiments': false,
  'workbench.tips.enabled': false, 'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true, 'telemetry.telemetryLevel': 'off',
  'extensions.autoUpdate': false, 'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true, 'update.mode': 'none', 'git.enabled': false,
  'window.restoreWindows': 'none', 'editor.accessibilitySupport': 'off',
  'workbench.colorTheme': 'Default Dark Modern', 'files.hotExit': 'off',
  // What turns is drawn sixty times a second, by the processor that the tool under test needs.
  'workbench.reduceMotion': 'on',
  'files.autoSave': 'off',  // A browser saves by itself, a desktop does not.
  'testing.automaticallyOpenPeekView': 'never', 'testing.automaticallyOpenTestResults': 'never',
  'security.workspace.trust.startupPrompt': 'never',
};

export interface Wanted {
  /** Install the package; else the extension under development is loaded by the page's address. */
  vsix?: string;
  trusted?: boolean;
  /** A folder to copy for a workspace. */
  project: string;
  /** Folders of it that are left out. */
  without?: string[];
  settings?: Record<string, unknown>;
  /** Environment of the server. */
  env?: Record<string, string>;
}

export interface Server {
  url: string;
  workspace: string;
  home: string;
  log: string;
  stop(): Promise<void>;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const answers = (url: string): Promise<boolean> => new Promise((resolve) => {
  http.get(url, (reply) => {
    reply.resume();
    resolve((reply.statusCode ?? 500) < 500);
  }).on('error', () => resolve(false));
});

export async function startServer(wanted: Wanted): Promise<Server> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuemu-vsc-'));
  const at = (name: string): string => path.join(home, name);
  // Opened through a link, below a folder of a name that is left out inside of a workspace.
  const workspace = path.join(at('build'), 'w\u00f6rk #1 it\'s $HOME 100%');
  fs.mkdirSync(at('really'));
  fs.symlinkSync(at('really'), at('build'));
  fs.mkdirSync(at('data/User'), { recursive: true });
  fs.mkdirSync(at('extensions'));
  fs.mkdirSync(at('fake'));
  fs.cpSync(wanted.project, workspace, { recursive: true });
  for (const name of wanted.without ?? []) fs.rmSync(path.join(workspace, name), { recursive: true });
  fs.writeFileSync(at('data/User/settings.json'), JSON.stringify({
    ...SETTINGS, 'security.workspace.trust.enabled': wanted.trusted === false, ...wanted.settings,
  }));
  // What belongs to a machine is read from the server's own settings.
  fs.mkdirSync(at('data/Machine'));
  fs.writeFileSync(at('data/Machine/settings.json'), JSON.stringify(wanted.settings ?? {}));
  fs.writeFileSync(at('server.yaml'), 'auth: none\n');
  const env: NodeJS.ProcessEnv = {
    ...process.env, HOME: home, GPUEMU_FAKE: at('fake'), XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined,
    XDG_CACHE_HOME: undefined, PORT: undefined, PASSWORD: undefined, ELECTRON_RUN_AS_NODE: undefined,
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',  // Nothing is looked up anywhere.
    ...wanted.env,
  };
  const common = [ENTRY, '--config', at('server.yaml'), '--user-data-dir', at('data'),
    '--extensions-dir', at('extensions')];
  if (wanted.vsix) {
    const done = spawnSync(NODE, [...common, '--install-extension', wanted.vsix],
      { env, encoding: 'utf8', timeout: 300_000 });
    if (done.status !== 0) throw new Error(`the package does not install\n${done.stdout}${done.stderr}`);
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = at('server.log');
  const out = fs.openSync(log, 'w');
  const child = spawn(NODE, [...common, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`,
    '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override',
    '--ignore-last-opened', ...(wanted.trusted === false ? [] : ['--disable-workspace-trust']),
    // Only with this a built server takes an extension under development from the page's address.
    ...(wanted.vsix ? [] : ['--vscode-option', 'enable-smoke-test-driver'])],
  { env, detached: true, stdio: ['ignore', out, out] });
  const begun = Date.now();
  while (!(await answers(`${url}/healthz`))) {
    if (child.exitCode !== null || Date.now() - begun > 180_000) {
      throw new Error(`the server did not start\n${fs.readFileSync(log, 'utf8')}`);
    }
    await new Promise((next) => setTimeout(next, 100));
  }
  const stop = async (): Promise<void> => {
    // It starts processes of its own: the whole group ends.
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      try {
        process.kill(-child.pid!, signal);
      } catch {
        // It has ended.
      }
      await new Promise((next) => setTimeout(next, 500));
    }
    fs.closeSync(out);
    if (!process.env['KEEP']) fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  return { url, workspace, home, log, stop };
}
