import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { type ApprovalRequest, MOST_AT_ONCE, usableUntil } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import type { NotifyInput } from './notify-target.ts'
import { settleRequest } from './settle-request.ts'

/** The `Idempotency-Key` of a call, and its body as sent. */
export interface Idempotency {
  key: string
  body: unknown
}

/**
 * A request, and how it was found: `replayed`: an earlier call with the same `Idempotency-Key` and body made it; `reused`: it was
 * open, and the call joined it. Without `found` this call made it.
 */
export interface Created {
  request: ApprovalRequest
  found?: 'replayed' | 'reused'
}

/** What the request keeps of the call that made it, so that later calls find it. */
export type Marks = Pick<ApprovalRequest, 'idempotency_sha256' | 'body_sha256' | 'open_sha256'>

/** What a call asks for; all its other fields count for `reuse` as they are. */
interface Asked {
  reuse?: 'open' | undefined
  ttl_seconds?: number | undefined
  traceparent?: string | undefined
  notify?: NotifyInput | undefined
}

/** Returns the marks of a call; undefined for one that makes a new request in any case. */
export function marksOf(caller: Caller, input: Asked, idempotency?: Idempotency): Marks | undefined {
  if (idempotency === undefined && input.reuse === undefined) return undefined
  return {
    ...(idempotency && {
      idempotency_sha256: sha256Hex(`${caller.key.id}:${idempotency.key}`),
      body_sha256: sha256Hex(canonicalize(idempotency.body)),
    }),
    ...(input.reuse && { open_sha256: openSha256(caller, input) }),
  }
}

/**
 * Hashes who asks and all that is asked. Only how long it may wait does not count: many callers compute that from the time they
 * have left, so that it differs in each attempt.
 */
function openSha256({ key }: Caller, input: Asked): string {
  const { ttl_seconds: _ttl, reuse: _reuse, traceparent: _trace, notify, ...asked } = input
  const parts = { ...asked, notify: notify && given({ ...notify }), key: key.id }
  return sha256Hex(canonicalize(given(parts)))
}

/**
 * Finds the request of an earlier call: by its `Idempotency-Key` or, with `reuse`, one that is open. A request that must not be found
 * any more gives up the mark, so that the next one can have it.
 * @throws Refusal `idempotency_mismatch`
 */
export async function findEarlier(deps: FlowDeps, marks: Marks): Promise<Created | undefined> {
  const replayed = await findByIdempotencyKey(deps, marks)
  if (replayed !== undefined) return { request: replayed, found: 'replayed' }
  const open = await findOpen(deps, marks)
  return open && { request: open, found: 'reused' }
}

/** Milliseconds after its expiry for which a request is found; a request may wait longer than its caller lives. */
const KEPT_MS = 24 * 3600 * 1000

function isForgotten({ expires_at }: ApprovalRequest, now: Date): boolean {
  return now.getTime() - expires_at.getTime() >= KEPT_MS
}

async function findByIdempotencyKey(
  { requests, clock }: FlowDeps,
  { idempotency_sha256, body_sha256 }: Marks,
): Promise<ApprovalRequest | undefined> {
  if (idempotency_sha256 === undefined) return undefined
  const earlier = await requests.findMarked('idempotency_sha256', idempotency_sha256)
  if (earlier === undefined) return undefined
  if (isForgotten(earlier, clock.now())) {
    await requests.giveUpMark(earlier.id, 'idempotency_sha256')
    return undefined
  }
  if (earlier.body_sha256 !== body_sha256) throw refusal('idempotency_mismatch')
  return earlier
}

/**
 * Returns the marks that the requests of one call have, as many as it could have. The first is that of a call for one request, so
 * that one key is not used for both.
 */
export function marksOfBatch(caller: Caller, { key, body }: Idempotency): Marks[] {
  const body_sha256 = sha256Hex(canonicalize(body))
  return Array.from({ length: MOST_AT_ONCE }, (_, index) => {
    // No key holds a space.
    const name = index === 0 ? key : `${key} ${index}`
    return { idempotency_sha256: sha256Hex(`${caller.key.id}:${name}`), body_sha256 }
  })
}

/**
 * Finds what an earlier call with these marks made of its requests, which may be some of them only if it was cut off. They are
 * forgotten together: otherwise a late repeat would make those anew that expired first.
 * @throws Refusal `idempotency_mismatch`
 */
export async function findBatch(
  { requests, clock }: FlowDeps,
  marks: readonly Marks[],
): Promise<(ApprovalRequest | undefined)[]> {
  const found = await Promise.all(
    marks.map(({ idempotency_sha256: mark = '' }) => requests.findMarked('idempotency_sha256', mark)),
  )
  const earlier = found.filter((request) => request !== undefined)
  const now = clock.now()
  if (earlier.every((request) => isForgotten(request, now))) {
    await Promise.all(earlier.map(({ id }) => requests.giveUpMark(id, 'idempotency_sha256')))
    return []
  }
  if (earlier.some(({ body_sha256 }) => body_sha256 !== marks[0]?.body_sha256))
    throw refusal('idempotency_mismatch')
  return found
}

async function findOpen(deps: FlowDeps, { open_sha256 }: Marks): Promise<ApprovalRequest | undefined> {
  const found = open_sha256 && (await deps.requests.findMarked('open_sha256', open_sha256))
  if (!found) return undefined
  const request = await settleRequest(deps, found)
  if (isOpen(request, deps.clock.now()) && !(await deps.restores.isHeld(request))) return request
  await deps.requests.giveUpMark(request.id, 'open_sha256')
  return undefined
}

/** Checks whether a request, brought up to date, can still be decided or used. Nobody expects an approval of last month to be used. */
function isOpen(request: ApprovalRequest, now: Date): boolean {
  const { status, consumed_at, erased_at } = request
  if (status === 'pending') return true
  const isUnused = status === 'approved' && consumed_at === undefined && erased_at === undefined
  const until = usableUntil(request)
  return isUnused && !isForgotten(request, now) && (until === undefined || until > now)
}
