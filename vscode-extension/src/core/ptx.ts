// The PTX of a source line, by the directives `.file` and `.loc`.

const FILE = /^\s*\.file\s+(\d+)\s+"([^"]*)"/;
const LOC = /^\s*\.loc\s+(\d+)\s+(\d+)/;

const baseName = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

/** True for an instruction, false for a label, directive, comment or brace. */
const isInstruction = (line: string): boolean => /^\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+\S.*;/.test(line);

/**
 * The line, counted from 1, of the first PTX instruction of line `line` of `file`; if `instruction` is
 * among them, its line. Undefined if the PTX has no line information for it.
 */
export function ptxLineOf(ptx: string, file: string, line: number, instruction = ''):
number | undefined {
  const lines = ptx.split('\n');
  const files = new Map<string, string>();
  for (const text of lines) {
    const match = FILE.exec(text);
    if (match) files.set(match[1]!, match[2]!);
  }
  const same = (name: string | undefined): boolean =>
    name !== undefined && (name === file || baseName(name) === baseName(file));
  let here = false;
  let first: number | undefined;
  for (let i = 0; i < lines.length; ++i) {
    const text = lines[i]!;
    const loc = LOC.exec(text);
    if (loc) here = Number(loc[2]) === line && same(files.get(loc[1]!));
    if (!here || loc || !isInstruction(text)) continue;
    first ??= i + 1;
    if (instruction === '') return first;
    if (text.replace(/\s+/g, ' ').includes(instruction.replace(/\s+/g, ' '))) return i + 1;
  }
  return first;
}
