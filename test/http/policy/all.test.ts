import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { policyAnswer } from '../../../src/http/api/policy.ts'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithTotp, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { acceptByLink, newMember, newOwner } from '../../support/invited.ts'
import { callWithKey, keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/policy'

let service: TestService
let owner: Awaited<ReturnType<typeof newOwner>>
let bob: EnrolledPerson
let carol: EnrolledPerson
let auditor: EnrolledPerson
let key: string
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  owner = await newOwner(service, 'owner@example.com')
  bob = await newMember(service, owner, 'bob@example.com')
  carol = await newMember(service, owner, 'carol@example.com')
  auditor = await newMember(service, owner, 'auditor@example.com', 'auditor')
  key = await keyOf(service, owner.userId)
})
afterAll(() => service.close())

const rules = (more: object = {}) => ({
  approvers: [owner.userId, bob.userId],
  quorum: 1,
  passkey_only: false,
  high_impact: false,
  ...more,
})

async function put(more: object = {}, who: EnrolledPerson = owner) {
  const proof = await passkeyProof(who, service, 'policy.change')
  return who.browser.put(PATH, { ...rules(more), proof })
}

async function policy() {
  const body = expectStatus(await owner.browser.get(PATH), 200)
  expect(policyAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  return policyAnswer.parse(body)
}

async function created() {
  const answer = await callWithKey(service, key, '/request', { action: 'Deploy' })
  const body = Object(await answer.json())
  const request = await stored(service, 'requests').findOne({ _id: String(body.id) })
  return { status: answer.status, body, request: Object(request) }
}

describe('GET and PUT /api/v1/account/policy', () => {
  it('begins with the owner alone', async () => {
    const fresh = await newOwner(service, 'fresh@example.com')
    const answer = expectStatus(await fresh.browser.get(PATH), 200)
    expect(answer).toEqual({
      approvers: [
        {
          user_id: fresh.userId,
          email: fresh.email,
          name: 'fresh',
          approver: expect.stringMatching(/^[0-9a-f]{16}$/),
          has_passkey: true,
          has_totp: false,
          confirmed: true,
          eligible: true,
        },
      ],
      quorum: 1,
      passkey_only: false,
      high_impact: false,
      confirmed_only: false,
      reminders: [0.5, 0.9],
      reachable: true,
    })
  })

  it('sets every rule, for the requests made from now on, and tells the trail', async () => {
    const before = (await created()).request
    const answer = await put({ quorum: 2, passkey_only: true, high_impact: true, reminders: [0.25, 0.75] })
    const body = expectStatus(answer, 200)
    expect(body).toEqual(await policy())
    expect(body).toMatchObject({ quorum: 2, passkey_only: true, high_impact: true, reminders: [0.25, 0.75] })
    const { request } = await created()
    expect(request).toMatchObject({
      requirement: {
        approvers: [{ user_id: owner.userId }, { user_id: bob.userId }],
        quorum: 2,
        passkey_only: true,
      },
      high_impact: true,
      reminders: [0.25, 0.75],
    })
    expect(Object(await stored(service, 'requests').findOne({ _id: before._id })).requirement).toEqual(
      before.requirement,
    )
    const account = await stored(service, 'accounts').findOne({ _id: owner.accountId })
    expect(Array.from(Object(account?.audit)).at(-1)).toMatchObject({
      type: 'policy.changed',
      account_id: owner.accountId,
      subject: owner.accountId,
      actor: { kind: 'user', id: owner.userId },
      detail: {
        quorum: 2,
        passkey_only: true,
        high_impact: true,
        approvers: `${owner.userId} ${bob.userId}`,
      },
    })
    // Left out, reminders stay.
    expect(expectStatus(await put(), 200).reminders).toEqual([0.25, 0.75])
    expect(expectStatus(await put({ approvers: [] }), 200).approvers).toMatchObject([
      { user_id: owner.userId },
    ])
  })

  it.each([
    [{ approvers: undefined }, 'approvers required', 'approvers'],
    [{ quorum: undefined }, 'quorum required', 'quorum'],
    [{ quorum: 0 }, 'invalid_field', 'quorum'],
    [{ quorum: 3 }, 'invalid_field', 'quorum'],
    [{ quorum: 1.5 }, 'invalid_field', 'quorum'],
    [{ approvers: [], quorum: 2 }, 'invalid_field', 'quorum'],
    [{ approvers: ['x'] }, 'invalid_field', 'approvers.0'],
    [{ approvers: [{ $ne: null }] }, 'invalid_field', 'approvers.0'],
    [{ approvers: [`usr_${'0'.repeat(26)}`] }, 'invalid_field', 'approvers'],
    [{ approvers: Array(51).fill(`usr_${'0'.repeat(26)}`) }, 'invalid_field', 'approvers'],
    [{ passkey_only: 'yes' }, 'invalid_field', 'passkey_only'],
    [{ reminders: [0.9, 0.5] }, 'invalid_field', 'reminders'],
    [{ reminders: [0.5, 0.5] }, 'invalid_field', 'reminders'],
    [{ reminders: [1] }, 'invalid_field', 'reminders.0'],
    [{ reminders: [0.1, 0.5, 0.9] }, 'invalid_field', 'reminders'],
  ])('400: refuses %o', async (more, error, field) => {
    const answer = await owner.browser.put(PATH, rules(more))
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, error, field])
  })

  it('400: refuses doubles, auditors and strangers as approvers', async () => {
    const stranger = await newOwner(service, 'stranger@example.com')
    for (const approvers of [[bob.userId, bob.userId], [auditor.userId], [bob.userId, stranger.userId]]) {
      const answer = await owner.browser.put(PATH, rules({ approvers }))
      expect([answer.status, answer.body.error, answer.body.field]).toEqual([
        400,
        'invalid_field',
        'approvers',
      ])
    }
  })

  it('422: refuses what could never be reached with passkeys only', async () => {
    const codes = await enrolWithTotp(service, 'codes@example.com')
    const body = { email: codes.email, role: 'approver' }
    const proof = await passkeyProof(owner, service, 'member.invite', codes.email)
    const { link } = expectStatus(
      await owner.browser.post('/api/v1/account/members', { ...body, proof }),
      201,
    )
    const invited = await put({ approvers: [codes.userId] })
    expect([invited.status, invited.body.field]).toEqual([400, 'approvers'])
    expectStatus(await acceptByLink(codes, owner.accountId, link.url), 200)
    const approvers = [codes.userId, bob.userId]
    const never = await put({ approvers, quorum: 2, passkey_only: true })
    expect([never.status, never.body.error]).toEqual([422, 'no_eligible_approver'])
    expectStatus(await put({ approvers, quorum: 2 }), 200)
  })

  it('403: needs a fresh proof for a policy, and keeps the old one without', async () => {
    const before = await policy()
    const none = await owner.browser.put(PATH, rules({ approvers: [] }))
    expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
    const proof = await passkeyProof(owner, service, 'member.change', bob.userId)
    const other = await owner.browser.put(PATH, { ...rules({ approvers: [] }), proof })
    expect([other.status, other.body.error]).toEqual([400, 'challenge_invalid'])
    expect(await policy()).toEqual(before)
  })

  it('T79: shows who is approver no more; requests then fail closed', async () => {
    expectStatus(await put({ approvers: [bob.userId, carol.userId], quorum: 2 }), 200)
    const open = (await created()).request
    const path = `/api/v1/account/members/${carol.userId}/remove`
    const proof = await passkeyProof(owner, service, 'member.change', carol.userId)
    expectStatus(await owner.browser.post(path, { proof }), 200)
    expectStatus(await carol.browser.patch('/api/v1/me', { name: 'What she calls herself elsewhere' }), 200)
    expect(await policy()).toMatchObject({
      approvers: [
        { user_id: bob.userId, eligible: true, has_passkey: true },
        // What she changes from now on is none of the account's business.
        { user_id: carol.userId, eligible: false, has_passkey: false, name: carol.email },
      ],
      reachable: false,
    })
    const refused = await created()
    expect([refused.status, refused.body.error]).toEqual([422, 'no_eligible_approver'])
    const still = await carol.browser.get(`/api/v1/approvals/${open._id}/review`)
    expect([still.status, still.body.may_decide]).toEqual([200, true])
    expectStatus(await put({ approvers: [] }), 200)
  })
})
