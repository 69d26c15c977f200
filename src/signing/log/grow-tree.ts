import { hashOnNode } from '../digest.ts'
import { type LeafRange, leafHash, nodesOf, rangeHash, type TreeNode } from './merkle.ts'
import { sliceHash, sliceOf, TILE_WIDTH, type Tile } from './tiles.ts'

/** The right edge of a tree: its size and, of each level of tiles, the hashes in the last one, fewer than 256. */
export interface TreeEdge {
  size: number
  levels: readonly (readonly Uint8Array[])[]
}

/** The edge of the tree without leaves. */
export const EMPTY_EDGE: TreeEdge = { size: 0, levels: [] }

/** A tile with its hashes. */
export interface FilledTile extends Tile {
  level: number
  hashes: readonly Uint8Array[]
}

/** Adds entries. @returns the new edge, and every tile that has become wider, the new edge's own included */
export function growTree(
  edge: TreeEdge,
  entries: readonly Uint8Array[],
): { edge: TreeEdge; tiles: FilledTile[] } {
  const levels: Uint8Array[][] = edge.levels.map((hashes) => [...hashes])
  const full: FilledTile[] = []
  let { size } = edge
  for (const entry of entries) {
    size += 1
    let hash = hashOnNode(leafHash(entry))
    for (let level = 0; ; level += 1) {
      const hashes = levels[level] ?? []
      levels[level] = hashes
      hashes.push(hash)
      if (hashes.length < TILE_WIDTH) break
      const index = size / TILE_WIDTH ** (level + 1) - 1
      full.push({ level, index, width: TILE_WIDTH, hashes: [...hashes] })
      hash = hashOnNode(sliceHash(hashes.splice(0)))
    }
  }
  const grown = { size, levels }
  return { edge: grown, tiles: entries.length === 0 ? [] : [...full, ...filledEdge(grown)] }
}

/** The partial tiles of a tree of that size, at its right edge. */
export function edgeTiles(size: number): (Tile & { level: number })[] {
  const tiles: (Tile & { level: number })[] = []
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH))
    if (count % TILE_WIDTH > 0)
      tiles.push({ level, index: Math.floor(count / TILE_WIDTH), width: count % TILE_WIDTH })
  return tiles
}

function filledEdge({ size, levels }: TreeEdge): FilledTile[] {
  return edgeTiles(size).map((tile) => ({ ...tile, hashes: [...(levels[tile.level] ?? [])] }))
}

/** The edge, of its tiles as they are stored. @throws RangeError when one lacks hashes */
export function readEdge(
  size: number,
  hashesOf: (tile: Tile & { level: number }) => readonly Uint8Array[],
): TreeEdge {
  const levels: (readonly Uint8Array[])[] = []
  for (const tile of edgeTiles(size)) {
    while (levels.length < tile.level) levels.push([])
    const hashes = hashesOf(tile).slice(0, tile.width)
    if (hashes.length < tile.width) throw new RangeError(`a tile of level ${tile.level} lacks hashes`)
    levels.push(hashes)
  }
  return { size, levels }
}

/** The root of the tree (RFC 6962 section 2.1). */
export function rootOf({ size, levels }: TreeEdge): Uint8Array {
  const hashes = nodesOf({ start: 0, end: size }).map((node) =>
    hashOfNode(node, (level) => levels[level] ?? []),
  )
  return hashOnNode(rangeHash(hashes))
}

/** The tiles from which the hashes of these ranges are computed, each once. */
export function tilesFor(ranges: readonly LeafRange[]): { level: number; index: number }[] {
  const slices = ranges.flatMap(nodesOf).map(sliceOf)
  return [...new Map(slices.map(({ level, index }) => [`${level}/${index}`, { level, index }])).values()]
}

/** The hashes of these ranges, such as an inclusion proof, of the tiles that `tilesFor` names. */
export function hashRanges(
  ranges: readonly LeafRange[],
  hashesOf: (level: number, index: number) => readonly Uint8Array[],
): Uint8Array[] {
  return ranges.map((range) =>
    hashOnNode(rangeHash(nodesOf(range).map((node) => hashOfNode(node, hashesOf)))),
  )
}

function hashOfNode(
  node: TreeNode,
  hashesOf: (level: number, index: number) => readonly Uint8Array[],
): Uint8Array {
  const { level, index, offset, count } = sliceOf(node)
  const hashes = hashesOf(level, index).slice(offset, offset + count)
  if (hashes.length < count) throw new RangeError(`a tile of level ${level} lacks hashes`)
  return hashOnNode(sliceHash(hashes))
}
