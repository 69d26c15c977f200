import { fromBase64, toBase64 } from '../base64.ts'
import { isCount } from './merkle.ts'
import { NoteError, type NoteKey, parseNote, type VerifiedSignature, verifyNote } from './note.ts'

/** What a log states of itself (C2SP tlog-checkpoint): its first `size` entries have this root. */
export interface Checkpoint {
  /** Names the log. */
  origin: string
  size: number
  /** 32 bytes. */
  root: Uint8Array
}

/** A checkpoint that its log signed. */
export interface OpenedCheckpoint extends Checkpoint {
  /** The cosignatures that hold, by the witnesses that were asked about. */
  cosignatures: readonly VerifiedSignature[]
}

/** The text that the log signs. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/** Reads the text. @throws NoteError; also for extension lines, which no monitor could check */
export function parseCheckpointText(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  const checkpoint = { origin, size: count(size), root: hash(root) }
  if (origin === '' || rest.length !== 1 || checkpointText(checkpoint) !== text)
    throw new NoteError('a checkpoint is three lines: origin, size and root')
  return checkpoint
}

/**
 * Reads a checkpoint with its signatures.
 * @throws NoteError unless the log signed it under its own name, and for a wrong cosignature by one of the witnesses
 */
export async function openCheckpoint(
  note: string,
  log: NoteKey,
  witnesses: readonly NoteKey[] = [],
): Promise<OpenedCheckpoint> {
  const signed = parseNote(note)
  const checkpoint = parseCheckpointText(signed.text)
  if (checkpoint.origin !== log.name)
    throw new NoteError(`the checkpoint is of another log: ${checkpoint.origin}`)
  const verified = await verifyNote(signed, [log, ...witnesses])
  if (!verified.some(({ key }) => key === log)) throw new NoteError('the log did not sign the checkpoint')
  return { ...checkpoint, cosignatures: verified.filter(({ key }) => key !== log) }
}

/** An inclusion proof that travels alone (C2SP tlog-proof). */
export interface LogProof {
  /** The place of the entry in the log, from 0. */
  index: number
  /** From the leaf's sibling to the root's child. */
  path: readonly Uint8Array[]
  /** The signed checkpoint, as it was issued. */
  checkpoint: string
  /** Bytes that nothing vouches for. */
  extra?: Uint8Array
}

const HEADER = 'c2sp.org/tlog-proof@v1'

/** No tree of countable entries is higher. */
const MAX_PATH = 63

export function formatProof({ index, path, checkpoint, extra }: LogProof): string {
  const lines = [
    HEADER,
    ...(extra ? [`extra ${toBase64(extra)}`] : []),
    `index ${index}`,
    ...path.map(toBase64),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Reads a proof; nothing is checked yet. @throws NoteError unless it is exactly what `formatProof` writes */
export function parseProof(text: string): LogProof {
  const split = text.indexOf('\n\n')
  const [header, ...lines] = text.slice(0, Math.max(split, 0)).split('\n')
  const extra = lines[0]?.startsWith('extra ') === true ? lines.shift()?.slice('extra '.length) : undefined
  const [index = '', ...path] = lines
  if (header !== HEADER || !index.startsWith('index ') || path.length > MAX_PATH)
    throw new NoteError(`a proof begins with "${HEADER}", its index and at most ${MAX_PATH} hashes`)
  return {
    index: count(index.slice('index '.length)),
    path: path.map(hash),
    checkpoint: text.slice(split + 2),
    ...(extra === undefined ? {} : { extra: base64(extra) }),
  }
}

function count(text: string): number {
  if (!/^(0|[1-9][0-9]*)$/.test(text) || !isCount(Number(text)))
    throw new NoteError('not a number of entries')
  return Number(text)
}

function hash(text: string): Uint8Array {
  const bytes = base64(text)
  if (bytes.length !== 32) throw new NoteError('a hash has 32 bytes')
  return bytes
}

function base64(text: string): Uint8Array {
  try {
    return fromBase64(text)
  } catch (cause) {
    throw new NoteError('not base64', { cause })
  }
}
