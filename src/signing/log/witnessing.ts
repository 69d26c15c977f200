import { fromBase64, sameBytes, toBase64 } from '../base64.ts'
import { parseCheckpointText } from './checkpoint.ts'
import { consistencyHolds, type Hashing, isCount, rangeHash } from './merkle.ts'
import { type NoteKey, parseNote, type SignedNote, verifyNote } from './note.ts'

/** What a log sends to a witness (C2SP tlog-witness, `add-checkpoint`). */
export interface CheckpointOffer {
  /** The size of the checkpoint that the witness cosigned before; 0 if none. */
  old: number
  /** The consistency proof from there on. */
  proof: readonly Uint8Array[]
  /** The signed checkpoint. */
  note: string
}

/** The most hashes of a proof. */
const MAX_PROOF = 63

export const SIZE_TYPE = 'text/x.tlog.size'

/** The body of `POST <prefix>/add-checkpoint`. */
export function formatOffer({ old, proof, note }: CheckpointOffer): string {
  return `${[`old ${old}`, ...proof.map(toBase64)].join('\n')}\n\n${note}`
}

/** Reads what `formatOffer` writes; undefined for anything else. */
export function parseOffer(body: string): CheckpointOffer | undefined {
  const split = body.indexOf('\n\n')
  if (split < 0) return undefined
  const [first = '', ...hashes] = body.slice(0, split).split('\n')
  const old = parseSize(first.replace(/^old /, ''))
  const proof = hashes.map(parseHash).filter((hash) => hash !== undefined)
  if (!first.startsWith('old ') || old === undefined) return undefined
  if (hashes.length > MAX_PROOF || proof.length < hashes.length) return undefined
  return { old, proof, note: body.slice(split + 2) }
}

/** Reads a tree size as C2SP writes it; undefined for every other spelling. */
export function parseSize(text: string): number | undefined {
  return /^(0|[1-9][0-9]*)$/.test(text) && isCount(Number(text)) ? Number(text) : undefined
}

/** A size of a log, with the root that it then had. */
export interface TreeHead {
  size: number
  root: Uint8Array
}

/** A checkpoint whose log signed it. */
export interface SignedHead extends TreeHead {
  origin: string
  signed: SignedNote
}

/** Why a witness does not cosign: the status of its answer, and a sentence. */
export interface WitnessRefusal {
  status: 400 | 403 | 404 | 409 | 422
  message: string
  /** The size that was cosigned last: for a status of 409 that tells it. */
  known?: number
  /** The log signed two roots for one size. */
  forked?: true
}

/** Reads an offered checkpoint, and checks that one of these logs signed it: those keys count whose name is its origin. */
export async function openOffer(
  { note }: CheckpointOffer,
  logs: readonly NoteKey[],
): Promise<SignedHead | WitnessRefusal> {
  const head = readHead(note)
  if (head === undefined) return { status: 400, message: 'the checkpoint is malformed' }
  const keys = logs.filter(({ name }) => name === head.origin)
  if (keys.length === 0) return { status: 404, message: 'this witness does not know the log' }
  const verified = await verifyNote(head.signed, keys).catch(() => [])
  return verified.length > 0 ? head : { status: 403, message: 'the log did not sign the checkpoint' }
}

/** Reads a checkpoint, whatever follows its three lines; no signature is checked. Undefined when it is none. */
export function readHead(note: string): SignedHead | undefined {
  try {
    const signed = parseNote(note)
    const lines = signed.text.split('\n')
    if (lines.slice(0, -1).includes('')) return undefined
    return { ...parseCheckpointText(`${lines.slice(0, 3).join('\n')}\n`), signed }
  } catch {
    return undefined
  }
}

/**
 * Checks whether an offered tree continues the one that was cosigned last, in the order of C2SP tlog-witness.
 * @param known undefined when no checkpoint of the log was ever cosigned
 * @returns undefined when it does
 */
export function* offerProblem(
  { old, proof }: CheckpointOffer,
  offered: TreeHead,
  known: TreeHead | undefined,
): Hashing<WitnessRefusal | undefined> {
  if (old > offered.size) return { status: 400, message: 'the old size is larger than the checkpoint' }
  const size = known?.size ?? 0
  const fork =
    known?.size === offered.size && !sameBytes(known.root, offered.root) ? ({ forked: true } as const) : {}
  if (old !== size) return { status: 409, message: 'another size was cosigned last', known: size, ...fork }
  if ('forked' in fork) return { status: 409, message: 'the log signed another root for that size', ...fork }
  const empty = { size: 0, root: yield* rangeHash([]) }
  const begins = known === undefined || size === 0
  const holds = begins
    ? proof.length === 0 && (offered.size > 0 || sameBytes(offered.root, empty.root))
    : yield* consistencyHolds(known, offered, proof)
  return holds ? undefined : { status: 422, message: 'the consistency proof does not hold' }
}

function parseHash(line: string): Uint8Array | undefined {
  try {
    const hash = fromBase64(line)
    return hash.length === 32 ? hash : undefined
  } catch {
    return undefined
  }
}
