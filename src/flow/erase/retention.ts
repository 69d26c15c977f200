import type { Account } from '../../domain/account.ts'
import { type AuditRecord, drawEntry } from '../../domain/audit.ts'
import { type ApprovalRequest, cardSubjectOf } from '../../domain/request.ts'
import { subjectOf } from '../../signing/audit-chain.ts'
import { createAppender } from '../audit/append-to-trail.ts'
import { KEPT_TYPES, readErased, TRAIL } from '../audit/erasures.ts'
import type { FlowDeps } from '../deps.ts'
import { batchesOf, type CardBatch } from '../tell/card-batch.ts'
import { planErasure } from './erase-requests.ts'

/** Requests erased in one go, and looked at in accounts without any: little enough that no caller feels it. */
const SLICE = 20
const ACCOUNTS_AT_ONCE = 20

/** Runs for which a request waits for the relay, before it is passed over until the next round. */
const MOST_STAYS = 50

const DAY_MS = 86_400_000

/** A request lives a week at most, so all that were made so long before the end are finished. */
const LONGEST_LIFE_MS = 8 * DAY_MS

/** An account that is being gone through, and how far. */
interface Going {
  account: Account
  until: Date
  after: { created_at: Date; id: string } | undefined
  /** Runs in a row in which nothing could be done with what was found. */
  stays: number
  /** Something was passed over: the next round begins where this one did. */
  passed: boolean
}

/**
 * Makes the sweep that erases what is older than it may get. Each run does one slice; it goes through all accounts, then rests
 * until it is called again.
 * @returns a function that returns when to go on; undefined: this round is over
 */
export function createRetention(deps: FlowDeps): () => Promise<Date | undefined> {
  const { retention } = deps.settings
  let round: Going[] | undefined
  return async function retain() {
    if (round === undefined) round = await beginRound(deps)
    for (let looked = 0; looked < ACCOUNTS_AT_ONCE; looked += 1) {
      const [going] = round
      if (going === undefined) break
      const { more, erased } = await eraseSlice(deps, going)
      if (!more) {
        const until = new Date(going.until.getTime() - LONGEST_LIFE_MS)
        if (!going.passed) await deps.accounts.noteErased(going.account.id, until)
        round.shift()
      }
      if (erased > 0) break
    }
    if (round.length > 0) return deps.clock.now()
    const before = retention.auditDays && new Date(deps.clock.now().getTime() - retention.auditDays * DAY_MS)
    if (before && (await eraseOldRecords(deps, before))) return deps.clock.now()
    round = undefined
    return undefined
  }
}

/** An account may keep its requests for less time than the operator says, never for longer. */
async function beginRound(deps: FlowDeps): Promise<Going[]> {
  const { days } = deps.settings.retention
  const now = deps.clock.now().getTime()
  const accounts = await deps.accounts.withRetention(days === undefined)
  return accounts.map((account) => {
    const until = new Date(now - Math.min(account.retention_days || Infinity, days ?? Infinity) * DAY_MS)
    // Everything made until then is erased; a position before the first id of that time.
    const after = account.erased_until && { created_at: account.erased_until, id: '' }
    return { account, until, after, stays: 0, passed: false }
  })
}

async function eraseSlice(deps: FlowDeps, going: Going): Promise<{ more: boolean; erased: number }> {
  const { whole } = deps.settings.retention
  const { account, until, after } = going
  const from = { account_id: account.id, until, after, limit: SLICE, erased: whole }
  const found = await deps.erasure.finished(from)
  const marked = found.filter(({ erased_at, deleting }) =>
    whole ? deleting !== true : erased_at === undefined,
  )
  const unrecorded = await deps.erasure.unrecorded([...idsOf(marked), ...marked.map(cardSubjectOf)], true)
  const due = marked.filter((one) => !unrecorded.has(one.id) && !unrecorded.has(cardSubjectOf(one)))
  const batches = await batchesOf(deps, found)
  // The request last: what a crash leaves undone is found again by it.
  if (due.length > 0) {
    await deps.erasure.deleteDeliveries(idsOf(due))
    await deps.erasure.deleteCards(cardsToDelete(due, batches))
  }
  const plans = due.map((one) => planErasure(deps, one, { kind: 'service' }, whole ? 'whole' : 'texts'))
  const erased = await deps.erasure.erase(plans)
  const gone = found.flatMap((one) => membersToDelete(one, batches.get(cardSubjectOf(one))))
  const deleted = whole ? await deps.erasure.deleteMarked([...new Set(gone)]) : 0
  const done = erased + deleted
  going.stays = done === 0 ? going.stays + 1 : 0
  // What the relay still has to record is erased, or deleted, by one of the next runs; what cannot be is passed over.
  const isStuck = going.stays > MOST_STAYS || (whole && marked.length === 0 && gone.length === 0)
  if (isStuck && found.length > 0) going.passed = true
  if ((!whole && erased === found.length) || isStuck) going.after = found.at(-1) ?? after
  return { more: found.length > 0, erased: done }
}

/** A card of several requests goes with the last of them. */
function cardsToDelete(due: readonly ApprovalRequest[], batches: ReadonlyMap<string, CardBatch>): string[] {
  const erased = new Set(idsOf(due))
  const isKept = (batch: CardBatch | undefined) =>
    batch?.members.some(({ id, erased_at }) => erased_at === undefined && !erased.has(id))
  return [...new Set(due.map(cardSubjectOf))].filter((id) => !isKept(batches.get(id)))
}

/**
 * Returns the request, or all of its batch once all are marked: the version of their card, which is the sum of theirs, would fall, and
 * no edit would take away the texts of the others in chat.
 */
function membersToDelete({ id }: ApprovalRequest, batch: CardBatch | undefined): string[] {
  if (batch === undefined) return [id]
  return batch.members.every(({ deleting }) => deleting === true) ? idsOf(batch.members) : []
}

function idsOf(requests: readonly ApprovalRequest[]): string[] {
  return requests.map(({ id }) => id)
}

/** Records erased in one go. */
const RECORDS = 200

/**
 * Erases the contents of the next records older than that, except those that say what was erased. Their hashes stay, so the chain
 * and every proof from it hold. The entry that says so is in the trail first; what a crash left of a stretch is erased by the next call.
 * @returns whether there may be more
 */
async function eraseOldRecords(deps: FlowDeps, before: Date): Promise<boolean> {
  const { trail } = deps
  const [last] = await trail.list({ type: 'audit.erased', subject: TRAIL, limit: 1 })
  const { from: lastFrom, to: lastTo } = (last?.entry && readErased(last.entry)) ?? { from: 1, to: 0 }
  if (lastTo > 0) await eraseStretch(deps, await trail.scan(lastFrom, lastTo - lastFrom + 1), lastTo)
  const { from, old, more } = await nextStretch(deps, lastTo + 1, before)
  const to = old.at(-1)?.seq
  if (to === undefined) return false
  const detail = { from, to, before: before.toISOString() }
  const at = deps.clock.now()
  const actor = { kind: 'service' } as const
  await createAppender(deps)([drawEntry(deps, { type: 'audit.erased', at, actor, subject: TRAIL, detail })])
  await eraseStretch(deps, old, to)
  return more
}

/** Finds the next records older than that of which some are to be erased; a sweep alone leaves hundreds in a row that are not. */
async function nextStretch({ trail }: FlowDeps, first: number, before: Date) {
  for (let from = first; ; ) {
    const found = await trail.scan(from, RECORDS)
    const young = found.findIndex(({ entry }) => entry !== undefined && entry.at >= before)
    const more = young === -1 && found.length === RECORDS
    const old = young === -1 ? found : found.slice(0, young)
    if (!old.every(isKept)) return { from, old, more }
    if (!more) return { from, old: [], more }
    from = (old.at(-1)?.seq ?? from) + 1
  }
}

async function eraseStretch({ trail }: FlowDeps, records: readonly AuditRecord[], to: number): Promise<void> {
  const doomed = records.filter((record) => record.seq <= to && !isKept(record))
  await trail.erase(doomed.map((record) => ({ seq: record.seq, subject_sha256: subjectOf(record) })))
}

/** Records without contents, and those that account for erased ones. */
function isKept({ entry }: AuditRecord): boolean {
  return entry === undefined || KEPT_TYPES.includes(entry.type)
}
