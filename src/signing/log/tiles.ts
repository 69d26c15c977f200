import { type Hashing, isCount, nodeHash, type TreeNode } from './merkle.ts'

/** Hashes, or entries, in a full tile. */
export const TILE_WIDTH = 256

/** A tile: hashes of one level of the tree, level 0 being the leaves; or `entries`, what level 0 hashes. */
export interface Tile {
  level: number | 'entries'
  index: number
  /** 1 to 256. */
  width: number
}

/** The path of a tile below `/tile/`, such as `0/x001/x234/067.p/8` (C2SP tlog-tiles). */
export function tilePath({ level, index, width }: Tile): string {
  const groups = [
    ...String(index)
      .padStart(Math.ceil(String(index).length / 3) * 3, '0')
      .matchAll(/.../g),
  ]
  const name = groups.map(([group], at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
  return `${level}/${name}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Reads what `tilePath` writes. @returns undefined for every other spelling */
export function parseTilePath(path: string): Tile | undefined {
  const [, level = '', name = '', width = '256'] =
    /^(entries|[0-9]{1,2})\/((?:x[0-9]{3}\/)*[0-9]{3})(?:\.p\/([0-9]{1,3}))?$/.exec(path) ?? []
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(name.replace(/[x/]/g, '')),
    width: Number(width),
  }
  const { index } = tile
  if (tile.width < 1 || tile.width > TILE_WIDTH || !isCount(index) || Number(tile.level) > 63)
    return undefined
  return tilePath(tile) === path ? tile : undefined
}

/** Checks whether a log of that size has that tile: a full one, or a partial one of a tree that was no larger. */
export function hasTile({ level, index, width }: Tile, size: number): boolean {
  const span = TILE_WIDTH ** (level === 'entries' ? 0 : level)
  return index * TILE_WIDTH + width <= Math.floor(size / span)
}

/** Where the hash of a complete subtree is computed from: hashes that stand next to one another in one tile. */
export interface TileSlice {
  level: number
  index: number
  offset: number
  count: number
}

/** The place of a complete subtree in the tiles, which store every eighth level only. */
export function sliceOf({ level, index }: TreeNode): TileSlice {
  const count = 2 ** (level % 8)
  const first = index * count
  return {
    level: Math.floor(level / 8),
    index: Math.floor(first / TILE_WIDTH),
    offset: first % TILE_WIDTH,
    count,
  }
}

/** The hash over a complete subtree, of the hashes of its slice (a power of two of them). */
export function* sliceHash(hashes: readonly Uint8Array[]): Hashing<Uint8Array> {
  const [first, second] = hashes
  if (first === undefined) throw new RangeError('a subtree has at least one leaf')
  if (second === undefined) return first
  const middle = hashes.length / 2
  const left = yield* sliceHash(hashes.slice(0, middle))
  return yield* nodeHash(left, yield* sliceHash(hashes.slice(middle)))
}
