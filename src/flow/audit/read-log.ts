import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { hashRanges, tilesFor } from '../../signing/log/grow-tree.ts'
import { consistencyRanges, inclusionRanges, type LeafRange } from '../../signing/log/merkle.ts'
import { formatVkey, LOG_SIGNATURE, type NoteKey, noteKey, parseNote } from '../../signing/log/note.ts'
import { hasTile, TILE_WIDTH, type Tile } from '../../signing/log/tiles.ts'
import type { LogHead } from '../../store/audit/log.ts'
import type { FlowDeps } from '../deps.ts'
import { entryOf, isRolledBack, seqOf } from './log.ts'

type ReadDeps = Pick<FlowDeps, 'logs' | 'trail' | 'keys' | 'restores' | 'clock'>

/** What the service knows of its log. */
export interface LogState {
  origin: string
  size: number
  /** Records of the trail that are not in the log yet. */
  behind: number
  /** When the last checkpoint was signed. */
  signed_at?: Date
  rolled_back: boolean
  witnesses: WitnessOfLog[]
}

/** What a witness that the operator chose has done. */
export interface WitnessOfLog {
  name: string
  url: string
  /** The last checkpoint that it cosigned; 0: none. */
  size: number
  cosigned_at?: Date
  /** Since when it has not cosigned, though asked, and why not at first. */
  failing?: { since: Date; why: string }
}

/** Reads the state of the log; undefined before the first start of a version that has one. */
export async function readLogState(
  deps: Pick<FlowDeps, 'logs' | 'trail' | 'restores' | 'witnesses'>,
): Promise<LogState | undefined> {
  const [head, last] = await Promise.all([deps.logs.current(), deps.trail.head()])
  if (head === undefined) return undefined
  const { origin, size, signed_at } = head
  const behind = Math.max(0, (last?.seq ?? 0) - (seqOf(head, size) - 1))
  const rolled_back = isRolledBack(deps, head)
  const witnesses = await Promise.all(deps.witnesses.map((witness) => readWitness(deps.logs, head, witness)))
  return { origin, size, behind, ...given({ signed_at }), rolled_back, witnesses }
}

async function readWitness(
  logs: FlowDeps['logs'],
  { number }: LogHead,
  { key, url }: FlowDeps['witnesses'][number],
): Promise<WitnessOfLog> {
  const { size = 0, line, at, failing } = (await logs.witness(number, witnessId(key))) ?? {}
  return {
    name: key.name,
    url,
    size,
    ...given({ cosigned_at: line === undefined ? undefined : at, failing }),
  }
}

/** How the store names a witness. */
export function witnessId({ name, id }: NoteKey): string {
  return `${name}+${id}`
}

/** A log of the store, and the key that verifies its checkpoints, for a trust policy. */
interface DescribedLog {
  number: number
  origin: string
  vkey: string
}

/** A log that ended. */
interface FormerLog extends Omit<DescribedLog, 'vkey'> {
  /** Absent if it never signed. */
  vkey?: string
  /** Its last known checkpoint, which is the first entry of the log after it. */
  checkpoint: string
}

/** Describes the log that grows and those before it, oldest first; undefined while no key can sign. */
export async function describeLogs(
  deps: ReadDeps,
): Promise<(DescribedLog & { former: FormerLog[] }) | undefined> {
  const logs = await deps.logs.all()
  const head = logs.at(-1)
  const key = deps.keys.ring().active('log', deps.clock.now())
  if (head === undefined || key === undefined) return undefined
  const { number, origin } = head
  const next = formatVkey(await noteKey(origin, LOG_SIGNATURE, key.publicKey))
  // A restore has made a key that will never sign for a log that it stopped.
  const { vkey = next } = isRolledBack(deps, head) ? await signerOf(deps, head, head.note ?? '') : {}
  const ended = logs.slice(0, -1).map(async (log, at): Promise<FormerLog> => {
    const checkpoint = logs[at + 1]?.follows ?? ''
    return { number: log.number, origin: log.origin, ...(await signerOf(deps, log, checkpoint)), checkpoint }
  })
  return { number, origin, vkey, former: await Promise.all(ended) }
}

/** Finds the key that signed a log's last checkpoint: the log's key may have been rotated since. */
async function signerOf({ keys }: ReadDeps, { origin }: LogHead, note: string): Promise<{ vkey?: string }> {
  if (!note.includes('\n\n')) return {}
  const { signatures } = parseNote(note)
  for (const { purpose, publicKey } of keys.ring().publicRecords()) {
    if (purpose !== 'log') continue
    const key = await noteKey(origin, LOG_SIGNATURE, publicKey)
    if (signatures.some(({ name, id }) => name === key.name && id === key.id))
      return { vkey: formatVkey(key) }
  }
  return {}
}

/** Returns the bytes of a tile of that log; undefined for one that no checkpoint so far needs. */
export async function readTile(deps: ReadDeps, log: number, tile: Tile): Promise<Uint8Array | undefined> {
  const head = await deps.logs.find(log)
  if (head === undefined || !hasTile(tile, head.size)) return undefined
  if (tile.level === 'entries') return readEntries(deps, head, tile)
  const { level, index } = tile
  const found = await deps.logs.tiles(head.number, [{ level, index }])
  const hashes = found.get(`${level}/${index}`)?.slice(0, tile.width)
  return hashes?.length === tile.width ? Buffer.concat(hashes) : undefined
}

/** Each entry goes behind its length, 2 bytes, big-endian (C2SP tlog-tiles). */
async function readEntries({ trail }: ReadDeps, head: LogHead, { index, width }: Tile): Promise<Uint8Array> {
  const start = index * TILE_WIDTH
  const first = start === 0 && head.follows !== undefined ? [Buffer.from(head.follows)] : []
  const from = seqOf(head, start + first.length)
  const records = await trail.scan(from, width - first.length)
  const entries = [...first, ...records.map((record, at) => entryOf(record, from + at))]
  return Buffer.concat(entries.flatMap((entry) => [Buffer.of(entry.length >> 8, entry.length & 255), entry]))
}

/** A proof against the log's checkpoint. */
export interface Proven {
  path: Uint8Array[]
  /** The signed note. */
  checkpoint: string
}

/** Returns the place of the record of that number; it may be in no checkpoint yet. Undefined where no log goes on. */
export async function placeInLog(
  deps: Pick<ReadDeps, 'logs' | 'restores'>,
  seq: number,
): Promise<{ origin: string; index: number } | undefined> {
  const head = await deps.logs.current()
  if (head === undefined || isRolledBack(deps, head)) return undefined
  return { origin: head.origin, index: indexOf(head, seq) }
}

function indexOf({ follows }: LogHead, seq: number): number {
  return follows === undefined ? seq - 1 : seq
}

type ProvenRecord = Proven & { index: number }

/**
 * Proves that the record of that number is in the log, and that earlier ones are, by the same checkpoint.
 * @returns undefined while it is not
 * @throws what the store throws
 */
export async function proveRecord(
  deps: ReadDeps,
  seq: number,
  earlier: readonly number[] = [],
): Promise<(ProvenRecord & { earlier: ProvenRecord[] }) | undefined> {
  const head = await deps.logs.current()
  if (head?.note === undefined) return undefined
  const index = indexOf(head, seq)
  const { size, note } = cosignedTree(head, index) ?? { size: head.size, note: head.note }
  if (index >= size) return undefined
  const prove = async (at: number): Promise<ProvenRecord> => {
    const path = await readRanges(deps, head, inclusionRanges(at, size))
    return { index: at, path, checkpoint: note }
  }
  const others = await Promise.all(earlier.map((one) => prove(indexOf(head, one))))
  return { ...(await prove(index)), earlier: others }
}

/** The cosigned checkpoint, if that place is in it. */
function cosignedTree({ cosigned_size: size, cosigned_note: note }: LogHead, index: number) {
  return size !== undefined && note !== undefined && index < size ? { size, note } : undefined
}

/**
 * The checkpoint of that log to show: the one that witnesses cosigned, unless the log has grown for a while and they are silent; of a
 * log that ended, the last one in the store. No later answer is a smaller one: that would look like a log that hides its newest entries.
 * @returns undefined before the first. @throws Refusal `log_rolled_back` until another log goes on for it
 */
export async function shownCheckpoint(
  { logs, restores, clock }: Pick<ReadDeps, 'logs' | 'restores' | 'clock'>,
  log: number,
): Promise<string | undefined> {
  const head = await logs.find(log)
  if (head === undefined) return undefined
  // Others may hold a later one, also where the copy was made before the first: this one would hide what came after it.
  if (isRolledBack({ restores }, head) && (await logs.current())?.number === log)
    throw refusal('log_rolled_back')
  const { size, note, cosigned_size, cosigned_note, cosigned_until } = head
  const isShown = cosigned_until !== undefined && clock.now() < cosigned_until
  return cosigned_size === size || isShown ? cosigned_note : note
}

/** Proves that the tree of that size is the beginning of the log's. @throws RangeError for a larger one */
export async function proveGrowth(deps: ReadDeps, from: number): Promise<Proven | undefined> {
  const head = await deps.logs.current()
  if (head?.note === undefined) return undefined
  return { path: await growthPath(deps, head, from), checkpoint: head.note }
}

/** The consistency proof from that size to the head. @throws RangeError for a larger one */
export function growthPath(
  deps: Pick<ReadDeps, 'logs'>,
  head: Pick<LogHead, 'number' | 'size'>,
  from: number,
): Promise<Uint8Array[]> {
  return readRanges(deps, head, consistencyRanges(from, head.size))
}

async function readRanges(
  { logs }: Pick<ReadDeps, 'logs'>,
  { number }: Pick<LogHead, 'number'>,
  ranges: readonly LeafRange[],
): Promise<Uint8Array[]> {
  const found = await logs.tiles(number, tilesFor(ranges))
  return hashRanges(ranges, (level, index) => found.get(`${level}/${index}`) ?? [])
}
