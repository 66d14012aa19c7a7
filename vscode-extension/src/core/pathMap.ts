// Paths of the tool as the editor knows them. In a folder that was opened through a symbolic link the
// tool names files by where they really are; the editor would take those for other files.

export interface PathMap {
  /** As the tool names it, with a slash at the end. */
  from: string;
  to: string;
}

/** The maps of folders, each with where it really is. A folder that follows from one before it has none. */
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
    // The end of a longer path is another one.
    const begin = new RegExp(`(?<![\\p{L}\\p{N}_.~-])${one.from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'gu');
    return all.replace(begin, () => one.to);
  }, text);
}

/** Maps a text that arrives in pieces; a path may be cut between two of them. */
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

/** How many of the last characters of `text` may be the begin of `wanted`. */
function begunAtEnd(text: string, wanted: string): number {
  for (let kept = Math.min(wanted.length - 1, text.length); kept > 0; --kept) {
    if (wanted.startsWith(text.slice(-kept))) return kept;
  }
  return 0;
}
