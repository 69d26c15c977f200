import { type AuditEntry, type AuditRecord, drawEntry } from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import { coalesce } from '../../ports/coalesce.ts'
import { warnSeldom } from '../../ports/warn-seldom.ts'
import { subjectOf } from '../../signing/audit-chain.ts'
import { sameBytes } from '../../signing/base64.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { NoSigningKeyError } from '../../signing/keys.ts'
import { type Checkpoint, checkpointText, parseCheckpointText } from '../../signing/log/checkpoint.ts'
import {
  EMPTY_EDGE,
  edgeTiles,
  growTree,
  readEdge,
  rootOf,
  type TreeEdge,
} from '../../signing/log/grow-tree.ts'
import { leafEntry } from '../../signing/log/leaves.ts'
import { formatNote, LOG_SIGNATURE, noteKey, parseNote, signedBytes } from '../../signing/log/note.ts'
import { signBytes } from '../../signing/sign.ts'
import type { LogHead } from '../../store/audit/log.ts'
import type { FlowDeps } from '../deps.ts'

/** Records read, and hashed without a pause, at once. */
const BATCH = 256

/** The most often that a checkpoint is made, in milliseconds. */
const CHECKPOINT_MS = 1_000

/** How long a cosigned checkpoint is shown in place of newer ones. */
export const COSIGNED_MS = 60_000

/** Appends the audit trail's new records to the log. */
export interface Sequencer {
  /** Has new records logged within a second; those given need not be read again. Never throws, never waits. */
  wake(records?: readonly AuditRecord[]): void
  /** Logs all records that there are, but not those that another process appends meanwhile. @throws what the store throws, NoSigningKeyError */
  run(): Promise<void>
  /** Takes up no more. */
  stop(): void
}

export type LogDeps = Pick<
  FlowDeps,
  'logs' | 'trail' | 'keys' | 'clock' | 'log' | 'restores' | 'audit' | 'random' | 'settings'
>

/**
 * Makes the sequencer. Any number of processes may log at once: the head moves only from the size that was read, the tiles are the
 * same whoever computes them, and they are stored before the head names them. So a crash between any two steps leaves one history.
 */
export function createSequencer(deps: LogDeps): Sequencer {
  const fresh = createFresh()
  const grow = createGrower(deps, fresh)
  let edge: Held | undefined
  let timer: NodeJS.Timeout | undefined
  let ranAt = Number.NEGATIVE_INFINITY
  let stopped = false
  const run = coalesce(async () => {
    ranAt = deps.clock.steady()
    for (let more = true; more && !stopped; ) {
      const grown = await grow(edge)
      edge = grown.held
      more = grown.more
    }
  })
  const trouble = warnSeldom(deps.log, 'logging the audit trail failed; it is tried again')
  return {
    run,
    wake(records = []) {
      if (stopped) return
      fresh.add(records)
      timer ??= setTimeout(
        () => {
          timer = undefined
          run().then(trouble.worked, trouble.failed)
        },
        Math.max(0, ranAt + CHECKPOINT_MS - deps.clock.steady()),
      ).unref()
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** The edge of the tree under the head, as this process knows it. */
interface Held {
  log: number
  edge: TreeEdge
}

/** The most entries that are kept for the log: they are a second's at most, unless the store stands still. */
const MOST_FRESH = 4_096

type Fresh = ReturnType<typeof createFresh>

/** Keeps the entries of records that this process has appended until they are logged, so that they are not read back. */
function createFresh() {
  const entries = new Map<number, Uint8Array>()
  let dropped = false
  return {
    add(records: readonly AuditRecord[]): void {
      for (const record of records)
        if (entries.size < MOST_FRESH) entries.set(record.seq, entryOf(record, record.seq))
        else dropped = true
    },
    /** Whether this process has appended more than it took out, behind a gap for instance. */
    left: () => dropped || entries.size > 0,
    /** Takes out those of the records from that number on, as far as there is no gap. */
    from(first: number): Uint8Array[] {
      for (const seq of entries.keys()) if (seq < first) entries.delete(seq)
      const found: Uint8Array[] = []
      for (let entry = entries.get(first); entry !== undefined && found.length < BATCH; ) {
        found.push(entry)
        entries.delete(first + found.length - 1)
        entry = entries.get(first + found.length)
      }
      // Whoever finds nothing reads the trail instead.
      if (found.length === 0) dropped = false
      return found
    },
  }
}

/** Makes the function that moves the head once, over as many records as a second is long. */
function createGrower(deps: LogDeps, fresh: Fresh) {
  let starts = true
  return async (held: Held | undefined): Promise<{ held?: Held | undefined; more: boolean }> => {
    const head = await deps.logs.current()
    if (head === undefined) return { more: false }
    const stopped = await isStopped(deps, head, starts)
    starts = false
    if (stopped) return { more: false }
    // The renewal drew a key, which this process may not have yet, though another has begun to sign with it.
    if (head.follows !== undefined && held?.log !== head.number) await deps.keys.reload()
    const known = held?.log === head.number && held.edge.size === head.size
    const begun = known ? held.edge : await loadEdge(deps, head)
    const { edge, more } = await extend(deps, head, begun, fresh)
    if (edge.size === head.size) return { held: { log: head.number, edge }, more: false }
    const checkpoint = { origin: head.origin, size: edge.size, root: rootOf(edge) }
    const signed_at = deps.clock.now()
    const note = await signCheckpoint(deps, checkpoint, signed_at)
    const isCosigned = head.cosigned_size === head.size
    const cosigned_until = isCosigned ? new Date(signed_at.getTime() + COSIGNED_MS) : undefined
    const next = { size: edge.size, note, signed_at, ...given({ cosigned_until }) }
    const moved = await deps.logs.advance(head, next)
    return moved ? { held: { log: head.number, edge }, more } : { more: true }
  }
}

/** Hashes records and stores the tiles, for a second at most. */
async function extend(deps: LogDeps, head: LogHead, begun: TreeEdge, fresh: Fresh) {
  const end = deps.clock.steady() + CHECKPOINT_MS
  for (let edge = begun; ; ) {
    const known = edge.size === 0 ? [] : fresh.from(seqOf(head, edge.size))
    const entries = known.length > 0 ? known : await nextEntries(deps, head, edge.size)
    const grown = growTree(edge, entries)
    await deps.logs.fill(head.number, grown.tiles)
    edge = grown.edge
    // What another process appended, that one logs.
    const more = known.length > 0 ? fresh.left() : entries.length >= BATCH
    if (!more || deps.clock.steady() >= end) return { edge, more }
  }
}

/** Reads the entries of the log from that place on. @throws when the trail has a gap there, or something that is no record */
async function nextEntries({ trail }: LogDeps, head: LogHead, size: number): Promise<Uint8Array[]> {
  const first = size === 0 && head.follows !== undefined ? [new TextEncoder().encode(head.follows)] : []
  const from = seqOf(head, size + first.length)
  const records = await trail.scan(from, BATCH)
  return [...first, ...records.map((record, at) => entryOf(record, from + at))]
}

/** The number of the audit record at that place of the log. */
export function seqOf({ follows }: Pick<LogHead, 'follows'>, index: number): number {
  return follows === undefined ? index + 1 : index
}

/** The log's entry for a record. @throws unless it is the record of that number */
export function entryOf(record: AuditRecord, seq: number): Uint8Array {
  if (record.seq !== seq || !/^[0-9a-f]{64}$/.test(record.content_sha256))
    throw new Error(`the audit trail has no record ${seq} that can be logged; run: countersign audit check`)
  return leafEntry(record.content_sha256, subjectOf(record))
}

/** Reads the edge from the store. @throws unless it has the root that was signed: nothing may be built on other tiles */
async function loadEdge({ logs }: LogDeps, { number, size, note }: LogHead): Promise<TreeEdge> {
  if (size === 0 || note === undefined) return EMPTY_EDGE
  const found = await logs.tiles(number, edgeTiles(size))
  const edge = readEdge(size, ({ level, index }) => found.get(`${level}/${index}`) ?? [])
  if (!sameBytes(rootOf(edge), parseCheckpointText(parseNote(note).text).root))
    throw new Error(
      'the tiles of the log do not have the root of its checkpoint; restore the store from a backup',
    )
  return edge
}

/** Signs with the key that is active now. Ed25519 is deterministic: repeated after a crash, it gives the same text. */
async function signCheckpoint({ keys }: LogDeps, checkpoint: Checkpoint, at: Date): Promise<string> {
  const key = keys.ring().active('log', at)
  if (key === undefined) throw new NoSigningKeyError('log')
  const { name, id } = await noteKey(checkpoint.origin, LOG_SIGNATURE, key.publicKey)
  const text = checkpointText(checkpoint)
  return formatNote({ text, signatures: [{ name, id, bytes: signBytes(signedBytes(text), key) }] })
}

/**
 * Checks whether others may hold a checkpoint of this log that the store does not know: it was restored from a copy since the log
 * began, or a larger one was seen. Signing on would give one size two roots.
 */
export function isRolledBack({ restores }: Pick<FlowDeps, 'restores'>, head: LogHead): boolean {
  return head.rolled_back_at !== undefined || restores.times().length > head.restores
}

/** Checks the same, records it once, and says so at each start. */
async function isStopped(deps: LogDeps, head: LogHead, starts: boolean): Promise<boolean> {
  if (!isRolledBack(deps, head)) return false
  if (head.rolled_back_at === undefined) await stopLog(deps, head)
  else if (starts) warnStopped(deps, head)
  return true
}

function warnStopped({ log }: LogDeps, { origin, size }: LogHead): void {
  log.error({ origin, size }, 'log_rolled_back: the log signs nothing more; run: countersign doctor')
}

/** Stops a log, and records that: the entry comes first. */
export async function stopLog(deps: LogDeps, head: LogHead): Promise<void> {
  const { origin, size } = head
  const at = deps.clock.now()
  await recordOnce(deps, {
    type: 'log.rollback_detected',
    at,
    actor: { kind: 'service' },
    subject: origin,
    size,
  })
  await deps.logs.stop(head, at)
  warnStopped(deps, head)
}

/** Records something that happens once to a log, under an id that follows from that: repeated after a crash, it is one entry. */
export async function recordOnce(
  deps: LogDeps,
  { size, ...what }: Pick<AuditEntry, 'type' | 'at' | 'actor' | 'subject'> & { size: number },
): Promise<void> {
  const eid = `evt_${sha256Hex(`${what.type} ${what.subject}`).slice(0, 26)}`
  await deps.audit.append({ ...drawEntry(deps, { ...what, detail: { size } }), eid })
}

/** Begins the first log of a store, once. Its name stays: checkpoints are compared by it. */
export async function ensureLog(deps: LogDeps): Promise<void> {
  if ((await deps.logs.current()) !== undefined) return
  const drawn = Buffer.from(deps.random.bytes(4)).toString('hex')
  const origin = `${new URL(deps.settings.baseUrl).host}/countersign/${drawn}`
  await deps.logs.begin({ number: 1, origin, restores: deps.restores.times().length, size: 0 })
}
