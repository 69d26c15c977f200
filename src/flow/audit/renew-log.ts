import type { AuditActor } from '../../domain/audit.ts'
import { sameBytes } from '../../signing/base64.ts'
import { checkpointText, parseCheckpointText } from '../../signing/log/checkpoint.ts'
import { EMPTY_EDGE, hashRanges, rootOf, tilesFor } from '../../signing/log/grow-tree.ts'
import {
  LOG_SIGNATURE,
  NoteError,
  type NoteKey,
  noteKey,
  parseNote,
  verifyNote,
} from '../../signing/log/note.ts'
import type { LogHead } from '../../store/audit/log.ts'
import { isRolledBack, type LogDeps, recordOnce, stopLog } from './log.ts'

/** The most bytes of an entry (C2SP tlog-tiles). */
const MAX_ENTRY = 65_535

/** The last checkpoint of a log that anybody is known to hold. */
interface LastCheckpoint {
  /** Signed by the log. */
  note: string
  /** The key of the log; absent: one of the store. */
  key?: NoteKey
}

/**
 * Begins the log that goes on for one that was rolled back. Its first entry is the last checkpoint that anybody is known to hold, so
 * that all see where the history was cut. The old one is stopped first, so that no process signs more of it, whatever it knows; after
 * a crash between any two steps, the next call goes on.
 * @param last that checkpoint; by default the one in the store. One that contradicts the store proves that it was put back
 * @returns undefined when the log was not rolled back, or another process was faster
 * @throws NoteError for a checkpoint of another log, of another signer, or an earlier one than the store has
 */
export async function renewLog(
  deps: LogDeps,
  actor: AuditActor,
  last?: LastCheckpoint,
): Promise<LogHead | undefined> {
  const found = await deps.logs.current()
  if (found === undefined) return undefined
  const after = last && (await openLast(deps, found, last))
  if (!isRolledBack(deps, found) && after?.contradicts !== true) return undefined
  if (found.rolled_back_at === undefined) await stopLog(deps, found)
  // A process that did not know of the restore may have signed more until then.
  const head = (await deps.logs.find(found.number)) ?? found
  const number = Math.max(head.number, after?.number ?? 0) + 1
  const none = checkpointText({ origin: head.origin, size: 0, root: rootOf(EMPTY_EDGE) })
  const next = {
    number,
    origin: `${firstOf(head.origin)}/log/${number}`,
    restores: deps.restores.times().length,
    follows: last?.note ?? head.note ?? none,
    size: 0,
  }
  const { origin: subject } = next
  await drawKey(deps, head, actor)
  await recordOnce(deps, { type: 'log.renewed', at: deps.clock.now(), actor, subject, size: head.size })
  return (await deps.logs.begin(next)) ? next : undefined
}

/** Has another key sign from now on: policies know logs by their keys. A restore that was marked has made one. */
async function drawKey(
  { keys, clock }: LogDeps,
  { origin, note }: LogHead,
  actor: AuditActor,
): Promise<void> {
  const at = clock.now()
  const key = keys.ring().active('log', at)
  if (key === undefined || note === undefined) return
  const { id } = await noteKey(origin, LOG_SIGNATURE, key.publicKey)
  if (parseNote(note).signatures.some((signature) => signature.id === id)) await keys.rotate('log', at, actor)
}

/**
 * Opens the last known checkpoint of that log, or of one that once went on for it.
 * @returns the number of its log; `contradicts`: the store has no such tree, so it was put back since that was signed
 */
async function openLast(
  { keys, logs }: LogDeps,
  head: LogHead,
  { note, key }: LastCheckpoint,
): Promise<{ number: number; contradicts: boolean }> {
  const signed = parseNote(note)
  const { origin, size, root } = parseCheckpointText(signed.text)
  const number = Number(/\/log\/([0-9]+)$/.exec(origin)?.[1] ?? 1)
  if (firstOf(origin) !== firstOf(head.origin) || number < head.number)
    throw new NoteError(`the checkpoint is of the log ${origin}, and not of ${head.origin}`)
  const own = keys
    .ring()
    .publicRecords()
    .filter(({ purpose }) => purpose === 'log')
  const made = own.map(({ publicKey }) => noteKey(origin, LOG_SIGNATURE, publicKey))
  const known = [...(await Promise.all(made)), ...(key === undefined ? [] : [key])]
  if (!(await verifyNote(signed, known)).some(({ key: { name } }) => name === origin))
    throw new NoteError(
      'no key of this store signed the checkpoint; if the key is newer than the store, give it with --vkey',
    )
  if (Buffer.byteLength(note) > MAX_ENTRY)
    throw new NoteError(`the checkpoint has more than ${MAX_ENTRY} bytes; leave signatures of witnesses out`)
  if (number > head.number || size > head.size) return { number, contradicts: true }
  const range = [{ start: 0, end: size }]
  const tiles = await logs.tiles(head.number, tilesFor(range))
  const [here = root] = hashRanges(range, (level, index) => tiles.get(`${level}/${index}`) ?? [])
  // Of a store that was put back and grew in another way, it says where the histories parted.
  if (!sameBytes(here, root)) return { number, contradicts: true }
  if (size === head.size) return { number, contradicts: false }
  throw new NoteError(`the store has a later checkpoint, of ${head.size} entries, and this one has ${size}`)
}

/** The name of the first log of a store. */
function firstOf(origin: string): string {
  return origin.replace(/\/log\/[0-9]+$/, '')
}
