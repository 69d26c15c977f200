import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changedKeyAnswer } from '../../../src/http/api/api-keys.ts'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { newMember, newOwner } from '../../support/invited.ts'
import { callWithKey } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const KEYS = '/api/v1/account/api-keys'

let service: TestService
let owner: Awaited<ReturnType<typeof newOwner>>
let bob: EnrolledPerson
let carol: EnrolledPerson
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  owner = await newOwner(service, 'owner@example.com')
  bob = await newMember(service, owner, 'bob@example.com')
  carol = await newMember(service, owner, 'carol@example.com')
  const proof = await passkeyProof(owner, service, 'policy.change')
  const approvers = [owner.userId, bob.userId]
  const rules = { approvers, quorum: 1, passkey_only: false, high_impact: false, proof }
  expectStatus(await owner.browser.put('/api/v1/account/policy', rules), 200)
})
afterAll(() => service.close())

async function newKey(more: object = {}): Promise<{ id: string; raw: string }> {
  const { raw_key, key } = expectStatus(await owner.browser.post(KEYS, { name: 'bot', ...more }), 201)
  return { id: key.id, raw: raw_key }
}

async function change(id: string, more: object) {
  const proof = await passkeyProof(owner, service, 'key.change', id)
  return owner.browser.patch(`${KEYS}/${id}`, { ...more, proof })
}

async function created(raw: string, more: object = {}) {
  const answer = await callWithKey(service, raw, '/request', { action: 'Deploy', ...more })
  const body = Object(await answer.json())
  const id = String(body.id ?? body.request_id)
  return {
    status: answer.status,
    body,
    request: Object(await stored(service, 'requests').findOne({ _id: id })),
  }
}

describe('PATCH /api/v1/account/api-keys/:id', () => {
  it('narrows who decides, from the next request on, and tells the trail', async () => {
    const { id, raw } = await newKey()
    const policy = { approvers: [bob.userId], quorum: 1, passkey_only: true, high_impact: true }
    const body = expectStatus(await change(id, { policy, source_control: true, name: 'forge' }), 200)
    expect(changedKeyAnswer.safeParse(body).error?.issues ?? []).toEqual([])
    expect(body.key).toMatchObject({ id, name: 'forge', policy, source_control: true })
    expect((await created(raw)).request).toMatchObject({
      requirement: { approvers: [{ user_id: bob.userId }], quorum: 1, passkey_only: true },
      high_impact: true,
    })
    const document = await stored(service, 'api_keys').findOne({ _id: id })
    expect(Array.from(Object(document?.audit)).at(-1)).toMatchObject({
      type: 'key.changed',
      account_id: owner.accountId,
      subject: id,
      detail: { name: 'forge', source_control: true, policy: true, approvers: bob.userId, quorum: 1 },
    })
    const plain = expectStatus(await change(id, { policy: null, source_control: false }), 200)
    expect(plain.key).toMatchObject({ name: 'forge', policy: null, source_control: false })
    expect((await created(raw)).request).toMatchObject({
      requirement: { approvers: [{ user_id: owner.userId }, { user_id: bob.userId }], passkey_only: false },
      high_impact: false,
    })
  })

  it('demands two of two where the account demands one', async () => {
    const { id, raw } = await newKey()
    expectStatus(await change(id, { policy: { quorum: 2 } }), 200)
    expect((await created(raw)).request.requirement).toMatchObject({ quorum: 2 })
  })

  it('takes an empty policy for none, and a name without a proof', async () => {
    const { id } = await newKey()
    expect(expectStatus(await change(id, { policy: {} }), 200).key.policy).toBeNull()
    const named = await owner.browser.patch(`${KEYS}/${id}`, { name: ' Other ' })
    expect(expectStatus(named, 200).key.name).toBe('Other')
    expect(expectStatus(await owner.browser.patch(`${KEYS}/${id}`, {}), 200).key.name).toBe('Other')
  })

  it('403: needs a fresh proof for this very key, whichever way policy or mark go', async () => {
    const { id } = await newKey()
    const other = await newKey()
    for (const body of [{ policy: { quorum: 2 } }, { policy: null }, { source_control: true }]) {
      const none = await owner.browser.patch(`${KEYS}/${id}`, body)
      expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
      const proof = await passkeyProof(owner, service, 'key.change', other.id)
      const moved = await owner.browser.patch(`${KEYS}/${id}`, { ...body, proof })
      expect([moved.status, moved.body.error]).toEqual([400, 'challenge_invalid'])
    }
    const { data } = expectStatus(await owner.browser.get(KEYS), 200)
    const unchanged = data.find((key: { id: string }) => key.id === id)
    expect(unchanged).toMatchObject({ policy: null, source_control: false })
  })

  it('400: names only approvers of the account, each once, and no more than there are', async () => {
    const { id } = await newKey()
    const refused = [
      [{ approvers: [carol.userId] }, 'policy.approvers'],
      [{ approvers: [bob.userId, bob.userId] }, 'policy.approvers'],
      [{ approvers: [] }, 'policy.approvers'],
      [{ approvers: ['bob'] }, 'policy.approvers.0'],
      [{ quorum: 3 }, 'policy.quorum'],
      [{ approvers: [bob.userId], quorum: 2 }, 'policy.quorum'],
      [{ passkey_only: false }, 'policy.passkey_only'],
      ['none', 'policy'],
    ] as const
    for (const [policy, field] of refused) {
      const answer = await owner.browser.patch(`${KEYS}/${id}`, { policy })
      expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', field])
    }
  })

  it("404: alike for foreign, unknown, revoked and the account's internal key", async () => {
    const stranger = await newOwner(service, 'stranger@example.com')
    const { key } = (await stranger.browser.post(KEYS, { name: 'theirs' })).body
    const gone = await newKey()
    expectStatus(await owner.browser.delete(`${KEYS}/${gone.id}`), 200)
    for (const id of [key.id, `key_${'0'.repeat(26)}`, 'x', gone.id]) {
      const answer = await owner.browser.patch(`${KEYS}/${id}`, { name: 'mine' })
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
  })

  it('makes a key of a source-control integration, whose requests are high impact', async () => {
    const { raw } = await newKey({ source_control: true })
    expect((await created(raw)).request.high_impact).toBe(true)
  })

  it('takes a policy for a sandbox key, too: nobody is asked, and its requests show as high impact', async () => {
    const { id, raw } = await newKey({ sandbox: true })
    expectStatus(await change(id, { policy: { approvers: [bob.userId], high_impact: true } }), 200)
    expect((await created(raw)).request).toMatchObject({
      sandbox: true,
      high_impact: true,
      requirement: { approvers: [{ user_id: owner.userId }], quorum: 1 },
    })
  })
})
