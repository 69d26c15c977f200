import { MOST_PENDING, quietSince, quietUntil, secondsUntilRoom } from '../domain/attention.ts'
import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { FlowDeps } from './deps.ts'

type ReservationDeps = Pick<FlowDeps, 'reservations' | 'requests' | 'clock'>
type Asking = Pick<ApprovalRequest, 'id' | 'account_id' | 'sandbox' | 'requirement'>

/** A reservation without a request is taken for one whose insert is on its way for so long. */
const UNDER_WAY_MS = 60_000

/**
 * Reserves the attention of each approver for a request that is about to be made (T24). Each reservation is one conditional
 * write, so that requests made at once count together. A decided or lapsed request does not give its reservations back: once
 * all are taken, those whose request is over are freed. Dry-runs ask no approver and take none.
 * @throws Refusal `too_many_pending`; nothing is taken then
 */
export async function reserveAttention(deps: ReservationDeps, request: Asking): Promise<void> {
  if (request.sandbox) return
  const people = request.requirement.approvers.map(({ user_id }) => user_id)
  const taken = await Promise.all(people.map((userId) => takeOne(deps, request, userId)))
  const full = taken.filter((wait) => wait !== undefined)
  if (full.length === 0) return
  await releaseAttention(deps, request)
  throw refusal('too_many_pending', { retry_after: Math.max(...full), limit: MOST_PENDING })
}

/** Gives them back when the request was not made after all. */
export async function releaseAttention({ reservations }: ReservationDeps, request: Asking): Promise<void> {
  if (request.sandbox) return
  const { id, account_id, requirement } = request
  await Promise.all(requirement.approvers.map(({ user_id }) => reservations.free(account_id, user_id, [id])))
}

/** @returns undefined when a reservation was taken, else seconds after which asking again may help */
async function takeOne(deps: ReservationDeps, request: Asking, userId: string): Promise<number | undefined> {
  const { id, account_id } = request
  const at = deps.clock.now()
  if (await deps.reservations.take(account_id, userId, id, at)) return undefined
  const held = await deps.reservations.held(account_id, userId)
  const holders = new Map(
    (await deps.requests.holders(held.map((reservation) => reservation.id))).map((one) => [one.id, one]),
  )
  const over = held.filter((reservation) => {
    const holder = holders.get(reservation.id)
    if (holder === undefined) return at.getTime() - reservation.at.getTime() > UNDER_WAY_MS
    return !holder.pending || holder.expires_at <= at
  })
  await deps.reservations.free(
    account_id,
    userId,
    over.map((reservation) => reservation.id),
  )
  // Also when nothing was found to free: who asked at the same moment may have freed it just before.
  if (await deps.reservations.take(account_id, userId, id, at)) return undefined
  const expiries = [...holders.values()].map(({ expires_at }) => expires_at).filter((time) => time > at)
  const next = expiries.sort((a, b) => a.getTime() - b.getTime())[0]
  return secondsUntilRoom(next, at)
}

/**
 * Towards whom the request's key is silent at `at` (`domain/attention.ts`), and until when. Counted from the decisions
 * themselves, so nothing can be lost or counted twice, and asking again later about the same moment gives the same answer.
 * @returns user ids with the end of the silence
 */
export async function quietPeople(
  { requests }: Pick<FlowDeps, 'requests'>,
  { api_key_id }: Pick<ApprovalRequest, 'api_key_id'>,
  at: Date,
): Promise<Map<string, Date>> {
  const times = new Map<string, Date[]>()
  for (const rejection of await requests.rejections(api_key_id, quietSince(at))) {
    times.set(rejection.user_id, [...(times.get(rejection.user_id) ?? []), rejection.at])
  }
  const quiet = [...times].flatMap(([userId, rejected]): [string, Date][] => {
    const until = quietUntil(rejected, at)
    return until === undefined ? [] : [[userId, until]]
  })
  return new Map(quiet)
}
