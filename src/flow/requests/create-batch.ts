import { setTimeout as pause } from 'node:timers/promises'
import { invalidField, Refusal } from '../../domain/errors.ts'
import { ID_BYTES, newId } from '../../domain/identifier.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { giveBackAllowance, hasTwin, takeAllowance } from './attention.ts'
import {
  type CreateInput,
  type Draft,
  draftRequest,
  inBatch,
  saveDraft,
  TWIN_LOOK_MS,
  TWIN_MS,
} from './create-request.ts'
import { findBatch, type Idempotency, marksOfBatch } from './find-earlier.ts'

/** The requests of a batch in the order of its inputs; `replayed`: an earlier call had made them all. */
export interface CreatedBatch {
  requests: ApprovalRequest[]
  replayed: boolean
}

/**
 * Makes several requests, or none: all are checked and take their allowance before the first is written. Each is one insert with a
 * mark of its own, made of the call's `Idempotency-Key` and its place. So a call that was cut off can be repeated until it succeeds:
 * the repeat makes those that are missing, and no other.
 * @param inputs 1 to `MOST_AT_ONCE`, without `reuse`
 * @throws Refusal of `createRequest`; one about a single request names its place as the field
 */
export async function createBatch(
  deps: FlowDeps,
  caller: Caller,
  inputs: readonly CreateInput[],
  idempotency: Idempotency,
): Promise<CreatedBatch> {
  const marks = marksOfBatch(caller, idempotency)
  let replayed = true
  for (const until = deps.clock.steady() + TWIN_MS; ; ) {
    const found = await findBatch(deps, marks)
    const requests = inputs.flatMap((_, index) => found[index] ?? [])
    if (requests.length === inputs.length) return { requests, replayed }
    const isLate = deps.clock.steady() > until
    const drafts = await draftMissing(deps, caller, { inputs, marks, found })
    if (!(await takeAll(deps, drafts, isLate))) {
      await pause(TWIN_LOOK_MS)
      continue
    }
    // Of a request that another call made first, the next look finds that one.
    if (await saveAll(deps, drafts)) replayed = false
  }
}

type Missing = {
  inputs: readonly CreateInput[]
  marks: ReturnType<typeof marksOfBatch>
  found: readonly (ApprovalRequest | undefined)[]
}

async function draftMissing(
  deps: FlowDeps,
  caller: Caller,
  { inputs, marks, found }: Missing,
): Promise<Draft[]> {
  const drafts = inputs.flatMap((input, place) =>
    found[place] === undefined
      ? [
          inPlace(place, async () => ({
            place,
            draft: await draftRequest(deps, caller, input, marks[place] ?? {}),
          })),
        ]
      : [],
  )
  return group(await allOf(drafts), found)
}

/**
 * Makes batches of the requests that may share a card: all but those that people must look at one by one, and those whose outcome goes
 * to a place of its own.
 */
function group(drafts: readonly Placed[], found: Missing['found']): Draft[] {
  const first = found[0] ?? drafts[0]?.draft.request
  const named = drafts.map(({ draft: { request } }) => first && batchId(first, request))
  const known = [...named, ...found.map((request) => request?.batch?.id)]
  return drafts.map(({ draft, place }, index) => {
    const id = named[index]
    const isAlone = id === undefined || known.filter((one) => one === id).length < 2
    return isAlone ? draft : inBatch(draft, { id, place })
  })
}

type Placed = { draft: Draft; place: number }

/**
 * Returns the batch of a request: equal in all calls with one key, since the first request is made before all others, for all that the
 * same people decide by the same rule, which may have changed since a call that was cut off.
 */
function batchId(
  first: ApprovalRequest,
  { sandbox, high_impact, notify, requirement }: ApprovalRequest,
): string | undefined {
  if (sandbox || high_impact || notify !== undefined) return undefined
  const deciders = canonicalize(JSON.parse(JSON.stringify(requirement)))
  return newId('bat', Buffer.from(sha256Hex(`${first.id} ${deciders}`), 'hex').subarray(0, ID_BYTES))
}

/**
 * Takes the allowance of all, or of none.
 * @returns false when it is used up, but the same call has taken some of it in another process: look for what becomes of that
 * @throws Refusal `quota_exceeded`, `too_many_pending`
 */
async function takeAll(deps: FlowDeps, drafts: readonly Draft[], isLate: boolean): Promise<boolean> {
  const taking = drafts.map(({ request, quota }) => takeAllowance(deps, request, quota))
  const outcomes = await Promise.allSettled(taking)
  const refused = outcomes.find((outcome) => outcome.status === 'rejected')
  if (refused === undefined) return true
  const taken = drafts.filter((_, index) => outcomes[index]?.status === 'fulfilled')
  // The counter remembers the last calls that took from it.
  const last = drafts.findLast((_, index) => outcomes[index]?.status === 'rejected')
  const underWay = last !== undefined && (await hasTwin(deps, last.request))
  await Promise.all(taken.map(({ request }) => giveBackAllowance(deps, request)))
  if (!(refused.reason instanceof Refusal) || !underWay || isLate) throw refused.reason
  return false
}

/**
 * Makes the requests whose allowance was taken, the first before all others: of two calls with one key and different bodies, it
 * determines which one makes its requests, or they would make a mixture. The relay is told once all are made, so that their card is
 * posted complete; of a call that was cut off, its sweep finds them.
 * @returns whether any was made; those that another call made first are not
 */
async function saveAll(deps: FlowDeps, [first, ...others]: readonly Draft[]): Promise<boolean> {
  if (first === undefined) return false
  const giveBack = () => Promise.all(others.map(({ request }) => giveBackAllowance(deps, request)))
  try {
    if (!(await saveDraft(deps, first, true))) {
      await giveBack()
      return false
    }
  } catch (error) {
    const settled = giveBack().catch((cause: unknown) =>
      deps.log.warn({ error: cause }, 'releasing the quota of several requests failed'),
    )
    // A store that is down has just kept the caller waiting, and would do so again.
    if (!deps.storeIsDown(error)) await settled
    throw error
  }
  await allOf(others.map((draft) => saveDraft(deps, draft, true)))
  deps.requests.tellRelay()
  return true
}

/** Waits for all, also where one fails: nothing may go on after the call was answered. @throws what the first that failed threw */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** Runs the check of one request of a batch. @throws Refusal that names its place: `requests.3.action`, or `requests.3` */
export async function inPlace<T>(index: number, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { field: part, detail = 'is missing', ...others } = error.details
    const field = ['requests', index, ...(part === undefined ? [] : [part])].join('.')
    // Codes such as `action required` are for the fields of the call itself.
    if (error.code === 'invalid_field' || error.code === `${part} required`) throw invalidField(field, detail)
    throw new Refusal(error.code, error.status, error.publicMessage, { ...others, field })
  }
}
