import { MOST_PENDING, quietSince, quietUntil, secondsUntilRoom } from '../../domain/attention.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { monthAt } from '../../domain/limits.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'

type Asking = Pick<
  ApprovalRequest,
  'id' | 'account_id' | 'sandbox' | 'requirement' | 'created_at' | 'idempotency_sha256' | 'open_sha256'
>

/** Milliseconds for which a reservation without a request counts as one whose insert is on its way. */
const UNDER_WAY_MS = 60_000

/**
 * Takes what a request that is about to be made needs: the attention of each approver (T24) and one of the account's quota, in
 * the month of its `created_at`. Each is one conditional write, so that requests made at once count together. A decision, a
 * vote or a lapse does not give reservations back: once all are taken, those of requests that no longer wait for the approver are
 * freed. Dry-runs ask no approver and reserve no attention.
 * @throws Refusal `too_many_pending`, `quota_exceeded`; nothing is taken then
 */
export async function takeAllowance(deps: FlowDeps, request: Asking, quota: number): Promise<void> {
  const { id, account_id: accountId, created_at } = request
  const month = monthAt(created_at)
  const at = deps.clock.now()
  const take = (people: readonly string[]) =>
    deps.quotas.take({
      ...{ accountId, month: month.name, quota, people, reservation: { id, at } },
      ...given({ call: callOf(request) }),
    })
  let refused = await take(approversOf(request))
  if (refused.full.length > 0) {
    const waits = new Map<string, number>()
    for (const userId of refused.full) waits.set(userId, await makeRoom(deps, request, userId, at))
    // Also where nothing was found to free: a request made at the same moment may just have freed it.
    refused = await take(refused.full)
    if (refused.full.length > 0) {
      await freeReservations(deps, request)
      const retry_after = Math.max(...refused.full.map((userId) => waits.get(userId) ?? 0))
      throw refusal('too_many_pending', { retry_after, limit: MOST_PENDING })
    }
  }
  if (!refused.usedUp) return
  await freeReservations(deps, request)
  const left = month.ends.getTime() - created_at.getTime()
  throw refusal('quota_exceeded', {
    retry_after: Math.ceil(left / 1000),
    limit: quota,
    resets_at: month.ends,
  })
}

/** Gives back everything that was taken, when the request was not made after all. */
export async function giveBackAllowance(deps: FlowDeps, request: Asking): Promise<void> {
  await freeReservations(deps, request)
  await deps.quotas.giveBack(request.account_id, monthAt(request.created_at).name, callOf(request))
}

/** Checks whether a call with the same mark has taken what its request needs, so that the request may come at any moment. */
export async function hasTwin({ quotas }: FlowDeps, request: Asking): Promise<boolean> {
  const call = callOf(request)
  return call !== undefined && quotas.hasTaken(request.account_id, monthAt(request.created_at).name, call)
}

/** A short name suffices: a call taken for another one's twin only waits in vain. */
function callOf({ idempotency_sha256, open_sha256 = idempotency_sha256 }: Asking): string | undefined {
  return open_sha256?.slice(0, 16)
}

async function freeReservations({ quotas }: FlowDeps, request: Asking): Promise<void> {
  const { id, account_id } = request
  await Promise.all(approversOf(request).map((userId) => quotas.free(account_id, userId, [id])))
}

/** Returns the people whose attention the request takes. */
function approversOf({ sandbox, requirement }: Asking): string[] {
  return sandbox ? [] : requirement.approvers.map(({ user_id }) => user_id)
}

/** Frees the reservations of requests that no longer wait for the person. @returns seconds after which asking again may help */
async function makeRoom(deps: FlowDeps, { account_id }: Asking, userId: string, at: Date): Promise<number> {
  const held = await deps.quotas.held(account_id, userId)
  const ids = held.map((reservation) => reservation.id)
  const holders = new Map((await deps.requests.holders(ids, userId)).map((one) => [one.id, one]))
  const over = held.filter((reservation) => {
    const holder = holders.get(reservation.id)
    if (holder === undefined) return at.getTime() - reservation.at.getTime() > UNDER_WAY_MS
    return !holder.pending || holder.expires_at <= at
  })
  await deps.quotas.free(
    account_id,
    userId,
    over.map((reservation) => reservation.id),
  )
  const expiries = [...holders.values()].map(({ expires_at }) => expires_at).filter((time) => time > at)
  return secondsUntilRoom(expiries.sort((a, b) => a.getTime() - b.getTime())[0], at)
}

/**
 * Finds the people towards whom the request's key is silent at `at` (`domain/attention.ts`). Counted from the decisions
 * themselves, so nothing can be lost or counted twice, and asking again later about the same moment gives the same answer.
 * @returns user ids with the end of the silence
 */
export async function quietPeople(
  { requests }: FlowDeps,
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
