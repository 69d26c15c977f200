import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApprovalRequest, Vote } from '../../../src/domain/request.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import {
  approve,
  BATCH,
  type BatchLine,
  decideBatch,
  nameApprovers,
  proveBatch,
  reject,
  setDelegate,
  startBatch,
} from '../../support/batches.ts'
import { brokenLink, type Pinned, pinnedKey } from '../../support/check-gesture.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, keyOf, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: Receiver
/** Decides; owns an account whose requests colleague and they decide. */
let own: LiveSetting
/** Has named the owner of `own` their delegate. */
let away: LiveSetting
let colleague: EnrolledPerson
let pinned: Pinned

beforeAll(async () => {
  service = await startService({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  receiver = await startReceiver()
  own = await setUpOwner(service)
  away = await setUpOwner(service, 'away@example.com')
  colleague = await enrolWithPasskey(service, 'colleague@example.com')
  await nameApprovers(service, away.owner.userId, { approvers: [], members: [own.owner.userId] })
  await setDelegate(service, away.owner.userId, own.owner.userId)
  pinned = {
    origin: service.url,
    rpId: 'localhost',
    passkey: pinnedKey(own.owner.authenticator.credentials[0]),
  }
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const stored = async (id: string): Promise<ApprovalRequest> =>
  (await service.composition.deps.requests.find(id)) ?? expect.unreachable()

const reference = async ({ userId }: EnrolledPerson) =>
  (await service.composition.deps.users.find(userId))?.approver

async function many(count: number, one: (index: number) => Promise<string>): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) ids.push(await one(index))
  return ids
}

/** The vote with which this request was decided. */
async function closingVote(id: string): Promise<Vote> {
  return (await stored(id)).votes.at(-1) ?? expect.unreachable()
}

async function proveAndPost(items: BatchLine[]) {
  const proven = await proveBatch(service, own.owner, items)
  return expectStatus(await own.owner.browser.post(BATCH, proven), 200)
}

describe('POST /api/v1/approvals/decisions', () => {
  it('T18: decides 50 mixed requests with one gesture: 50 receipts, each told once', async () => {
    const callback_url = receiver.url('/batch')
    const plain = await many(20, (n) => ask(own, { action: `Plain ${n}`, callback_url }))
    const grave = await many(10, (n) =>
      ask(own, { action: `Grave ${n}`, callback_url, requires_individual_decision: true }),
    )
    const theirs = await many(10, (n) => ask(away, { action: `Theirs ${n}`, callback_url }))
    const both = { approvers: [own.owner.userId, colleague.userId], quorum: 2 }
    await nameApprovers(service, own.owner.userId, both)
    const second = await many(10, (n) => ask(own, { action: `Four eyes ${n}`, callback_url }))
    expectStatus(await decideBatch(service, colleague, approve(...second)), 200)

    const items: BatchLine[] = [
      ...plain.map((id, n): BatchLine => ({ id, decision: n % 3 === 0 ? 'rejected' : 'approved' })),
      ...approve(...theirs),
      ...approve(...second.slice(0, 5)),
      ...reject(...second.slice(5)),
      ...approve(...grave),
    ]
    const said = { comment: 'seen them all', reason: 'Not now' }
    const answer = expectStatus(await decideBatch(service, own.owner, items, said), 200)
    const { data } = answer
    expect(data.map(({ id }: { id: string }) => id)).toEqual(items.map(({ id }) => id))
    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    for (const [index, { id, decision }] of items.entries()) {
      expect(data[index]).toMatchObject({ id, status: decision, vote: { decision, method: 'passkey' } })
      const reason = decision === 'rejected' ? 'Not now' : undefined
      const comment = reason === undefined ? 'seen them all' : 'Not now: seen them all'
      expect(data[index].decision).toMatchObject({ decision, comment })
      expect((await closingVote(id)).reason, 'counted by the overview').toBe(reason)
      const receipt = verifyReceiptJson({ decision: data[index].decision }, keys)
      expect(receipt).toMatchObject({ valid: true, payload: { rid: id, decision, method: 'passkey' } })
      expect(brokenLink(await closingVote(id), pinned), id).toBeUndefined()
    }
    expect(new Set(data.map((one: Answer) => one.decision.id)).size).toBe(50)
    expect(new Set(data.map((one: Answer) => one.decision.signature)).size).toBe(50)
    await expectDelegate(data.slice(20, 30))
    await receiver.until('50 callbacks', () => receiver.received.length >= 50)
    const told = receiver.received.map(({ body }) => JSON.parse(String(body)).request_id)
    expect(told.toSorted()).toEqual(items.map(({ id }) => id).toSorted())
  })

  type Answer = { decision: { id: string; signature: string; approver: string; delegate?: string } }

  async function expectDelegate(answers: Answer[]): Promise<void> {
    const counted = { approver: await reference(away.owner), delegate: await reference(own.owner) }
    expect(answers).toHaveLength(10)
    for (const { decision } of answers) expect(decision).toMatchObject(counted)
  }

  it('leaves a request pending whose quorum is not reached, and signs nothing', async () => {
    const rule = { approvers: [own.owner.userId, colleague.userId], quorum: 2 }
    await nameApprovers(service, own.owner.userId, rule)
    const ids = await many(2, () => ask(own))
    const { data } = await proveAndPost(approve(...ids))
    for (const [index, id] of ids.entries()) {
      expect(data[index]).toEqual({
        id,
        status: 'pending',
        vote: expect.objectContaining({ decision: 'approved' }),
      })
      expect(JSON.stringify(await stored(id))).not.toContain('"receipt"')
    }
    const setting = { service, owner: colleague }
    for (const id of ids) expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    for (const id of ids) {
      const first = (await stored(id)).votes[0] ?? expect.unreachable()
      expect(brokenLink(first, pinned)).toBeUndefined()
    }
  })

  it('states every request by the hash of its own intent, and binds the challenge to the whole list', async () => {
    const key = await keyOf(service, colleague.userId)
    const ids = [await ask({ service, key }), await ask({ service, key }, { context: { source: 'github' } })]
    const items = [...approve(ids[0] ?? ''), ...reject(ids[1] ?? '')]
    const started = await startBatch(colleague, items)
    const hash = (value: unknown) => createHash('sha256').update(canonicalize(value))
    expect(started.options.challenge).toBe(hash(started.batch).digest('base64url'))
    expect(started.methods).toEqual(['passkey'])
    expect(started.batch).toEqual({
      typ: 'human-approval/batch/v1',
      aud: service.url,
      approver: await reference(colleague),
      items: items.map(({ id, decision }, n) => ({
        rid: id,
        decision,
        intent_sha256: hash(started.intents[n]).digest('hex'),
      })),
      salt: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(started.intents).toMatchObject([
      { typ: 'human-approval/intent/v2', rid: ids[0], decision: 'approved', high_impact: false },
      { typ: 'human-approval/intent/v2', rid: ids[1], decision: 'rejected', high_impact: true },
    ])
    expect(started.intents[0].salt).not.toBe(started.intents[1].salt)
  })
})

describe('the chain from a passkey to a receipt of a batch', () => {
  it('breaks wherever a link is exchanged, and says where', async () => {
    const rule = { approvers: [own.owner.userId], quorum: 1 }
    await nameApprovers(service, own.owner.userId, rule)
    const [first = '', second = ''] = await many(2, (n) => ask(own, { action: `Chain ${n}` }))
    await proveAndPost([...approve(first), ...reject(second)])
    const [vote, other] = [await closingVote(first), await closingVote(second)]
    expect(brokenLink(vote, pinned)).toBeUndefined()
    const stranger = pinnedKey(colleague.authenticator.credentials[0])
    expect(brokenLink(vote, { ...pinned, passkey: stranger })).toBe('signature')
    expect(brokenLink(vote, { ...pinned, origin: 'https://evil.example' })).toBe('origin')
    expect(brokenLink({ ...vote, intent_json: other.intent_json }, pinned)).toBe('outcome')
    const bent = vote.intent_json.replace('Chain 0', 'Chain 9')
    expect(brokenLink({ ...vote, intent_json: bent }, pinned)).toBe('intent')
    expect(brokenLink({ ...vote, decision: 'rejected' }, pinned)).toBe('outcome')
    if (other.receipt === undefined) expect.unreachable()
    expect(brokenLink({ ...vote, receipt: other.receipt }, pinned)).toBe('receipt')
    const evidence = vote.evidence.type === 'passkey' ? vote.evidence : expect.unreachable()
    const shorter = evidence.batch_json?.replace(/,\{[^{}]*\}\]/, ']') ?? ''
    expect(shorter).not.toBe(evidence.batch_json)
    expect(brokenLink({ ...vote, evidence: { ...evidence, batch_json: shorter } }, pinned)).toBe('challenge')
  })
})
