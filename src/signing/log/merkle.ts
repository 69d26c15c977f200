import { sameBytes } from '../base64.ts'

/**
 * A computation that asks its driver for SHA-256 digests: it yields the bytes, and is given their digest. So the same code runs on
 * WebCrypto, which is asynchronous, and on node:crypto.
 */
export type Hashing<T> = Generator<Uint8Array, T, Uint8Array>

/** Runs a computation on any platform with WebCrypto. */
export async function hashOnWeb<T>(steps: Hashing<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(step.value))
    step = steps.next(new Uint8Array(digest))
  }
  return step.value
}

/** The leaf hash of an entry: SHA-256(0x00 ‖ entry) (RFC 6962 section 2.1). */
export function* leafHash(entry: Uint8Array): Hashing<Uint8Array> {
  return yield joined(Uint8Array.of(0), entry)
}

/** The hash of an inner node: SHA-256(0x01 ‖ left ‖ right). The first byte keeps a node from passing as an entry. */
export function* nodeHash(left: Uint8Array, right: Uint8Array): Hashing<Uint8Array> {
  return yield joined(Uint8Array.of(1), left, right)
}

/** A complete subtree: the `index`-th, from 0, of those over 2^`level` leaves. */
export interface TreeNode {
  level: number
  index: number
}

/** The leaves from `start` up to, not including, `end`. */
export interface LeafRange {
  start: number
  end: number
}

/** The complete subtrees that make up a tree or a part of it that RFC 6962 splits off, from the left. */
export function nodesOf({ start, end }: LeafRange): TreeNode[] {
  const nodes: TreeNode[] = []
  for (let at = start; at < end; ) {
    let level = 0
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1
    nodes.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return nodes
}

/** The hash over a range, of the hashes of its `nodesOf`; the tree of no leaves has the digest of no bytes. */
export function* rangeHash(nodes: readonly Uint8Array[]): Hashing<Uint8Array> {
  let hash = nodes.at(-1)
  if (hash === undefined) return yield new Uint8Array()
  for (const left of nodes.slice(0, -1).reverse()) hash = yield* nodeHash(left, hash)
  return hash
}

/**
 * The ranges whose hashes are the inclusion proof of a leaf, from the leaf's sibling to the root's child (RFC 6962 section
 * 2.1.1). @throws RangeError unless 0 ≤ index < size
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  if (!isCount(index) || !isCount(size) || index >= size)
    throw new RangeError('no such leaf in a tree of that size')
  const ranges: LeafRange[] = []
  let part = { start: 0, end: size }
  while (part.end - part.start > 1) {
    const split = part.start + splitOf(part.end - part.start)
    const [left, right] = [
      { start: part.start, end: split },
      { start: split, end: part.end },
    ]
    ranges.unshift(index < split ? right : left)
    part = index < split ? left : right
  }
  return ranges
}

/**
 * The ranges whose hashes prove that the tree of size `from` is the beginning of the tree of size `to` (RFC 6962 section
 * 2.1.2). @throws RangeError unless 0 ≤ from ≤ to
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  if (!isCount(from) || !isCount(to) || from > to) throw new RangeError('a tree does not shrink')
  if (from === 0 || from === to) return []
  const ranges: LeafRange[] = []
  let part = { start: 0, end: to }
  while (part.end !== from) {
    const split = part.start + splitOf(part.end - part.start)
    const [left, right] = [
      { start: part.start, end: split },
      { start: split, end: part.end },
    ]
    ranges.unshift(from <= split ? right : left)
    part = from <= split ? left : right
  }
  // The older tree's own root is known to whoever checks the proof.
  return part.start === 0 ? ranges : [part, ...ranges]
}

/** Checks an inclusion proof (RFC 9162 section 2.1.3.2): whether the leaf stands at `index` of the tree with that size and root. */
export function* inclusionHolds(
  leaf: Uint8Array,
  index: number,
  tree: { size: number; root: Uint8Array },
  path: readonly Uint8Array[],
): Hashing<boolean> {
  if (!isCount(index) || !isCount(tree.size) || index >= tree.size) return false
  if (![leaf, tree.root, ...path].every(isHash)) return false
  let [node, last, hash] = [index, tree.size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = yield* nodeHash(sibling, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)]
    } else {
      hash = yield* nodeHash(hash, sibling)
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && sameBytes(hash, tree.root)
}

/**
 * Checks a consistency proof (RFC 9162 section 2.1.4.2): whether the older tree is the beginning of the newer. An empty path
 * proves that for a tree and itself. False for an older tree without leaves: every tree begins with it, so it proves nothing.
 */
export function* consistencyHolds(
  older: { size: number; root: Uint8Array },
  newer: { size: number; root: Uint8Array },
  path: readonly Uint8Array[],
): Hashing<boolean> {
  if (!isCount(older.size) || !isCount(newer.size) || older.size > newer.size) return false
  if (![older.root, newer.root, ...path].every(isHash)) return false
  if (older.size === 0) return false
  if (older.size === newer.size) return path.length === 0 && sameBytes(older.root, newer.root)
  let [node, last] = [older.size - 1, newer.size - 1]
  while (node % 2 === 1) [node, last] = [half(node), half(last)]
  // A complete older tree is itself the first node, and no proof repeats it.
  const [first, ...rest] = node === 0 ? [older.root, ...path] : path
  if (first === undefined) return false
  let [old, now] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      old = yield* nodeHash(sibling, old)
      now = yield* nodeHash(sibling, now)
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)]
    } else {
      now = yield* nodeHash(now, sibling)
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && sameBytes(old, older.root) && sameBytes(now, newer.root)
}

/** Checks for a number of leaves, or a place among them. Above 2^53 - 1 numbers are not exact. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isHash(bytes: Uint8Array): boolean {
  return bytes.length === 32
}

/** The largest power of two below the number of leaves. */
function splitOf(leaves: number): number {
  let split = 1
  while (split * 2 < leaves) split *= 2
  return split
}

/** Halves without bit operations, which end at 2^32. */
function half(value: number): number {
  return Math.floor(value / 2)
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
