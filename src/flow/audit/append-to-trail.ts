import { setTimeout as pause } from 'node:timers/promises'
import type { AuditEntry, AuditRecord } from '../../domain/audit.ts'
import { type ChainHead, GENESIS, linkEntry } from '../../signing/audit-chain.ts'
import type { FlowDeps } from '../deps.ts'

type AppendDeps = Pick<FlowDeps, 'trail' | 'random'>

/** Records in one insert. */
const BATCH = 256

/** Lost races in a row before giving up: faster processes alone cannot be the cause of so many. */
const TRIES = 200
const FIRST_PAUSE_MS = 16
const LONGEST_PAUSE_MS = 64

/** Reads in a row that found this process's own record at the head, before it assumes that it appends alone. */
const ALONE = 3

/**
 * Makes a function that appends, in their order, those entries that the trail does not have yet. Any number of processes may
 * append at once, even the same entries: `seq` is unique, so of two processes that link to the same head one inserts and the
 * other looks again; an insert that stops half-way leaves a shorter trail, never one with a gap.
 *
 * Make one call after the other: while this process appends alone, it links to its own last record without reading the head. If
 * another process was faster, its record has that number and the insert is refused, so nothing is lost.
 * @returns the records that this call appended; throws what the store throws, then call again with the same entries
 */
export function createAppender(deps: AppendDeps): (entries: readonly AuditEntry[]) => Promise<AuditRecord[]> {
  const heads = createHeads(deps)
  return async (entries) => {
    const appended: AuditRecord[] = []
    for (let start = 0; start < entries.length; start += BATCH)
      appended.push(...(await appendBatch(deps, heads, entries.slice(start, start + BATCH))))
    return appended
  }
}

type Heads = ReturnType<typeof createHeads>

/** Tracks the head of the trail for the appender. */
function createHeads({ trail }: AppendDeps) {
  let own: ChainHead | undefined
  let alone = 0
  return {
    async next(): Promise<ChainHead> {
      if (own !== undefined && alone >= ALONE) return own
      const head = (await trail.head()) ?? GENESIS
      alone = head.hash === own?.hash ? alone + 1 : 0
      return head
    },
    /** Notes the last record appended; undefined: another process was faster, or the outcome is unknown. */
    appended(last: ChainHead | undefined): void {
      own = last
      if (last === undefined) alone = 0
    },
  }
}

async function appendBatch(
  deps: AppendDeps,
  heads: Heads,
  batch: readonly AuditEntry[],
): Promise<AuditRecord[]> {
  let left = [...new Map(batch.map((entry) => [entry.eid, entry])).values()]
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    // If the trail has one of the entries it refuses the insert; only then is it asked which ones it has.
    if (attempt > 0) {
      await pause(backOff(deps, attempt))
      const known = await deps.trail.known(left.map(({ eid }) => eid))
      left = left.filter(({ eid }) => !known.has(eid))
      if (left.length === 0) return []
    }
    const records = linkAll(deps, await heads.next(), left)
    let last: ChainHead | undefined
    try {
      if ((await deps.trail.insert(records)) === records.length) last = records.at(-1)
    } finally {
      heads.appended(last)
    }
    if (last !== undefined) return records
  }
  throw new Error('the audit trail accepts no record; run: countersign audit check')
}

function linkAll(deps: AppendDeps, head: ChainHead, entries: readonly AuditEntry[]): AuditRecord[] {
  let last = head
  return entries.map((entry) => {
    const salt = Buffer.from(deps.random.bytes(32)).toString('hex')
    const record = linkEntry(last, entry, salt)
    last = record
    return record
  })
}

/** Draws a pause in milliseconds, up to a limit that doubles each time: processes that lost together must not retry together. */
function backOff({ random }: AppendDeps, attempt: number): number {
  const share = (random.bytes(1)[0] ?? 0) / 255
  return share * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))
}
