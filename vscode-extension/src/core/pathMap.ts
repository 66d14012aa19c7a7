// Maps the tool's paths to those of the editor. In a folder opened through a symbolic link the tool uses
// the real paths, which the editor would take for other files.

export interface PathMap {
  /** The tool's name for it, with a slash at the end. */
  from: string;
  to: string;
}

/** The maps of folders, each with its real path. A folder that an earlier one already covers has none. */
export function pathMaps(folders: { shown: string; real: string }[]): PathMap[] {
  const maps: PathMap[] = [];
  for (const { shown, real } of folders) {
    const from = `${real}/`;
    if (mapped(from, maps) !== `${shown}/`) maps.push({ from, to: `${shown}/` });
  }
  return maps;
}

export function mapped(text: string, maps: PathMap[]): string {
  return maps.reduce((all, one) => {
    // Must not match the end of a longer path.
    const begin = new RegExp(`(?<![\\p{L}\\p{N}_.~-])${one.from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'gu');
    return all.replace(begin, () => one.to);
  }, text);
}

/** Maps a text that arrives in pieces; a path may be split between two of them. */
export class PathMapper {
  private rest = '';
  /** The character before the rest. */
  private before = '';

  constructor(private readonly maps: PathMap[]) {}

  push(piece: string): string {
    if (this.maps.length === 0) return piece;
    const text = mapped(this.before + this.rest + piece, this.maps).slice(this.before.length);
    const kept = Math.max(...this.maps.map((one) => begunAtEnd(text, one.from)));
    const done = text.slice(0, text.length - kept);
    this.rest = text.slice(text.length - kept);
    this.before = done.slice(-1) || this.before;
    return done;
  }

  end(): string {
    const text = this.rest;
    this.rest = '';
    return text;
  }
}

/** The number of characters at the end of `text` that may be the beginning of `wanted`. */
function begunAtEnd(text: string, wanted: string): number {
  for (let kept = Math.min(wanted.length - 1, text.length); kept > 0; --kept) {
    if (wanted.startsWith(text.slice(-kept))) return kept;
  }
  return 0;
}
