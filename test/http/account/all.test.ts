import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { REJECT_REASONS } from '../../../src/domain/account.ts'
import { inviteMemberByOperator } from '../../../src/flow/joining/invite-member.ts'
import { accountAnswer } from '../../../src/http/api/account.ts'
import { nextStepsAnswer } from '../../../src/http/api/profile.ts'
import { alter, stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { enrolByLink, newMember, newOwner } from '../../support/invited.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { PATIENCE_MS } from '../../support/patience.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

const PATH = '/api/v1/account'

let service: TestService
let setting: LiveSetting
let accountId: string
let now = Date.now()
beforeAll(async () => {
  service = await startService({ localTime: () => now })
  setting = await setUpOwner(service)
  accountId = await accountOf(setting.owner)
})
afterAll(() => service.close())

async function accountOf({ userId }: EnrolledPerson): Promise<string> {
  return (await service.composition.deps.users.find(userId))?.account_id ?? ''
}

async function seen(person: EnrolledPerson, query = '') {
  const body = expectStatus(await person.browser.get(`${PATH}${query}`), 200)
  expect(accountAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  return body
}

describe('GET /api/v1/account', () => {
  it('shows the owner name, quota and policy, every field', async () => {
    const before = (await seen(setting.owner)).quota.used
    await ask(setting)
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const owner = { id: user?.id, name: user?.name, email: user?.email, approver: user?.approver }
    const month = new Date(now).toISOString().slice(0, 7)
    const today = new Date(now)
    const ends = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1)).toISOString()
    expect(await seen(setting.owner)).toEqual({
      id: accountId,
      name: expect.any(String),
      role: 'owner',
      owner,
      created_at: expect.stringMatching(/Z$/),
      names_in_channels: false,
      reject_reasons: [...REJECT_REASONS],
      volumes: { chat: 'all', browser: 'all', mail: 'all' },
      quota: { limit: 10_000, used: before + 1, month, resets_at: ends },
      policy: {
        approvers: [
          {
            user_id: user?.id,
            ...owner,
            id: undefined,
            has_passkey: true,
            has_totp: false,
            confirmed: true,
            eligible: true,
          },
        ].map(({ id: _, ...approver }) => approver),
        quorum: 1,
        passkey_only: false,
        high_impact: false,
        confirmed_only: false,
        reminders: [0.5, 0.9],
        reachable: true,
      },
    })
  })

  it('counts anew in another month, and says when the one after begins', async () => {
    await ask(setting)
    const started = now
    now = Date.parse('2031-12-31T23:59:00Z')
    const person = await enrolWithPasskey(service, 'december@example.com')
    expect((await seen(person)).quota).toEqual({
      limit: 10_000,
      used: 0,
      month: '2031-12',
      resets_at: '2032-01-01T00:00:00.000Z',
    })
    now = started
  })

  it.each(['approver', 'auditor'] as const)('shows a member who is %s all but the policy', async (role) => {
    const member = await enrolWithPasskey(service, `${role}@example.com`)
    await joinAccount(service, accountId, member.userId, role)
    const body = await seen(member, `?account=${accountId}`)
    expect(body).toMatchObject({ id: accountId, role, owner: { id: setting.owner.userId } })
    expect(body).not.toHaveProperty('policy')
    expect(await seen(member)).toMatchObject({ id: await accountOf(member), role: 'owner' })
  })

  it('404: malformed, unknown and foreign accounts alike, also for whoever is only invited', async () => {
    const stranger = await enrolWithPasskey(service, 'stranger@example.com')
    const invited = await enrolWithPasskey(service, 'invited@example.com')
    await joinAccount(service, accountId, invited.userId, 'auditor', 'invited')
    for (const person of [stranger, invited])
      for (const id of [accountId, `acc_${'0'.repeat(26)}`, 'x', '', '%00']) {
        const { status, body } = await person.browser.get(`${PATH}?account=${id}`)
        expect({ id, status, body }).toEqual({
          id,
          status: 404,
          body: { error: 'not_found', message: expect.any(String) },
        })
      }
  })
})

describe('POST /api/v1/account', () => {
  const WITHOUT = [409, 'no_own_account'] as const

  it('makes the account that an invited person does not have until then', async () => {
    const owner = await newOwner(service, 'host@example.com')
    const { browser, userId } = await newMember(service, owner, 'guest@example.com')
    const session = async () => (await browser.get('/api/v1/session')).body
    expect((await session()).accounts).toEqual([
      { id: owner.accountId, name: 'host', role: 'approver', own: false },
    ])
    expect((await session()).user).not.toHaveProperty('account_id')
    const url = 'https://example.com/hook'
    for (const [path, body] of [
      [`${PATH}/api-keys`, { name: 'mine' }],
      [`${PATH}/webhooks`, { url, events: ['approval.approved'] }],
    ] as const) {
      const answer = await browser.post(path, body)
      expect([answer.status, answer.body.error], path).toEqual(WITHOUT)
    }
    for (const path of ['', '/requests', '/audit', '/members', '/policy', '/overview'])
      expect((await browser.get(PATH + path)).status, path).toBe(404)
    const nameless = await browser.post(PATH, {})
    expect([nameless.status, nameless.body.error]).toEqual([400, 'name required'])

    const made = await Promise.all(['Guest & Co', 'Guest & Co'].map((name) => browser.post(PATH, { name })))
    expect(made.map(({ status }) => status).sort()[0]).toBe(201)
    const [account] = made.filter(({ status }) => status === 201)
    expect(account?.body).toMatchObject({ name: 'Guest & Co', role: 'owner', owner: { id: userId } })
    expect(accountAnswer.safeParse(account?.body).error?.issues ?? []).toEqual([])
    const { user, accounts } = await session()
    expect(user.account_id).toBe(account?.body.id)
    expect(accounts).toMatchObject([
      { id: owner.accountId, own: false },
      { id: user.account_id, name: 'Guest & Co', role: 'owner', own: true },
    ])
    expectStatus(await browser.post(`${PATH}/api-keys`, { name: 'mine' }), 201)
    const again = await browser.post(PATH, { name: 'Another' })
    expect([again.status, again.body.error]).toEqual([409, 'own_account_exists'])

    // Should the service stop between the two writes, the next call finishes it; the trail has the name that the account has.
    await alter(service, 'users', userId, { no_account: true })
    expect((await browser.post(PATH, { name: 'Another' })).body.name).toBe('Guest & Co')
    const { audit } = Object(await stored(service, 'users').findOne({ _id: userId }))
    expect(audit.at(-1)).toMatchObject({ type: 'account.changed', detail: { name: 'Guest & Co' } })
  })

  it('is what the operator’s internal token does too, and no agent that asks for a key', async () => {
    const secret = 'i'.repeat(32)
    const place = await useService({ env: { INTERNAL_SERVICE_TOKEN: secret }, work: true })
    const owner = await newOwner(place, 'host@example.com')
    const { deps } = place.composition
    const invited = { email: 'guest@example.com', role: 'approver' } as const
    const { link } = await inviteMemberByOperator(deps, owner.accountId, invited)
    const guest = await enrolByLink(place, link.url)
    const asked = await createHttpClient(place.url).post('/api/v1/bootstrap', {
      email: 'guest@example.com',
      client_name: 'agent',
    })
    expect(asked.status).toBe(202)
    expect((await guest.browser.get(`${PATH}/bootstrap`)).body.data).toEqual([])
    // Without an account of their own, their own entries are with those that concern them in the account of the other.
    const query = `account=${owner.accountId}&type=factor.passkey_added`
    const trail = async () => (await guest.browser.get(`${PATH}/audit?${query}`)).body.data
    const recorded = async () => expect(await trail()).toMatchObject([{ subject: guest.userId }])
    await vi.waitFor(recorded, { timeout: PATIENCE_MS })
    const before = (await guest.browser.get('/api/v1/session')).body.accounts
    const named = await createHttpClient(place.url).post(
      '/api/v1/approvals/request',
      { action: 'Deploy' },
      { headers: { Authorization: `Bearer internal-${secret}`, 'X-Approver-Email': 'guest@example.com' } },
    )
    expect(named.status).toBe(201)
    expect((await guest.browser.get('/api/v1/me/pending')).body.data).toMatchObject([{ id: named.body.id }])
    const after = (await guest.browser.get('/api/v1/session')).body.accounts
    expect([before.length, after.length]).toEqual([1, 2])
  })
})

describe('GET /api/v1/me/next-steps', () => {
  const left = async ({ browser }: EnrolledPerson, query = '') => {
    const body = expectStatus(await browser.get(`/api/v1/me/next-steps${query}`), 200)
    expect(nextStepsAnswer.safeParse(body).error?.issues ?? []).toEqual([])
    return body
  }

  it('tells what is set up as soon as it is, and a member only of themself', async () => {
    const place = await setUpOwner(service, 'beginner@example.com')
    const { browser, userId } = place.owner
    const owner = {
      ...{ first_decision: false, member: false, member_unnamed: false, policy: false },
      ...{ chat_or_mail: false, approval_used: false },
    }
    const own = { hidden: false, second_passkey: false, told: false }
    expect(await left(place.owner)).toEqual({ ...own, owner })
    await decideByPasskey(place, await ask(place), 'rejected')
    expect(await left(place.owner)).toEqual({ ...own, owner: { ...owner, first_decision: true } })
    const id = await ask(place)
    await decideByPasskey(place, id, 'approved')
    expect((await left(place.owner)).owner.approval_used).toBe(false)
    expect((await callWithKey(service, place.key, `/${id}/consume`, {})).status).toBe(200)
    expect((await left(place.owner)).owner.approval_used).toBe(true)
    const member = await newMember(service, place.owner, 'second@example.com')
    expect((await left(place.owner)).owner).toMatchObject({ member: false, member_unnamed: true })
    const proof = await passkeyProof(place.owner, service, 'policy.change')
    const rules = { approvers: [userId, member.userId], quorum: 2, passkey_only: false, high_impact: false }
    expectStatus(await browser.put(`${PATH}/policy`, { ...rules, proof }), 200)
    expect((await left(place.owner)).owner).toMatchObject({
      member: true,
      member_unnamed: false,
      policy: true,
    })
    expect(await left(member, `?account=${await accountOf(place.owner)}`)).toEqual(own)
    const foreign = await member.browser.get(`/api/v1/me/next-steps?account=${accountId}`)
    expect([foreign.status, foreign.body.error]).toEqual([404, 'not_found'])
  })

  it('stays hidden for the person who hid it, in every browser, and is no entry of the trail', async () => {
    const person = await enrolWithPasskey(service, 'hider@example.com')
    const before = await service.composition.deps.users.find(person.userId)
    for (const next_steps_hidden of [true, false]) {
      expectStatus(await person.browser.patch('/api/v1/me', { next_steps_hidden }), 200)
      expect(await left(person)).toMatchObject({ hidden: next_steps_hidden })
      expect((await left(person)).owner === undefined).toBe(next_steps_hidden)
    }
    const after = await service.composition.deps.users.find(person.userId)
    expect(after?.audit).toEqual(before?.audit)
    const wrong = await person.browser.patch('/api/v1/me', { next_steps_hidden: 'yes' })
    expect([wrong.status, wrong.body]).toMatchObject([400, { field: 'next_steps_hidden' }])
  })
})

describe('PATCH /api/v1/account', () => {
  it('gives the account another name, for requests made from now on, and records it', async () => {
    const before = await ask(setting)
    const answer = await setting.owner.browser.patch(PATH, { name: '  Acme Payments ' })
    expect(expectStatus(answer, 200)).toMatchObject({ id: accountId, name: 'Acme Payments', role: 'owner' })
    const after = await ask(setting)
    const names = await Promise.all(
      [before, after].map(async (id) => Object(await stored(service, 'requests').findOne({ _id: id }))),
    )
    expect(names.map(({ requested_by }) => requested_by.account_name === 'Acme Payments')).toEqual([
      false,
      true,
    ])
    const entries = Object(await stored(service, 'accounts').findOne({ _id: accountId })).audit
    expect(entries.at(-1)).toMatchObject({
      type: 'account.changed',
      subject: accountId,
      account_id: accountId,
      actor: { kind: 'user', id: setting.owner.userId },
      detail: { name: 'Acme Payments' },
    })
    expectStatus(await setting.owner.browser.patch(PATH, { name: 'Acme Payments' }), 200)
    expect(Object(await stored(service, 'accounts').findOne({ _id: accountId })).audit).toHaveLength(
      entries.length,
    )
  })

  it('has channels read names, or not, leaves the name alone, and records it', async () => {
    const { name } = await seen(setting.owner)
    for (const names_in_channels of [true, true, false]) {
      const answer = await setting.owner.browser.patch(PATH, { names_in_channels })
      expect(expectStatus(answer, 200)).toMatchObject({ name, names_in_channels })
      expect(await seen(setting.owner)).toMatchObject({ name, names_in_channels })
    }
    const { audit } = Object(await stored(service, 'accounts').findOne({ _id: accountId }))
    expect(audit.slice(-2).map(({ detail }: { detail: object }) => detail)).toEqual([
      { names_in_channels: true },
      { names_in_channels: false },
    ])
    const refused = await setting.owner.browser.patch(PATH, { names_in_channels: 'yes' })
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { error: 'invalid_field', field: 'names_in_channels' },
    ])
  })

  it('has its own reasons for rejecting, in order, or none, and records them', async () => {
    for (const reject_reasons of [['Not now', ' Too much '], []]) {
      const answer = await setting.owner.browser.patch(PATH, { reject_reasons })
      const trimmed = reject_reasons.map((reason) => reason.trim())
      expect(expectStatus(answer, 200)).toMatchObject({ reject_reasons: trimmed })
      expectStatus(await setting.owner.browser.patch(PATH, { reject_reasons }), 200)
      const id = await ask(setting)
      const similar = await setting.owner.browser.get(`/api/v1/approvals/${id}/similar`)
      expect(expectStatus(similar, 200)).toMatchObject({ reject_reasons: trimmed })
    }
    const { audit } = Object(await stored(service, 'accounts').findOne({ _id: accountId }))
    expect(audit.slice(-2).map(({ detail }: { detail: object }) => detail)).toEqual([
      { reject_reasons: 'Not now · Too much' },
      { reject_reasons: '' },
    ])
    const nine = Array.from({ length: 9 }, (_, n) => `${n}`)
    for (const refused of ['Not now', ['Not now', 'Not now '], [''], ['x'.repeat(81)], ['a\u0007'], nine])
      expect(await setting.owner.browser.patch(PATH, { reject_reasons: refused })).toMatchObject({
        status: 400,
        body: { error: 'invalid_field', field: expect.stringMatching(/^reject_reasons/) },
      })
  })

  it.each([
    ['name required', {}],
    ['invalid_field', { name: '  ' }],
    ['invalid_field', { name: 7 }],
    ['invalid_field', { name: 'x'.repeat(81) }],
    ['invalid_field', { name: 'two\nlines' }],
  ])('400 %s: refuses %j', async (error, body) => {
    const answer = await setting.owner.browser.patch(PATH, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error, field: 'name' })
  })

  it('T22, 403: not at the bidding of another site', async () => {
    const { status, body } = await setting.owner.browser.patch(
      PATH,
      { name: 'Evil' },
      { origin: 'https://evil.example' },
    )
    expect([status, body.error]).toEqual([403, 'csrf_refused'])
  })

  it('404: nobody but its owner', async () => {
    const person = await enrolWithPasskey(service, 'robbed@example.com')
    await alter(service, 'accounts', await accountOf(person), { owner_id: 'usr_somebody_else' })
    const { status, body } = await person.browser.patch(PATH, { name: 'Mine' })
    expect([status, body.error]).toEqual([404, 'not_found'])
  })
})
