import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refusal } from '../../src/domain/errors.ts'
import type { Outcome } from '../../src/domain/receipt.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import type { SignedIn } from '../../src/flow/people/sessions.ts'
import { cancelRequest } from '../../src/flow/requests/cancel-request.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { decideBatch } from '../../src/flow/requests/decide-batch.ts'
import { expireIfLapsed } from '../../src/flow/requests/settle-request.ts'
import { startBatch } from '../../src/flow/requests/start-batch.ts'
import { nameApprovers, setDelegate } from '../support/batches.ts'
import { type Decider, deciderOf, proveFor, tryDecide } from '../support/deciders.ts'
import {
  isSigned,
  type Model,
  type ModelRequest,
  mayVote,
  outcomeOf,
  shownOf,
  vote,
} from '../support/decision-model.ts'
import { enrolWithPasskey } from '../support/enrolled.ts'
import { payloadsIn } from '../support/find-payloads.ts'
import { startService, type TestService } from '../support/service.ts'
import { size } from '../support/size.ts'

/** Person 0 owns the account; every other can be its member, be named, and stand in. */
const PEOPLE = 5
const REQUESTS = 2

let service: TestService
let deps: FlowDeps
let people: (Decider & { signedIn: SignedIn })[]
let caller: Caller

beforeAll(async () => {
  service = await startService()
  deps = service.composition.deps
  people = []
  for (let index = 0; index < PEOPLE; index += 1) {
    const decider = await deciderOf(service, await enrolWithPasskey(service, `person${index}@example.com`))
    const [session] = await deps.sessions.liveOf(decider.user.id, deps.clock.now(), 1)
    people.push({ ...decider, signedIn: { user: decider.user, session: session ?? expect.unreachable() } })
  }
  const account = { accountId: personAt(0).user.account_id, name: 'properties', sandbox: false }
  const { key } = await createApiKey(deps, account, { kind: 'cli' })
  caller = { key, scopes: key.scopes, address: '127.0.0.1' }
})
afterAll(() => service.close())

const personAt = (index: number) => people[index] ?? expect.unreachable()
const idOf = (index: number) => personAt(index).user.id
const indexOf = (userId: string) => people.findIndex(({ user }) => user.id === userId)

/** A scene: requests of one account, as stored and as the model has them. */
interface Scene {
  model: Model
  ids: string[]
}

const stored = async (id: string): Promise<ApprovalRequest> =>
  (await deps.requests.find(id)) ?? expect.unreachable()

/** `away`: which of them have person 4 stand in from the beginning. */
async function setUp(named: number[], quorum: number, away: boolean[]): Promise<Scene> {
  const members = Array.from({ length: PEOPLE }, (_, index) => index)
  const delegates = new Map(named.filter((one) => away[one]).map((one) => [one, 4]))
  for (const index of members) {
    const to = delegates.get(index)
    await setDelegate(service, idOf(index), to === undefined ? null : idOf(to))
  }
  const rule = { approvers: named.map(idOf), quorum: Math.min(quorum, named.length) }
  await nameApprovers(service, idOf(0), { ...rule, members: members.map(idOf) })
  const model: Model = { delegates, members: new Set(members), requests: [] }
  const ids: string[] = []
  for (let count = 0; count < REQUESTS; count += 1) {
    const input = { action: 'Pay 10', context: {}, requires_individual_decision: false, ttl_seconds: 600 }
    const { id, requirement } = (await createRequest(deps, caller, input)).request
    ids.push(id)
    const order = requirement.approvers.map(({ user_id }) => indexOf(user_id))
    model.requests.push({ named: order, quorum: rule.quorum, status: 'pending', votes: [] })
  }
  return { model, ids }
}

type Step =
  | { kind: 'vote'; who: number; at: number; decision: Outcome }
  | { kind: 'delegate'; who: number; to: number | null }
  | { kind: 'member'; who: number; in: boolean }
  | { kind: 'policy'; named: number[] }
  | { kind: 'lapse' | 'cancel'; at: number }
type Play =
  | Step
  | { kind: 'batch'; who: number; decisions: Outcome[]; between: Step | undefined }
  | { kind: 'at once'; votes: { who: number; at: number; decision: Outcome }[] }

const who = fc.nat(PEOPLE - 1)
const at = fc.nat(REQUESTS - 1)
// Most approve: a rejection ends everything.
const decision = fc.constantFrom<Outcome>('approved', 'approved', 'approved', 'approved', 'rejected')
// Few are named, and most delegates are the same person: so that hands meet a second principal, and lose their place.
const named = fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 })
const standIn = fc.constantFrom(4, 4, 4, 3, 0)
const voter = fc.constantFrom(0, 1, 2, 3, 4, 4, 4)
const voting = fc.record({ kind: fc.constant('vote' as const), who: voter, at, decision })
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: voting, weight: 6 },
  {
    arbitrary: fc.record({
      kind: fc.constant('delegate' as const),
      who: fc.nat(3),
      to: fc.option(standIn, { freq: 5, nil: null }),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('member' as const),
      who: fc.constantFrom(4, 4, 3),
      in: fc.constantFrom(true, false, false),
    }),
    weight: 3,
  },
  { arbitrary: fc.record({ kind: fc.constant('policy' as const), named }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constantFrom('lapse' as const, 'cancel' as const), at }), weight: 1 },
)
const play: fc.Arbitrary<Play> = fc.oneof(
  { arbitrary: step, weight: 6 },
  {
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      who: voter,
      decisions: fc.array(decision, { minLength: REQUESTS, maxLength: REQUESTS }),
      between: fc.option(step, { nil: undefined, freq: 2 }),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('at once' as const),
      votes: fc.array(fc.record({ who, at, decision }), { minLength: 2, maxLength: 4 }),
    }),
    weight: 1,
  },
)

/** How often something worth trying was tried. */
const seen = new Map<string, number>()
const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

function note(model: Model, { named, status, votes }: ModelRequest, person: number): void {
  const others = named.filter((one) => model.delegates.get(one) === person)
  if (status !== 'pending' || named.includes(person) || others.length === 0) return
  if (!model.members.has(person)) count('a delegate who was removed')
  const left = others.some((one) => votes.every(({ whose }) => whose !== one))
  if (left && votes.some(({ hands }) => hands === person)) count('the same hands for a second person')
}

/** Plays it on the service and in the model; both must answer the same. */
async function perform(scene: Scene, one: Play): Promise<void> {
  const { model, ids } = scene
  switch (one.kind) {
    case 'vote': {
      note(model, requestAt(model, one.at), one.who)
      const answer = await castVote(ids, one)
      expect(answer).toBe(vote(model, requestAt(model, one.at), one.who, one.decision))
      return
    }
    case 'delegate': {
      const to = one.to === one.who ? null : one.to
      await setDelegate(service, idOf(one.who), to === null ? null : idOf(to))
      if (to === null) model.delegates.delete(one.who)
      else model.delegates.set(one.who, to)
      return
    }
    case 'member':
      if (one.in || one.who === 0) model.members.add(one.who)
      else model.members.delete(one.who)
      return rename([0])
    case 'policy':
      return rename(one.named)
    case 'lapse':
    case 'cancel':
      await (one.kind === 'lapse' ? lapse : cancel)(ids[one.at] ?? '')
      if (requestAt(model, one.at).status === 'pending') requestAt(model, one.at).status = 'expired'
      return
    case 'batch':
      return performBatch(scene, one)
    case 'at once':
      return performAtOnce(scene, one.votes)
  }

  /** A policy for later requests, which must not matter to these. */
  function rename(approvers: number[]): Promise<void> {
    const rule = { approvers: approvers.map(idOf), members: [...model.members].map(idOf) }
    return nameApprovers(service, idOf(0), rule)
  }
}

const requestAt = (model: Model, index: number): ModelRequest => model.requests[index] ?? expect.unreachable()

async function codeOf(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt()
    return 'voted'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

async function castVote(
  ids: string[],
  { who, at, decision }: { who: number; at: number; decision: Outcome },
) {
  const decider = personAt(who)
  let proof: Awaited<ReturnType<typeof proveFor>> | undefined
  const refused = await codeOf(async () => {
    proof = await proveFor(deps, decider, ids[at] ?? '', decision)
  })
  if (proof === undefined) return refused
  const answer = await tryDecide(deps, decider, proof)
  return answer.startsWith('dec_') ? 'voted' : answer
}

async function lapse(id: string): Promise<void> {
  const requests = service.composition.connection.collection<{ _id: string }>('requests')
  await requests.updateOne(
    { _id: id, status: 'pending' },
    { $set: { expires_at: new Date(Date.now() - 1_000) } },
  )
}

async function cancel(id: string): Promise<void> {
  await codeOf(() => cancelRequest(deps, caller, id))
}

async function performBatch(scene: Scene, one: Extract<Play, { kind: 'batch' }>): Promise<void> {
  const { model, ids } = scene
  const { user, session } = personAt(one.who).signedIn
  const items = ids.map((id, index) => ({ id, decision: one.decisions[index] ?? 'approved' }))
  const codes = model.requests.map((request) => mayVote(model, request, one.who))
  let started: Awaited<ReturnType<typeof startBatch>> | undefined
  const refused = await codeOf(async () => {
    started = await startBatch(deps, { user, session }, items)
  })
  const inTheWay = ['not_found', 'not_pending', 'already_voted'].find((code) =>
    codes.some((found) => 'code' in found && found.code === code),
  )
  expect(refused).toBe(inTheWay ?? 'voted')
  if (started?.options === undefined) return
  const shown = model.requests.map((request) => shownOf(model, request, one.who))
  if (one.between !== undefined) await perform(scene, one.between)
  const response = personAt(one.who).person.authenticator.authenticate(started.options, {
    origin: deps.party.origin,
  })
  const proof = { method: 'passkey' as const, response }
  const input = { batchId: started.batch_id, comment: null, proof, address: '127.0.0.1' }
  const answer = await codeOf(() => decideBatch(deps, { user, session }, input))
  const same = model.requests.every((request, index) => shownOf(model, request, one.who) === shown[index])
  expect(answer).toBe(same ? 'voted' : 'batch_changed')
  if (!same) count(answer)
  if (!same) return
  for (const [index, request] of model.requests.entries())
    expect(vote(model, request, one.who, one.decisions[index] ?? 'approved')).toBe('voted')
}

/** Whose vote comes first is open: the model takes over what was recorded, if each vote was one it allows by then. */
async function performAtOnce(
  { model, ids }: Scene,
  votes: { who: number; at: number; decision: Outcome }[],
): Promise<void> {
  const answers = await Promise.all(votes.map((one) => castVote(ids, one)))
  for (const [index, request] of model.requests.entries()) {
    const recorded = (await stored(ids[index] ?? '')).votes.slice(request.votes.length)
    const here = votes.filter((one, n) => one.at === index && answers[n] === 'voted')
    expect(recorded).toHaveLength(here.length)
    for (const { user_id, decision } of recorded) {
      expect(here).toContainEqual({ who: indexOf(user_id), at: index, decision })
      expect(vote(model, request, indexOf(user_id), decision)).toBe('voted')
    }
  }
}

/** What holds for every request at every moment. */
async function check({ model, ids }: Scene): Promise<void> {
  for (const [index, expected] of model.requests.entries()) {
    const request = await expireIfLapsed(deps, await stored(ids[index] ?? ''))
    expect(request.status).toBe(expected.status)
    const counted = request.votes.map(({ user_id, on_behalf_of, decision }) => ({
      hands: indexOf(user_id),
      whose: indexOf(on_behalf_of),
      decision,
    }))
    expect(counted).toEqual(expected.votes)
    expect(new Set(counted.map(({ hands }) => hands)).size).toBe(counted.length)
    expect(new Set(counted.map(({ whose }) => whose)).size).toBe(counted.length)
    const decided = request.status === 'approved' || request.status === 'rejected'
    expect(outcomeOf(expected)).toBe(decided ? request.status : 'pending')
    expect(request.decision?.id ?? null).toBe(decided ? request.votes.at(-1)?.decision_id : null)
    const ends = request.outbox.filter(({ type }) => type !== 'approval.created')
    expect(ends.map(({ type }) => type)).toEqual(
      request.status === 'pending' ? [] : [`approval.${request.status}`],
    )
    expect(request.votes.map(({ receipt }) => receipt !== undefined)).toEqual(
      expected.votes.map((cast) => isSigned(expected, cast)),
    )
    if (request.status !== 'approved') expect(payloadsIn(request, 'approved')).toEqual([])
    if (!decided) expect(JSON.stringify(request)).not.toMatch(/"(receipt|canonical_payload)"/)
  }
}

describe('deciding, in any order', () => {
  it('T76, T77, T79: votes, delegates, removals, expiries, withdrawals and batches give the tally of the model, and never two decisions', async () => {
    await fc.assert(
      fc.asyncProperty(
        named,
        fc.constantFrom(1, 2, 2, 2, 3),
        fc.array(fc.constantFrom(true, true, false), { minLength: 3, maxLength: 3 }),
        fc.array(play, { minLength: 4, maxLength: 14 }),
        async (approvers, quorum, away, plays) => {
          const scene = await setUp(approvers, quorum, away)
          for (const one of plays) {
            await perform(scene, one)
            await check(scene)
          }
          for (const { status, votes } of scene.model.requests) {
            count(status)
            for (const { hands, whose } of votes) if (hands !== whose) count('voted for somebody')
          }
        },
      ),
      // Shrinking plays it some hundred times again: rather repeat the reported seed with fewer steps.
      { numRuns: size(20, 50), endOnFailure: true },
    )
    // The draws must have been interesting, or the test says nothing.
    const wanted = ['pending', 'approved', 'rejected', 'expired', 'voted for somebody', 'batch_changed']
    for (const what of [...wanted, 'a delegate who was removed', 'the same hands for a second person'])
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(0)
  })
})
