import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { AuditType } from '../../../src/domain/audit.ts'
import { drawEvent } from '../../../src/domain/event.ts'
import { drawId } from '../../../src/domain/identifier.ts'
import type { Outcome } from '../../../src/domain/receipt.ts'
import type { ApprovalRequest, RequestChange } from '../../../src/domain/request.ts'
import type { User } from '../../../src/domain/user.ts'
import { newPerson } from '../../../src/flow/people/person.ts'
import { createBatch } from '../../../src/flow/requests/create-batch.ts'
import type { CreateInput } from '../../../src/flow/requests/create-request.ts'
import { type ChatPlatform, createChatPlatform, waitUntil } from '../../support/chat-platform.ts'
import { asMembers } from '../../support/members.ts'
import { newRequester, useWorker, type Worker, type WorkerOptions } from '../../support/worker.ts'

/** An account whose requests several people decide, all of them on one platform. */
export interface CardSetting {
  worker: Worker
  chat: ChatPlatform
  requester: Awaited<ReturnType<typeof newRequester>>
  /** Approvers; the platform knows the n-th as `U<n>`, by e-mail only. */
  people: User[]
}

export async function useCardSetting(
  {
    approvers = 1,
    quorum = 1,
    platform,
  }: { approvers?: number; quorum?: number; platform?: 'slack' | 'teams' } = {},
  options: WorkerOptions = {},
): Promise<CardSetting> {
  const chat = createChatPlatform(platform)
  const worker = await useWorker({ chats: [chat], ...options })
  const requester = await newRequester(worker)
  const people: User[] = []
  for (let n = 1; n <= approvers; n += 1) people.push(await addApprover({ worker, chat }, `U${n}`))
  const policy = { approvers: people.map(({ id }) => id), quorum, passkey_only: false, reminders: [0.5, 0.9] }
  await worker
    .stored('accounts')
    .updateOne({ _id: requester.account.id }, { $set: { policy, members: asMembers(policy.approvers) } })
  return { worker, chat, requester, people }
}

/** Somebody the platform knows by their e-mail address. */
export async function addApprover(
  { worker, chat }: Pick<CardSetting, 'worker' | 'chat'>,
  user: string,
): Promise<User> {
  const email = `${randomBytes(6).toString('hex')}@example.com`
  const made = newPerson(worker.deps, { email, name: `Person ${user}` })
  await worker.deps.accounts.insert(made.account)
  await worker.deps.users.insert(made.user)
  chat.members.set(email, { platform: chat.platform, tenant: 'T1', user })
  return made.user
}

/** What is asked for, of which only the action must be given. */
export type Body = Partial<CreateInput> & { action: string }

/** Asks for these in one call. @returns their ids */
export async function askMany(
  { worker, requester }: Pick<CardSetting, 'worker' | 'requester'>,
  bodies: Body[],
  key?: string,
): Promise<string[]> {
  const inputs = bodies.map((body) => ({ context: {}, requires_individual_decision: false, ...body }))
  const idempotency = { key: key ?? randomBytes(6).toString('hex'), body: { bodies } }
  return (await createBatch(worker.deps, requester.caller, inputs, idempotency)).requests.map(({ id }) => id)
}

/** Lets the process die in that call, once it has made so many requests. */
export async function dieAfter(
  { worker }: Pick<CardSetting, 'worker'>,
  made: number,
  call: () => Promise<unknown>,
): Promise<void> {
  const { requests } = worker.deps
  const { insert } = requests
  let left = made
  requests.insert = async (...what) => {
    left -= 1
    if (left < 0) throw new Error('the process died')
    return insert(...what)
  }
  await expect(call()).rejects.toThrow('died')
  requests.insert = insert
}

/** A vote as the deciding write leaves it, without its proof. */
export async function vote(
  { worker: { deps } }: Pick<CardSetting, 'worker'>,
  id: string,
  person: User,
  decision: Outcome,
  options: { closes?: boolean; comment?: string; for?: User } = {},
): Promise<void> {
  const request = await deps.requests.find(id)
  if (request === undefined) throw new Error('no such request')
  const change = changeOf(deps, request, person, decision, { closes: true, ...options })
  if ((await deps.requests.recordVote(id, request.version, change)) === undefined)
    throw new Error('race lost')
}

function changeOf(
  deps: Worker['deps'],
  request: ApprovalRequest,
  person: User,
  decision: Outcome,
  { closes, comment = null, for: whose = person }: { closes: boolean; comment?: string | null; for?: User },
): RequestChange {
  const at = deps.clock.now()
  const receipt = { canonical_payload: '{}', signature: 'c2ln', public_key_id: 'kid' }
  const facts = { decision, method: 'passkey', approver: whose.approver, comment } as const
  const decisionId = drawId(deps, 'dec')
  const type: AuditType = closes ? `approval.${decision}` : 'approval.voted'
  const actor = { kind: 'user', id: person.id } as const
  const entry = { eid: drawId(deps, 'evt'), type, at, actor, subject: request.id }
  return {
    status: closes ? decision : 'pending',
    vote: {
      ...facts,
      decision_id: decisionId,
      user_id: person.id,
      on_behalf_of: whose.id,
      at,
      intent_json: '{}',
      evidence: { type: 'totp', step: 1 },
    },
    ...(closes ? { decision: { id: decisionId, ...facts, decided_at: at, receipt } } : {}),
    events: closes ? [drawEvent(deps, `approval.${decision}`, at, {})] : [],
    audit: [{ ...entry, account_id: request.account_id }],
  }
}

/** Waits until every card of the request rests, up to date or not. */
export async function untilAtRest({ deps }: Pick<Worker, 'deps'>, request: string, cards = 1): Promise<void> {
  await waitUntil(async () => {
    const found = await deps.cards.ofRequest(request)
    const states = found.map(({ state }) => state)
    expect(states.filter((state) => state === 'idle' || state === 'unreachable')).toHaveLength(cards)
    const stored = await deps.requests.find(request)
    const carried = await deps.cards.ofRequest(request)
    // Whatever the request leaves behind has reached its cards.
    expect(stored?.outbox).toEqual([])
    expect(stored?.audit).toEqual([])
    expect(carried.map(({ news }) => news)).toEqual(found.map(({ news }) => news))
    expect(carried.every(({ state }) => state === 'idle' || state === 'unreachable')).toBe(true)
  })
}

/** From now on no try that failed is soon repeated by itself: how many there were is still true however late a test looks. */
export function holdRetries({ worker: { deps } }: Pick<CardSetting, 'worker'>): void {
  const { cards, clock } = deps
  const { finish } = cards
  cards.finish = (id, fence, result) => {
    const now = clock.now().getTime()
    const soon = result.tries > 0 && result.next_at.getTime() < now + 60_000
    const later = new Date(now + 3_600_000)
    return finish(id, fence, soon ? { ...result, next_at: later, again_at: later } : result)
  }
}

/** Lets the time come for what waits for a retry. */
export async function letTimePass({ worker }: Pick<CardSetting, 'worker'>, wake: () => void): Promise<void> {
  const past = new Date(worker.deps.clock.now().getTime() - 1)
  const longAgo = new Date(past.getTime() - 3_600_000)
  await worker
    .stored('cards')
    .updateMany(
      { state: { $in: ['due', 'leased'] } },
      { $set: { next_at: past, 'attempts.$[one].at': longAgo } },
      { arrayFilters: [{ 'one.at': { $exists: true } }] },
    )
  wake()
}
