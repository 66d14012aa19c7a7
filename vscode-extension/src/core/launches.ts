// The launches of a case, and the tiles of an output that their blocks write.

import { Json, listAt, textAt } from './json';

export interface Launch {
  entry: string;
  /** x, y, z. */
  grid: number[];
  block: number[];
}

export interface Tile {
  rows: number;
  columns: number;
}

/** The member `launches` of `gpuemu reproduce --details`. */
export function readLaunches(value: Json | undefined): Launch[] {
  const sizes = (one: Json, key: string): number[] =>
    listAt(one, key).filter((size): size is number => typeof size === 'number');
  return listAt(value, 'launches').map((one) => ({
    entry: textAt(one, 'entry') ?? '', grid: sizes(one, 'grid'), block: sizes(one, 'block'),
  })).filter((one) => one.grid.length === 3 && one.block.length === 3);
}

/** Elements of one block along an axis: whole blocks of threads that cover `size` in `blocks` steps. */
function share(size: number, blocks: number, threads: number): number {
  if (blocks <= 1) return size;
  const least = Math.ceil(size / blocks);
  const whole = Math.ceil(least / threads) * threads;
  return whole * (blocks - 1) < size ? whole : least;
}

/**
 * The part of an output of `rows` by `columns` that a block of the last launch writes, if the shape of
 * the grid determines it: x runs over columns and y over rows, or x only over rows.
 */
export function tileOf(launches: Launch[], rows: number, columns: number): Tile | undefined {
  const launch = launches.at(-1);
  if (!launch || rows < 1 || columns < 1) return undefined;
  const [x = 1, y = 1, z = 1] = launch.grid;
  const [across = 1, down = 1] = launch.block;
  if (z !== 1 || x * y <= 1) return undefined;
  if (y > 1) {
    if (x > columns || y > rows) return undefined;
    return { rows: share(rows, y, down), columns: share(columns, x, across) };
  }
  if (x === rows) return { rows: 1, columns };
  return rows === 1 && x <= columns ? { rows: 1, columns: share(columns, x, across) } : undefined;
}
