import { type AuditActor, drawEntry } from '../../domain/audit.ts'
import { isId } from '../../domain/identifier.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { isHeldBy, type Restore, type SetAside } from '../../domain/restore.ts'
import type { HeldKind } from '../../store/requests/held-requests.ts'
import { endEveryBootstrap } from '../bootstrap/settle-bootstrap.ts'
import type { FlowDeps } from '../deps.ts'
import { KEY_PURPOSES } from '../keys/keep-keys.ts'
import { endEverySession } from '../people/sessions.ts'
import { createRelay, NO_LOOPS } from '../relay/relay.ts'
import { withdraw } from '../requests/cancel-request.ts'
import { auditEntry } from '../requests/close-request.ts'
import { expireIfLapsed } from '../requests/settle-request.ts'
import { findBatches } from '../tell/card-batch.ts'

/** Checks whether a start has seen every mark of a copy in this store. */
export async function isTakenUp({ restores }: Pick<FlowDeps, 'restores'>): Promise<boolean> {
  return (await restores.all()).every(({ state }) => state !== 'copied')
}

/**
 * The first start on a copy of the store. What the copy left open may have been settled after it was made, so nobody may decide or
 * use it until the operator lifts the hold (`isHeldBy`). Sessions, links and ceremonies end, and new signing keys sign, so that what
 * is signed from here on can be told from what was signed after the copy. Each step may be repeated; the last one makes the mark a
 * restore, and no process serves before that.
 */
export async function takeUpCopy(deps: FlowDeps): Promise<void> {
  const relay = createRelay(deps, NO_LOOPS)
  await deps.restores.begin(deps.clock.now())
  // What the copy was about to send and to record comes first.
  await relay.run()
  await setAsideWaiting(deps)
  await editWhatIsOver(deps)
  await endEverySession(deps)
  await deps.restores.endLinks()
  await endEveryBootstrap(deps)
  const all = await deps.restores.all()
  for (const [index, mark] of all.entries()) {
    if (mark.state !== 'copied' || mark.restored_at === undefined) continue
    await rotateKeys(deps, mark.restored_at)
    await deps.audit.append(restoredEntry(deps, mark, mark.restored_at))
    await relay.run()
    await deps.restores.hold(mark.id, index + 1)
    deps.log.warn(
      { copied_at: mark.copied_at.toISOString(), copied_on: mark.copied_on },
      'this store was restored from a copy: sessions and links have ended, and what was open in the copy is held; run: countersign doctor',
    )
  }
}

/**
 * Lets new keys sign from the moment of the restore: an older key is one with which the history after the copy was signed as well
 * (`restoreCaution`).
 */
async function rotateKeys({ keys }: FlowDeps, restored_at: Date): Promise<void> {
  const made = keys.ring().publicRecords()
  for (const purpose of KEY_PURPOSES) {
    const isMade = made.some((key) => key.purpose === purpose && +key.notBefore === +restored_at)
    if (!isMade) await keys.rotate(purpose, restored_at, { kind: 'service' })
  }
}

/** Records claimed at a time. */
const CLAIMED = 100

/**
 * Sets aside what the copy was about to send, since it may have been sent after the copy was made: deliveries can be replayed, and a
 * card is looked for, or edited, with the next news about its request.
 */
async function setAsideWaiting({ clock, random, deliveries, pushes, cards }: FlowDeps): Promise<void> {
  const at = clock.now()
  const everything = {
    now: new Date(8.64e15),
    leaseEnds: new Date(at.getTime() + 60_000),
    limit: CLAIMED,
    choose: <R>(found: readonly R[]) => [...found],
  }
  const free = { busyHosts: [], busyAccounts: [], busyPairs: [], busyRecipients: [], busyEdits: [] }
  const rest = { next_at: at, tries: 0, audit: [] }
  const unknown = { at, outcome: 'interrupted', duration_ms: 0 } as const
  await untilNone(
    () => deliveries.claim({ ...everything, ...free }),
    (delivery) => {
      const { id, account_id, event_id } = delivery
      const actor = { kind: 'service' } as const
      const detail = { event_id, reason: 'restored' }
      const entry = drawEntry(
        { random },
        { type: 'delivery.dropped', at, actor, account_id, subject: id, detail },
      )
      return deliveries.finish(delivery, {
        ...rest,
        state: 'dropped',
        attempts: [unknown],
        audit: [entry],
        events: [],
      })
    },
  )
  await untilNone(
    () => pushes.claim({ ...everything, ...free }),
    ({ id, fence }) => pushes.finish(id, fence, { ...rest, state: 'dropped', attempts: [unknown] }),
  )
  await untilNone(
    () => cards.claim({ ...everything, ...free, platforms: ['slack', 'teams'] }),
    (card) => {
      const { id, fence, news, shown, message, replies } = card
      const what = message === undefined ? 'post' : 'update'
      const doubt = message === undefined ? { perhaps_posted: true } : {}
      const dropped = replies.filter(({ state }) => state === 'due').map((reply) => reply.id)
      const kept = { news, shown, stale: true, again_at: at, said: [], dropped }
      return cards.finish(id, fence, {
        ...rest,
        ...kept,
        ...doubt,
        state: 'idle',
        attempts: [{ ...unknown, what }],
      })
    },
  )
}

/**
 * Has the messages edited that still ask about what was over in the copy: no news would ever do that, and an edit tells nobody
 * anything twice.
 */
async function editWhatIsOver(deps: FlowDeps): Promise<void> {
  const { clock, cards, requests } = deps
  const behind = await cards.restingBehind()
  const ids = [...new Set(behind.map(({ request_id }) => request_id))]
  const batches = await findBatches(
    deps,
    ids.filter((id) => isId('bat', id)),
  )
  const found = [...(await requests.findMany(ids)), ...batches.values()]
  const over = new Set(found.filter(({ status }) => status !== 'pending').map(({ id }) => id))
  const at = clock.now()
  await Promise.all(
    behind.filter(({ request_id }) => over.has(request_id)).map(({ id }) => cards.doubt(id, at)),
  )
}

async function untilNone<R>(
  claim: () => Promise<readonly { record: R }[]>,
  finish: (record: R) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const claimed = await claim()
    if (claimed.length === 0) return
    await Promise.all(claimed.map(({ record }) => finish(record)))
  }
}

/** Its id follows from the mark's, so that an entry repeated after a crash is recorded once. */
function restoredEntry(deps: FlowDeps, { id, copied_at, copied_by, copied_on }: Restore, at: Date) {
  const detail = { copied_at: copied_at.toISOString(), copied_by, copied_on }
  const entry = drawEntry(deps, {
    type: 'store.restored',
    at,
    actor: { kind: 'service' },
    subject: id,
    detail,
  })
  return { ...entry, eid: id.replace(/^cpy/, 'evt') }
}

/** The last restore, and the numbers of what it holds. A copy that was never started has no `restored_at`: its first start will hold that. */
export interface Held {
  restore: Restore
  pending: number
  approved: number
  set_aside: SetAside
}

type HoldDeps = Pick<FlowDeps, 'restores' | 'requests'>

/** Returns what the last restore holds; undefined if the store was never restored, or the hold was lifted. */
export async function findHeld({ restores, requests }: HoldDeps): Promise<Held | undefined> {
  const restore = (await restores.all()).at(-1)
  if (restore === undefined || restore.state === 'lifted') return undefined
  const [pending, approved, set_aside] = await Promise.all([
    requests.countHeld(restore.id, 'pending'),
    requests.countHeld(restore.id, 'approved'),
    restores.setAside(restore),
  ])
  return { restore, pending, approved, set_aside }
}

/** Lists the first requests of that kind which the restore holds. */
export function listHeld(deps: HoldDeps, { restore }: Held, kind: HeldKind, limit: number) {
  return deps.requests.held(restore.id, kind, limit)
}

/** Requests withdrawn at a time. */
const BATCH = 100

/** What became of requests that were held. */
export interface Confirmed {
  withdrawn: string[]
  released: string[]
  /** Requests that are not held. */
  not_held: string[]
}

/** Withdraws all pending requests that are held. May be interrupted and repeated. @returns how many */
export async function withdrawHeld(deps: FlowDeps, { restore }: Held, actor: AuditActor): Promise<number> {
  let withdrawn = 0
  for (;;) {
    const found = await deps.requests.held(restore.id, 'pending', BATCH)
    const done = await Promise.all(found.map((request) => withdraw(deps, request, actor)))
    withdrawn += done.filter((request) => request !== undefined).length
    if (found.length < BATCH) return withdrawn
  }
}

/** Lifts the hold as a whole. The entry comes first: alone it does no harm. */
export async function liftHold(deps: FlowDeps, { restore }: Held, actor: AuditActor): Promise<void> {
  const at = deps.clock.now()
  await deps.audit.append(drawEntry(deps, { type: 'store.released', at, actor, subject: restore.id }))
  await deps.restores.lift(restore.id, at)
}

/** Lifts the hold on single requests or, where they are pending and `withdrawOpen` is set, withdraws them. */
export async function confirmRequests(
  deps: FlowDeps,
  { restore }: Held,
  ids: readonly string[],
  { withdrawOpen, actor }: { withdrawOpen: boolean; actor: AuditActor },
): Promise<Confirmed> {
  const confirmed: Confirmed = { withdrawn: [], released: [], not_held: [] }
  for (const id of ids) {
    const found = isId('req', id) ? await deps.requests.find(id) : undefined
    const request = found && (await expireIfLapsed(deps, found))
    const became = await confirmOne(deps, restore, request, { withdrawOpen, actor })
    confirmed[became].push(id)
  }
  return confirmed
}

async function confirmOne(
  deps: FlowDeps,
  restore: Restore,
  request: ApprovalRequest | undefined,
  { withdrawOpen, actor }: { withdrawOpen: boolean; actor: AuditActor },
): Promise<keyof Confirmed> {
  if (request === undefined || !isHeldBy(request, restore)) return 'not_held'
  if (request.status === 'pending' && withdrawOpen)
    return (await withdraw(deps, request, actor)) === undefined ? 'not_held' : 'withdrawn'
  const isOpen = request.status === 'pending' || (request.status === 'approved' && !request.consumed_at)
  if (!isOpen) return 'not_held'
  const entry = auditEntry(deps, request, 'approval.released', actor, deps.clock.now())
  const released = await deps.requests.release(request.id, restore.id, entry)
  if (released === undefined) return 'not_held'
  deps.changes.changed(request.id)
  return 'released'
}
