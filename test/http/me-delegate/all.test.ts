import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noticesIn } from '../../../src/domain/factor-notice.ts'
import { profileAnswer } from '../../../src/http/api/profile.ts'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { acceptByLink, inviteMember, newMember, newOwner } from '../../support/invited.ts'
import { callWithKey, keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/me/delegate'
const HOUR = 3_600_000
const DAY = 24 * HOUR

let service: TestService
let now = Date.now()
let owner: Awaited<ReturnType<typeof newOwner>>
let bob: EnrolledPerson
let auditor: EnrolledPerson
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => now })
  owner = await newOwner(service, 'owner@example.com')
  bob = await newMember(service, owner, 'bob@example.com')
  auditor = await newMember(service, owner, 'auditor@example.com', 'auditor')
})
afterAll(() => service.close())

const at = (offset: number) => new Date(now + offset).toISOString()

async function put(userId: string, more: object = {}, who: EnrolledPerson = owner) {
  const proof = await passkeyProof(who, service, 'delegate.change', userId)
  return who.browser.put(PATH, { user_id: userId, starts_at: at(0), ends_at: at(DAY), ...more, proof })
}

async function trailOf(userId: string) {
  const user = await service.composition.deps.users.find(userId)
  return user?.audit.at(-1)
}

describe('GET /api/v1/me/delegate/candidates', () => {
  it('names who decides where the person decides, and nobody to an auditor', async () => {
    const mine = expectStatus(await owner.browser.get(`${PATH}/candidates`), 200)
    expect(mine).toEqual({
      data: [{ user_id: bob.userId, email: 'bob@example.com', name: 'bob' }],
      next_cursor: null,
    })
    const theirs = expectStatus(await bob.browser.get(`${PATH}/candidates`), 200)
    expect(theirs.data.map(({ user_id }: { user_id: string }) => user_id)).toEqual([owner.userId])
    expect(expectStatus(await auditor.browser.get(`${PATH}/candidates`), 200).data).toEqual([])
  })
})

describe('PUT /api/v1/me/delegate', () => {
  it('has somebody decide for a while, shows it to the person, and takes it back without a proof', async () => {
    const times = { starts_at: at(HOUR), ends_at: at(DAY) }
    const body = expectStatus(await put(bob.userId, times), 200)
    expect(profileAnswer.safeParse(body).error?.issues ?? []).toEqual([])
    expect(body.user.delegate).toEqual({ email: 'bob@example.com', name: 'bob', ...times })
    expect(expectStatus(await owner.browser.get('/api/v1/session'), 200).user).toEqual(body.user)
    expect(await trailOf(owner.userId)).toMatchObject({
      type: 'delegate.set',
      account_id: owner.accountId,
      subject: owner.userId,
      detail: { delegate: bob.userId, ...times },
    })
    const removed = expectStatus(await owner.browser.post(`${PATH}/remove`, {}), 200)
    expect(removed.user.delegate).toBeNull()
    expect(await trailOf(owner.userId)).toMatchObject({
      type: 'delegate.removed',
      subject: owner.userId,
      detail: { delegate: bob.userId },
    })
    expectStatus(await owner.browser.post(`${PATH}/remove`, {}), 200)
  })

  it('stands in the trail of every account in which both decide, and is told once', async () => {
    const host = await newOwner(service, 'host@example.com')
    const apart = await newOwner(service, 'apart@example.com')
    const [first, second] = [
      await newOwner(service, 'dora@example.com'),
      await newOwner(service, 'emil@example.com'),
    ]
    for (const [inviter, person, role] of [
      [host, first, 'approver'],
      [host, second, 'approver'],
      [apart, first, 'approver'],
      [apart, second, 'auditor'],
    ] as const) {
      const { link } = await inviteMember(service, inviter, person.email, role)
      expectStatus(await acceptByLink(person, inviter.accountId, link.url), 200)
    }
    const written = async (type: string) =>
      ((await service.composition.deps.users.find(first.userId))?.audit ?? []).filter(
        (entry) => entry.type === type,
      )
    const times = { starts_at: at(0), ends_at: at(DAY) }
    expectStatus(await put(second.userId, times, first), 200)
    expectStatus(await first.browser.post(`${PATH}/remove`, {}), 200)
    for (const [type, detail] of [
      ['delegate.set', { delegate: second.userId, ...times }],
      ['delegate.removed', { delegate: second.userId }],
    ] as const) {
      const entries = await written(type)
      const told = { subject: first.userId, detail }
      const self = { kind: 'user', id: first.userId }
      expect(entries).toMatchObject([
        { ...told, account_id: first.accountId, actor: { ...self, address: expect.any(String) } },
        { ...told, account_id: host.accountId, actor: self },
      ])
      expect(entries[1]?.actor).toEqual(self)
      expect(noticesIn(entries).map(({ event_id }) => event_id)).toEqual([entries[0]?.eid])
    }
  })

  it('shows a delegate no more when the time is over', async () => {
    const started = now
    expectStatus(await put(bob.userId, { ends_at: at(HOUR) }), 200)
    now += HOUR
    expect(expectStatus(await owner.browser.get('/api/v1/session'), 200).user.delegate).toBeNull()
    now = started
  })

  it.each([
    ['user_id required', 'user_id', () => ({ user_id: undefined })],
    ['invalid_field', 'user_id', () => ({ user_id: 'bob' })],
    ['starts_at required', 'starts_at', () => ({ starts_at: undefined })],
    ['invalid_field', 'starts_at', () => ({ starts_at: 'tomorrow' })],
    ['invalid_field', 'ends_at', () => ({ ends_at: 1_800_000_000 })],
    ['invalid_field', 'ends_at', () => ({ starts_at: at(DAY), ends_at: at(DAY) })],
    ['invalid_field', 'ends_at', () => ({ starts_at: at(-DAY), ends_at: at(-HOUR) })],
    ['invalid_field', 'ends_at', () => ({ ends_at: at(366 * DAY + 1) })],
  ] as const)('400: %s, %s', async (error, field, more) => {
    const body = { user_id: bob.userId, starts_at: at(0), ends_at: at(DAY), ...more() }
    const answer = await owner.browser.put(PATH, body)
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, error, field])
  })

  it('400: refuses oneself, auditors, strangers and unknown people alike', async () => {
    const stranger = await newOwner(service, 'stranger@example.com')
    const unknown = `usr_${'0'.repeat(26)}`
    const texts = []
    for (const user_id of [owner.userId, auditor.userId, stranger.userId, unknown]) {
      const answer = await owner.browser.put(PATH, { user_id, starts_at: at(0), ends_at: at(DAY) })
      expect([answer.status, answer.body.field]).toEqual([400, 'user_id'])
      texts.push(JSON.stringify(answer.body))
    }
    expect(new Set(texts).size).toBe(1)
    const byAuditor = await auditor.browser.put(PATH, {
      user_id: owner.userId,
      starts_at: at(0),
      ends_at: at(DAY),
    })
    expect([byAuditor.status, byAuditor.body.field]).toEqual([400, 'user_id'])
  })

  it('403: needs a fresh proof for this very person', async () => {
    const body = { user_id: bob.userId, starts_at: at(0), ends_at: at(DAY) }
    const none = await owner.browser.put(PATH, body)
    expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
    const proof = await passkeyProof(owner, service, 'delegate.change', auditor.userId)
    const moved = await owner.browser.put(PATH, { ...body, proof })
    expect([moved.status, moved.body.error]).toEqual([400, 'challenge_invalid'])
  })
})

describe('PATCH /api/v1/me', () => {
  it('changes name and default time; requests that name no time then take it', async () => {
    const person = await newOwner(service, 'grace@example.com')
    const change = { name: ' Grace Hopper ', default_ttl_seconds: 120 }
    const { user } = expectStatus(await person.browser.patch('/api/v1/me', change), 200)
    expect(user).toMatchObject({ name: 'Grace Hopper', default_ttl_seconds: 120, delegate: null })
    expect(await trailOf(person.userId)).toMatchObject({
      type: 'user.changed',
      subject: person.userId,
      detail: { name: 'Grace Hopper', default_ttl_seconds: 120 },
    })
    const key = await keyOf(service, person.userId)
    const made = Object(await (await callWithKey(service, key, '/request', { action: 'x' })).json())
    const request = Object(await stored(service, 'requests').findOne({ _id: String(made.id) }))
    expect(Number(request.expires_at) - Number(request.created_at)).toBe(120_000)
    expect(expectStatus(await person.browser.patch('/api/v1/me', {}), 200).user).toEqual(user)
  })

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(81) }, 'name'],
    [{ name: { $ne: null } }, 'name'],
    [{ default_ttl_seconds: 59 }, 'default_ttl_seconds'],
    [{ default_ttl_seconds: 604_801 }, 'default_ttl_seconds'],
    [{ default_ttl_seconds: '60' }, 'default_ttl_seconds'],
  ])('400: refuses %o', async (body, field) => {
    const answer = await owner.browser.patch('/api/v1/me', body)
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', field])
  })

  it('cannot change who the person is', async () => {
    const before = expectStatus(await bob.browser.get('/api/v1/session'), 200).user
    const body = { id: owner.userId, email: 'x@example.com', account_id: owner.accountId, role: 'x' }
    expect(expectStatus(await bob.browser.patch('/api/v1/me', body), 200).user).toEqual(before)
  })
})
