// Finds kernels in sources: the line that declares a `__global__` function or a Triton kernel.

import { lineCounter } from './toml';

export interface KernelPlace {
  name: string;
  /** Counted from 0. */
  line: number;
  column: number;
}

const GLOBAL = /\b__global__\b/g;
// Matches void, attributes such as __launch_bounds__(256), and the name before the parameters.
const NAME = /^(?:[\s\w]|::|__launch_bounds__\s*\([^)]*\)|__cluster_dims__\s*\([^)]*\)|<[^>]*>)*?\b([A-Za-z_]\w*)\s*\(/;
const ATTRIBUTE = /^(?:__launch_bounds__|__cluster_dims__|__attribute__|alignas)$/;

/** Replaces comments and strings by blanks, so that offsets do not change. */
function code(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"/g,
    (found) => found.replace(/[^\n]/g, ' '));
}

type PlaceOf = (name: string, offset: number) => KernelPlace;

function placesOf(text: string): PlaceOf {
  const lineAt = lineCounter(text);
  return (name, offset) => ({
    name, line: lineAt(offset) - 1, column: offset === 0 ? 0 : offset - (text.lastIndexOf('\n', offset - 1) + 1),
  });
}

export function cudaKernels(text: string): KernelPlace[] {
  const plain = code(text);
  const placeOf = placesOf(text);
  const found: KernelPlace[] = [];
  for (const match of plain.matchAll(GLOBAL)) {
    let at = match.index + match[0].length;
    const rest = plain.slice(at, at + 2000).replace(
      /\b(?:__launch_bounds__|__cluster_dims__|__attribute__|alignas)\s*\((?:[^()]|\([^()]*\))*\)/g,
      (attribute) => ' '.repeat(attribute.length));
    const name = NAME.exec(rest);
    if (!name || ATTRIBUTE.test(name[1]!)) continue;
    at += name[0].lastIndexOf(name[1]!);
    found.push(placeOf(name[1]!, at));
  }
  return found;
}

export function tritonKernels(text: string): KernelPlace[] {
  const found: KernelPlace[] = [];
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; ++i) {
    if (!/^\s*@(?:triton\.)?jit\b/.test(lines[i]!)) continue;
    for (let k = i + 1; k < Math.min(lines.length, i + 20); ++k) {
      const def = /^(\s*def\s+)([A-Za-z_]\w*)/.exec(lines[k]!);
      if (!def) continue;
      found.push({ name: def[2]!, line: k, column: def[1]!.length });
      break;
    }
  }
  return found;
}

export function kernelsIn(file: string, text: string): KernelPlace[] {
  if (/\.(cu|cuh)$/.test(file)) return cudaKernels(text);
  return file.endsWith('.py') ? tritonKernels(text) : [];
}
