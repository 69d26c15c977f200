import { hashOnNode, sha256Hex } from '../../src/signing/digest.ts'
import { publicKeyOf, rawSign } from '../../src/signing/ed25519-node.ts'
import { checkpointText, formatProof } from '../../src/signing/log/checkpoint.ts'
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  leafHash,
  nodeHash,
} from '../../src/signing/log/merkle.ts'
import { formatNote, formatVkey, LOG_SIGNATURE, noteKey, signedBytes } from '../../src/signing/log/note.ts'
import { formatOffer } from '../../src/signing/log/witnessing.ts'

/** A log in memory, as long as anyone asks for, and as dishonest. */
export type SmallLog = Awaited<ReturnType<typeof smallLog>>

/**
 * Makes a log whose key follows from its origin.
 * @param forksAt from that place on it has other entries than without
 * @param special entries at their places
 */
export async function smallLog(
  origin: string,
  forksAt = Number.POSITIVE_INFINITY,
  special: ReadonlyMap<number, Uint8Array> = new Map(),
) {
  const seed = Buffer.from(sha256Hex(origin), 'hex')
  const key = await noteKey(origin, LOG_SIGNATURE, publicKeyOf(seed))
  const known = new Map<string, Uint8Array>()
  const make = ({ start, end }: LeafRange): Uint8Array => {
    if (end - start <= 1) {
      const entry = special.get(start) ?? Buffer.from(`${start < forksAt ? 'entry' : 'other'} ${start}`)
      return end === start ? Buffer.from(sha256Hex(''), 'hex') : hashOnNode(leafHash(entry))
    }
    let half = 1
    while (half * 2 < end - start) half *= 2
    const middle = start + half
    return hashOnNode(nodeHash(hash({ start, end: middle }), hash({ start: middle, end })))
  }
  const hash = (range: LeafRange): Uint8Array => {
    const name = `${range.start}-${range.end}`
    const found = known.get(name) ?? make(range)
    known.set(name, found)
    return found
  }
  /** Signs a checkpoint. @param extension lines behind the root */
  const checkpoint = (size: number, extension = ''): string => {
    const text = checkpointText({ origin, size, root: hash({ start: 0, end: size }) }) + extension
    return formatNote({ text, signatures: [{ ...key, bytes: rawSign(signedBytes(text), seed) }] })
  }
  return {
    origin,
    vkey: formatVkey(key),
    checkpoint,
    /** What a log sends to a witness that cosigned the size `old` last. */
    offer: (old: number, size: number, note = checkpoint(size)): string =>
      formatOffer({ old, proof: old > size ? [] : consistencyRanges(old, size).map(hash), note }),
    /** Proves that an entry is in the first `size`. */
    place: (index: number, size: number): string =>
      formatProof({ index, path: inclusionRanges(index, size).map(hash), checkpoint: checkpoint(size) }),
    leafHashes: (size: number) => Array.from({ length: size }, (_, at) => hash({ start: at, end: at + 1 })),
  }
}
