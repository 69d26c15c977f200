import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { acceptByLink, inviteMember, makeAccount, newMember, newOwner } from '../../support/invited.ts'
import { callWithKey, decideByPasskey, keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const MEMBERS = '/api/v1/account/members'

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

const fresh = () => `person-${++people}@example.com`

/** An account whose policy names these people of its members. */
async function setUp(count: number, quorum = 1) {
  const owner = await newOwner(service, fresh())
  const named: EnrolledPerson[] = []
  for (let index = 0; index < count; index += 1) named.push(await newMember(service, owner, fresh()))
  const key = await keyOf(service, owner.userId)
  const setPolicy = async (approvers: string[]) => {
    const proof = await passkeyProof(owner, service, 'policy.change')
    const rules = { approvers, quorum, passkey_only: false, high_impact: false, proof }
    return owner.browser.put('/api/v1/account/policy', rules)
  }
  expectStatus(await setPolicy(named.map(({ userId }) => userId)), 200)
  const create = async () => {
    const answer = await callWithKey(service, key, '/request', { action: 'Deploy' })
    return { status: answer.status, body: Object(await answer.json()) }
  }
  const ask = async () => String((await create()).body.id)
  return { owner, named, setPolicy, create, ask }
}

type Setting = Awaited<ReturnType<typeof setUp>>

async function changeMember({ owner }: Setting, userId: string, what: 'remove' | 'approver' | 'auditor') {
  const proof = await passkeyProof(owner, service, 'member.change', userId)
  const path = `${MEMBERS}/${userId}`
  const answer =
    what === 'remove'
      ? await owner.browser.post(`${path}/remove`, { proof })
      : await owner.browser.patch(path, { role: what, proof })
  expectStatus(answer, 200)
}

async function standIn(person: EnrolledPerson, delegate: EnrolledPerson) {
  const proof = await passkeyProof(person, service, 'delegate.change', delegate.userId)
  const now = Date.now()
  const body = {
    user_id: delegate.userId,
    starts_at: new Date(now - 60_000).toISOString(),
    ends_at: new Date(now + 3_600_000).toISOString(),
    proof,
  }
  return person.browser.put('/api/v1/me/delegate', body)
}

async function mayDecide({ browser }: EnrolledPerson, id: string) {
  const answer = await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' })
  return answer.status === 200 ? 'yes' : [answer.status, answer.body.error]
}

/** What somebody gets who asks for the account itself, its requests and its trail. */
async function sees({ browser }: EnrolledPerson, { owner }: Setting) {
  const query = `?account=${owner.accountId}`
  const paths = ['', '/requests', '/audit', '/audit/export']
  const answers = await Promise.all(
    paths.map((path) => {
      const more = path.endsWith('export') ? '&format=ndjson' : ''
      return browser.get(`/api/v1/account${path}${query}${more}`)
    }),
  )
  return answers.map(({ status }) => status)
}

const GONE = [404, 'not_found']

describe('a removed member', () => {
  it('T79: still decides what names them, and nothing new does', async () => {
    const setting = await setUp(2)
    const [removed, stays] = setting.named
    if (removed === undefined || stays === undefined) throw new Error('too few')
    const id = await setting.ask()
    await changeMember(setting, removed.userId, 'remove')
    const next = await setting.ask()
    const request = Object(await stored(service, 'requests').findOne({ _id: next }))
    expect(request.requirement.approvers).toMatchObject([{ user_id: stays.userId }])
    expect(await mayDecide(removed, next)).toEqual(GONE)
    expect((await removed.browser.get(`/api/v1/approvals/${next}/review`)).status).toBe(404)
    expect(await sees(removed, setting)).toEqual([404, 404, 404, 404])
    const decided = await decideByPasskey({ service, owner: removed }, id, 'approved')
    expect(expectStatus(decided, 200).status).toBe('approved')
  })

  it('is no delegate there any more from that moment on, nor is an auditor', async () => {
    const setting = await setUp(2)
    const [principal, delegate] = setting.named
    if (principal === undefined || delegate === undefined) throw new Error('too few')
    expectStatus(await setting.setPolicy([principal.userId]), 200)
    const id = await setting.ask()
    expect(await mayDecide(delegate, id)).toEqual(GONE)
    expectStatus(await standIn(principal, delegate), 200)
    expect(await mayDecide(delegate, id)).toBe('yes')
    await changeMember(setting, delegate.userId, 'auditor')
    expect(await mayDecide(delegate, id)).toEqual(GONE)
    await changeMember(setting, delegate.userId, 'approver')
    expect(await mayDecide(delegate, id)).toBe('yes')
    await changeMember(setting, delegate.userId, 'remove')
    expect(await mayDecide(delegate, id)).toEqual(GONE)
    expect((await delegate.browser.get(`/api/v1/approvals/${id}/review`)).status).toBe(404)
    expect(await mayDecide(principal, id)).toBe('yes')
  })

  it('comes back only by accepting anew', async () => {
    const setting = await setUp(1)
    const [member] = setting.named
    if (member === undefined) throw new Error('too few')
    await changeMember(setting, member.userId, 'remove')
    expect(await setting.create()).toMatchObject({ status: 422, body: { error: 'no_eligible_approver' } })
    const { link } = await inviteMember(service, setting.owner, member.email)
    expect(await setting.create()).toMatchObject({ status: 422, body: { error: 'no_eligible_approver' } })
    expectStatus(await acceptByLink(member, setting.owner.accountId, link.url), 200)
    expect(await mayDecide(member, await setting.ask())).toBe('yes')
  })
})

describe('a delegate', () => {
  it('decides in their own name only where they decide themselves, and sees no more than that', async () => {
    const setting = await setUp(2)
    const [principal, delegate] = setting.named
    if (principal === undefined || delegate === undefined) throw new Error('too few')
    expectStatus(await setting.setPolicy([principal.userId]), 200)
    expectStatus(await standIn(principal, delegate), 200)
    // The principal's own account is another one, in which the delegate is nobody.
    await makeAccount(principal)
    const user = await service.composition.deps.users.find(principal.userId)
    if (user === undefined) throw new Error('nobody')
    const elsewhere = await (await newCaller(service, { user })).createdId()
    expect(await mayDecide(delegate, elsewhere)).toEqual(GONE)
    expect((await delegate.browser.get(`/api/v1/approvals/${elsewhere}/review`)).status).toBe(404)
    const id = await setting.ask()
    const decided = await decideByPasskey({ service, owner: delegate }, id, 'approved')
    expect(expectStatus(decided, 200).status).toBe('approved')
    for (const path of ['/api/v1/account/policy', MEMBERS]) {
      const { body } = await delegate.browser.get(path)
      expect(JSON.stringify(body)).not.toContain(principal.userId)
    }
  })

  it('T18: is no second pair of eyes: neither two votes of one hand nor a delegate of a delegate', async () => {
    const setting = await setUp(3, 2)
    const [first, second, third] = setting.named
    if (first === undefined || second === undefined || third === undefined) throw new Error('too few')
    expectStatus(await setting.setPolicy([first.userId, second.userId]), 200)
    expectStatus(await standIn(first, third), 200)
    expectStatus(await standIn(second, third), 200)
    const id = await setting.ask()
    const once = await decideByPasskey({ service, owner: third }, id, 'approved')
    expect(expectStatus(once, 200).status).toBe('pending')
    const twice = await third.browser.post(`/api/v1/approvals/${id}/decision/options`, {
      decision: 'approved',
    })
    expect([twice.status, twice.body.error]).toEqual([409, 'already_voted'])
    // The owner stands in for the delegate: that makes them nobody's delegate here.
    expectStatus(await standIn(third, setting.owner), 200)
    expect(await mayDecide(setting.owner, id)).toEqual(GONE)
  })
})

describe('somebody invited who has not accepted', () => {
  it('sees, decides and stands in for nothing, whatever names them', async () => {
    const setting = await setUp(1)
    const [named] = setting.named
    if (named === undefined) throw new Error('too few')
    const guest = await enrolWithPasskey(service, fresh())
    await inviteMember(service, setting.owner, guest.email)
    expect(await sees(guest, setting)).toEqual([404, 404, 404, 404])
    const policy = await setting.setPolicy([guest.userId])
    expect([policy.status, policy.body.field]).toEqual([400, 'approvers'])
    const delegate = await standIn(named, guest)
    expect([delegate.status, delegate.body.field]).toEqual([400, 'user_id'])
    // Even if the store said so.
    const accounts = stored(service, 'accounts')
    const approvers = [guest.userId, named.userId]
    await accounts.updateOne({ _id: setting.owner.accountId }, { $set: { 'policy.approvers': approvers } })
    const at = { starts_at: new Date(0), ends_at: new Date('2100-01-01') }
    const set = { delegate: { user_id: guest.userId, ...at } }
    await stored(service, 'users').updateOne({ _id: named.userId }, { $set: set })
    const id = await setting.ask()
    const request = Object(await stored(service, 'requests').findOne({ _id: id }))
    expect(request.requirement.approvers).toMatchObject([{ user_id: named.userId }])
    expect(await mayDecide(guest, id)).toEqual(GONE)
    expect((await guest.browser.get('/api/v1/me/pending')).body.data).toEqual([])
    expect((await guest.browser.get('/api/v1/me/delegate/candidates')).body.data).toEqual([])
  })
})
