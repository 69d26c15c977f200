import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromBase64 } from '../../../src/signing/base64.ts'
import { hashOnNode } from '../../../src/signing/digest.ts'
import {
  consistencyHolds,
  consistencyRanges,
  type Hashing,
  hashOnWeb,
  inclusionHolds,
  inclusionRanges,
  type LeafRange,
  leafHash,
  nodeHash,
  nodesOf,
  rangeHash,
  type TreeNode,
} from '../../../src/signing/log/merkle.ts'
import { hasTile, parseTilePath, sliceHash, sliceOf, tilePath } from '../../../src/signing/log/tiles.ts'
import { size } from '../../support/size.ts'

const vectors: {
  inclusion: Vector<{ leafIdx: number; treeSize: number; root: string; leafHash: string }>[]
  consistency: Vector<{ size1: number; size2: number; root1: string; root2: string }>[]
} = JSON.parse(
  readFileSync(new URL('../../vectors/merkle-rfc6962/merkle-proofs.json', import.meta.url), 'utf8'),
)
type Vector<T> = T & { proof: string[] | null; wantErr: boolean; _file: string }

/** MTH of RFC 6962 section 2.1, word by word, without anything of ours. */
function mth(entries: readonly Buffer[]): Buffer {
  const [first] = entries
  if (first === undefined) return sha256()
  if (entries.length === 1) return sha256(Buffer.of(0), first)
  let k = 1
  while (k * 2 < entries.length) k *= 2
  return sha256(Buffer.of(1), mth(entries.slice(0, k)), mth(entries.slice(k)))
}

const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** A tree over the numbers below `size`, with every complete subtree hashed once, and its proofs. */
function tree(size: number, run: <T>(steps: Hashing<T>) => T) {
  const levels = [Array.from({ length: size }, (_, at) => run(leafHash(Buffer.from(String(at)))))]
  for (let below = levels[0] ?? []; below.length > 1; ) {
    const pairs = Array.from({ length: below.length >> 1 }, (_, at) => below.slice(at * 2, at * 2 + 2))
    below = pairs.map(([left, right]) => run(nodeHash(left as Uint8Array, right as Uint8Array)))
    levels.push(below)
  }
  const nodeAt = ({ level, index }: TreeNode) => levels[level]?.[index] as Uint8Array
  const hashes = new Map<number, Uint8Array>()
  const hashOf = ({ start, end }: LeafRange) => {
    const id = start * 10_000 + end
    const hash = hashes.get(id) ?? run(rangeHash(nodesOf({ start, end }).map(nodeAt)))
    hashes.set(id, hash)
    return hash
  }
  return { nodeAt, hashOf, rootOf: (end: number) => ({ size: end, root: hashOf({ start: 0, end }) }) }
}

/** A driver for hundreds of thousands of proofs: its digests have 8 bytes and 24 zeros, and cost a hundredth of SHA-256. */
function quick<T>(steps: Hashing<T>): T {
  let step = steps.next()
  while (!step.done) {
    const { value: bytes } = step
    let [a, b] = [bytes.length, 0x811c9dc5]
    for (const start of bytes.length === 65 ? [0, 33] : [0])
      for (let at = start; at < start + 9; at += 1) {
        a = Math.imul(a ^ (bytes[at] ?? 0), 0x01000193)
        b = Math.imul(b ^ a, 0x85ebca6b) + (b >>> 15)
      }
    const digest = new Uint8Array(32)
    for (let at = 0; at < 4; at += 1) {
      digest[at] = a >>> (at * 8)
      digest[at + 4] = b >>> (at * 8)
    }
    step = steps.next(digest)
  }
  return step.value
}

/** Its roots are no hashes: Go's verifier compares whatever bytes it is given. */
const NO_HASHES = 'consistency/additional/sizes-are-equal-one-and-proof-is-empty.json'

describe('the tree of RFC 6962', () => {
  it.each(vectors.inclusion.map((vector) => [vector._file, vector] as const))('%s', async (_, vector) => {
    const steps = () =>
      inclusionHolds(
        fromBase64(vector.leafHash),
        vector.leafIdx,
        { size: vector.treeSize, root: fromBase64(vector.root) },
        (vector.proof ?? []).map(fromBase64),
      )
    expect(hashOnNode(steps())).toBe(!vector.wantErr)
    expect(await hashOnWeb(steps())).toBe(!vector.wantErr)
  })

  it.each(
    vectors.consistency
      .filter(({ _file }) => _file !== NO_HASHES)
      .map((vector) => [vector._file, vector] as const),
  )('%s', async (_, vector) => {
    const steps = () =>
      consistencyHolds(
        { size: vector.size1, root: fromBase64(vector.root1) },
        { size: vector.size2, root: fromBase64(vector.root2) },
        (vector.proof ?? []).map(fromBase64),
      )
    expect(hashOnNode(steps())).toBe(!vector.wantErr)
    expect(await hashOnWeb(steps())).toBe(!vector.wantErr)
  })

  it('has the roots of the definition, read from the right edge or from tiles', () => {
    const { rootOf, nodeAt } = tree(600, hashOnNode)
    const entries = Array.from({ length: 600 }, (_, at) => Buffer.from(String(at)))
    const tiles = [0, 1].map((level) =>
      Array.from({ length: Math.floor(600 / 256 ** level) }, (_, index) =>
        nodeAt({ level: level * 8, index }),
      ),
    )
    const fromTiles = (node: TreeNode) => {
      const { level, index, offset, count } = sliceOf(node)
      return hashOnNode(sliceHash(tiles[level]?.slice(index * 256 + offset).slice(0, count) ?? []))
    }
    for (let size = 0; size <= 600; size += size < 40 ? 1 : 37) {
      const root = mth(entries.slice(0, size)).toString('hex')
      expect(Buffer.from(rootOf(size).root).toString('hex')).toBe(root)
      const nodes = nodesOf({ start: 0, end: size }).map(fromTiles)
      expect(Buffer.from(hashOnNode(rangeHash(nodes))).toString('hex')).toBe(root)
    }
  })

  it('proves every leaf in every tree, and every tree to begin every larger one', () => {
    const { hashOf, rootOf, nodeAt } = tree(600, quick)
    let failed = 0
    const small = Array.from({ length: size(64, 600) }, (_, at) => at + 1)
    for (const leaves of [...small, 255, 256, 257, 511, 512, 513, 600]) {
      const whole = rootOf(leaves)
      for (let at = 0; at < leaves; at += 1) {
        const path = inclusionRanges(at, leaves).map(hashOf)
        const leaf = nodeAt({ level: 0, index: at })
        if (!quick(inclusionHolds(leaf, at, whole, path))) failed += 1
        const older = rootOf(at + 1)
        if (!quick(consistencyHolds(older, whole, consistencyRanges(at + 1, leaves).map(hashOf)))) failed += 1
        // A neighbour's proof, or one of another size, proves nothing.
        if (leaves % 50 === 0 && quick(inclusionHolds(leaf, at ^ 1, whole, path))) failed += 1
        if (leaves % 50 === 0 && quick(consistencyHolds({ ...older, size: at + 2 }, whole, path))) failed += 1
      }
    }
    expect(failed).toBe(0)
  })

  it.each([
    [1, 0],
    [-1, 4],
    [4, 4],
    [0.5, 4],
    [2 ** 53, 2 ** 53 + 2],
  ])('knows no leaf %d of %d', (index, size) => {
    expect(() => inclusionRanges(index, size)).toThrow(RangeError)
    expect(() => consistencyRanges(size + 1, size)).toThrow(RangeError)
  })
})

describe('tiles', () => {
  it.each([
    ['0/000', { level: 0, index: 0, width: 256 }],
    ['0/x001/x234/067', { level: 0, index: 1_234_067, width: 256 }],
    ['1/x001/000.p/1', { level: 1, index: 1000, width: 1 }],
    ['entries/273.p/112', { level: 'entries', index: 273, width: 112 }],
    ['63/999.p/255', { level: 63, index: 999, width: 255 }],
  ] as const)('are found at %s', (path, tile) => {
    expect(tilePath(tile)).toBe(path)
    expect(parseTilePath(path)).toStrictEqual(tile)
  })

  it.each([
    '',
    '0',
    '0/0',
    '00/000',
    '64/000',
    '0/x000/001',
    '0/001/000',
    '0/000.p/0',
    '0/000.p/01',
    '0/000.p/256',
    '0/000.p/',
    'entries/x1/000',
    '0/000/',
    '0/-01',
    '0/x999/x999/x999/x999/x999/999',
    '0/000\n',
  ])('are not found at %j', (path) => expect(parseTilePath(path)).toBeUndefined())

  it('of a tree of 70,000 are those that the specification counts', () => {
    const has = (path: string) => hasTile(parseTilePath(path) ?? { level: 0, index: 1e9, width: 1 }, 70_000)
    expect(
      ['0/272', '0/273.p/112', '1/000', '1/001.p/17', '2/000.p/1', 'entries/272'].map(has),
    ).not.toContain(false)
    expect(['0/273', '0/273.p/113', '1/001', '1/001.p/18', '2/000.p/2', '3/000.p/1'].map(has)).not.toContain(
      true,
    )
  })
})
