// Finds the gpuemu program: the setting, then the workspace's Python environment, then PATH.

import * as fs from 'node:fs/promises';
import { constants } from 'node:fs';
import * as path from 'node:path';

export const VERSION_MIN = '1.0.0';

export interface Surroundings {
  setting: string;
  /** The folder of gpuemu.toml. */
  folder: string;
  /** The folder of the workspace that contains it. */
  workspace: string;
  home: string;
  /** The Python interpreter selected for the folder, absolute or with `~`. */
  interpreter?: string;
  env: Record<string, string | undefined>;
}

const ENVIRONMENTS = ['.venv', 'venv', 'env'];

/** Returns the candidates in order. If the setting is set, it is the only one. */
export function candidates(around: Surroundings): string[] {
  const { setting, folder, workspace, home, interpreter, env } = around;
  if (setting.trim() !== '') return [expand(setting.trim(), workspace, home)];
  const environments = [
    ...[folder, workspace].flatMap((one) => ENVIRONMENTS.map((name) => path.join(one, name))),
    ...[env['VIRTUAL_ENV'], env['CONDA_PREFIX']].filter((one): one is string => !!one),
  ];
  const folders = [
    ...(interpreter ? [path.dirname(expand(interpreter, workspace, home))] : []),
    ...environments.map((one) => path.join(one, 'bin')),
    ...(env['PATH'] ?? '').split(path.delimiter).filter((one) => one !== '' && path.isAbsolute(one)),
    path.join(home, '.local', 'bin'),
    path.join(home, '.gpuemu', 'bin'),
  ];
  return [...new Set(folders)].map((one) => path.join(one, 'gpuemu'));
}

function expand(setting: string, workspace: string, home: string): string {
  const text = setting.replaceAll('${workspaceFolder}', () => workspace).replace(/^~(?=\/|$)/, () => home);
  return path.isAbsolute(text) ? text : path.join(workspace, text);
}

/** The first candidate that is an executable file. */
export async function findBinary(around: Surroundings): Promise<string | undefined> {
  for (const file of candidates(around)) {
    try {
      await fs.access(file, constants.X_OK);
      if ((await fs.stat(file)).isFile()) return file;
    } catch {
      // Missing or not executable: try the next one.
    }
  }
  return undefined;
}

/** Returns the version from the output of `gpuemu --version`, "gpuemu v1.0.0"; undefined for the output
 * of another program. */
export function versionIn(text: string): string | undefined {
  return /^gpuemu v?(\d+\.\d+(?:\.\d+)?)/m.exec(text)?.[1];
}

export function atLeast(version: string, least: string): boolean {
  const parts = (text: string): number[] => text.split('.').map(Number);
  const [a, b] = [parts(version), parts(least)];
  for (let i = 0; i < Math.max(a.length, b.length); ++i) {
    if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) > (b[i] ?? 0);
  }
  return true;
}
