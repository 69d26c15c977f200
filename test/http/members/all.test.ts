import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { membersAnswer } from '../../../src/http/api/members.ts'
import { alter, stored } from '../../support/caller.ts'
import {
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  linkToken,
  passkeyProof,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { acceptByLink, inviteMember, makeAccount, newMember, newOwner } from '../../support/invited.ts'
import { startService, type TestService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const PATH = '/api/v1/account/members'
const UNKNOWN = `usr_${'0'.repeat(26)}`

let service: TestService
let owner: Awaited<ReturnType<typeof newOwner>>
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  owner = await newOwner(service, 'owner@example.com')
})
afterAll(() => service.close())

const fresh = () => `person-${++people}@example.com`

async function members(who: Pick<EnrolledPerson, 'browser'> = owner) {
  const body = expectStatus(await who.browser.get(PATH), 200)
  expect(membersAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  return membersAnswer.parse(body).data
}

async function lastEntries(count: number) {
  const account = await stored(service, 'accounts').findOne({ _id: owner.accountId })
  return Array.from(Object(account?.audit), Object).slice(-count)
}

const prove = (operation: string, target: string) => passkeyProof(owner, service, operation, target)
const accountsOf = async ({ browser }: Pick<EnrolledPerson, 'browser'>) =>
  expectStatus(await browser.get('/api/v1/session'), 200)

describe('GET /api/v1/account/members', () => {
  it('lists the owner first, then members and invited people, every field', async () => {
    const boss = await newOwner(service, fresh())
    const member = await newMember(service, boss, fresh(), 'auditor')
    const { member: invited } = await inviteMember(service, boss, fresh())
    const user = await service.composition.deps.users.find(member.userId)
    const passkeys = [{ device_bound: true, aaguid: '00000000-0000-0000-0000-000000000000' }]
    expect(await members(boss)).toEqual([
      {
        user_id: boss.userId,
        email: boss.email,
        name: boss.email.slice(0, boss.email.indexOf('@')),
        approver: expect.stringMatching(/^[0-9a-f]{16}$/),
        role: 'owner',
        state: 'active',
        has_passkey: true,
        has_totp: false,
        passkeys,
        invited_at: null,
        joined_at: null,
      },
      {
        user_id: member.userId,
        email: member.email,
        name: user?.name,
        approver: user?.approver,
        role: 'auditor',
        state: 'active',
        has_passkey: true,
        has_totp: false,
        passkeys,
        invited_at: expect.stringMatching(/Z$/),
        joined_at: expect.stringMatching(/Z$/),
      },
      invited,
    ])
  })

  it("shows a member their own account's, never the one they joined", async () => {
    const member = await newMember(service, owner, fresh())
    const none = await member.browser.get(PATH)
    expect([none.status, none.body.error]).toEqual([404, 'not_found'])
    await makeAccount(member)
    expect((await members(member)).map(({ user_id }) => user_id)).toEqual([member.userId])
  })
})

describe('POST /api/v1/account/members', () => {
  it('leaves member.invited and member.joined in the trail of the account', async () => {
    const member = await newMember(service, owner, fresh(), 'auditor')
    const about = { account_id: owner.accountId, subject: member.userId, detail: { role: 'auditor' } }
    expect(await lastEntries(2)).toMatchObject([
      { type: 'member.invited', actor: { kind: 'user', id: owner.userId }, ...about },
      { type: 'member.joined', actor: { kind: 'user', id: member.userId }, ...about },
    ])
    const user = await service.composition.deps.users.find(member.userId)
    expect(user?.audit[0]).toMatchObject({ type: 'user.invited', actor: { kind: 'user', id: owner.userId } })
    expect(user?.audit[0]?.actor).not.toHaveProperty('address')
  })

  it.each([
    [{ role: 'approver' }, 'email required', 'email'],
    [{ email: 'x@example.com' }, 'role required', 'role'],
    [{ email: 'x@example.com', role: 'owner' }, 'invalid_field', 'role'],
    [{ email: { $ne: null }, role: 'approver' }, 'invalid_field', 'email'],
    [{ email: 'nobody', role: 'approver' }, 'invalid_field', 'email'],
    [{ email: 'x@example.com', role: 'approver', name: '' }, 'invalid_field', 'name'],
    [{ email: 'x@example.com', role: 'approver', name: 'two\nlines' }, 'invalid_field', 'name'],
  ])('400: refuses %o', async (body, error, field) => {
    const answer = await owner.browser.post(PATH, body)
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, error, field])
  })

  it('403: needs a fresh proof for this very address', async () => {
    const email = fresh()
    const none = await owner.browser.post(PATH, { email, role: 'approver' })
    expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
    const other = { email, role: 'approver', proof: await prove('member.invite', fresh()) }
    const moved = await owner.browser.post(PATH, other)
    expect([moved.status, moved.body.error]).toEqual([400, 'challenge_invalid'])
    const wrong = { email, role: 'approver', proof: await prove('member.change', email) }
    const changed = await owner.browser.post(PATH, wrong)
    expect([changed.status, changed.body.error]).toEqual([400, 'challenge_invalid'])
    expect(await service.composition.deps.users.findByEmail(email)).toBeUndefined()
  })

  it('409: knows whoever is a member, invited or the owner, in any spelling', async () => {
    const { email } = await newMember(service, owner, fresh())
    const invited = fresh()
    await inviteMember(service, owner, invited)
    for (const known of [email, invited, owner.email, ` ${owner.email.toUpperCase()} `]) {
      const answer = await owner.browser.post(PATH, { email: known, role: 'approver' })
      expect(answer.status).toBe(409)
      expect(answer.body).toEqual({
        error: 'member_exists',
        message: 'This person is already a member, or already invited; nothing was changed.',
      })
    }
  })

  it('409: stops at fifty members, invited ones counted', async () => {
    const boss = await newOwner(service, fresh())
    const at = new Date()
    const many = Array.from({ length: 50 }, (_, index) => ({
      user_id: `usr_${String(index).padStart(26, '0')}`,
      role: 'auditor',
      state: 'invited',
      invited_at: at,
      joined_at: null,
    }))
    await alter(service, 'accounts', boss.accountId, { members: many })
    const answer = await boss.browser.post(PATH, { email: fresh(), role: 'approver' })
    expect([answer.status, answer.body.error]).toEqual([409, 'member_limit'])
  })

  it('invites one person once, however many invitations are sent at once', async () => {
    const boss = await newOwner(service, fresh())
    const email = fresh()
    const bodies = []
    for (let index = 0; index < 4; index += 1)
      bodies.push({
        email,
        role: 'approver',
        proof: await passkeyProof(boss, service, 'member.invite', email),
      })
    const answers = await Promise.all(bodies.map((body) => boss.browser.post(PATH, body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    expect(await members(boss)).toHaveLength(2)
  })
})

describe('PATCH /api/v1/account/members/:id and …/remove', () => {
  it('changes a role at once, with a proof for this very member', async () => {
    const member = await newMember(service, owner, fresh())
    const path = `${PATH}/${member.userId}`
    const unproved = await owner.browser.patch(path, { role: 'auditor' })
    expect([unproved.status, unproved.body.error]).toEqual([403, 'proof_required'])
    const proof = await prove('member.change', UNKNOWN)
    const moved = await owner.browser.patch(path, { role: 'auditor', proof })
    expect([moved.status, moved.body.error]).toEqual([400, 'challenge_invalid'])
    const body = { role: 'auditor', proof: await prove('member.change', member.userId) }
    expect(expectStatus(await owner.browser.patch(path, body), 200).member).toMatchObject({ role: 'auditor' })
    expect((await accountsOf(member)).accounts[0]).toMatchObject({ id: owner.accountId, role: 'auditor' })
    const [entry] = await lastEntries(1)
    expect(entry).toMatchObject({
      type: 'member.changed',
      subject: member.userId,
      detail: { role: 'auditor' },
    })
  })

  it('removes at once; the removed see the account no more', async () => {
    const member = await newMember(service, owner, fresh(), 'auditor')
    const look = () => member.browser.get(`/api/v1/account?account=${owner.accountId}`)
    expect((await look()).status).toBe(200)
    const path = `${PATH}/${member.userId}/remove`
    expectStatus(await owner.browser.post(path, { proof: await prove('member.change', member.userId) }), 200)
    expect((await accountsOf(member)).accounts).toEqual([])
    const gone = await look()
    expect([gone.status, gone.body.error]).toEqual([404, 'not_found'])
    const [entry] = await lastEntries(1)
    expect(entry).toMatchObject({ type: 'member.removed', subject: member.userId })
    const again = await owner.browser.post(path, {})
    expect([again.status, again.body.error]).toEqual([404, 'not_found'])
  })

  it('T55: 404 alike for strangers, the owner, unknown and malformed ids, and links of whoever has joined', async () => {
    const stranger = await enrolWithPasskey(service, fresh())
    for (const id of [stranger.userId, owner.userId, UNKNOWN, '%7B%22%24ne%22%3A1%7D']) {
      const answers = [
        await owner.browser.patch(`${PATH}/${id}`, { role: 'auditor' }),
        await owner.browser.post(`${PATH}/${id}/remove`, {}),
        await owner.browser.post(`${PATH}/${id}/link`, {}),
      ]
      for (const { status, body } of answers) expect([status, body.error]).toEqual([404, 'not_found'])
    }
    const member = await newMember(service, owner, fresh())
    const link = await owner.browser.post(`${PATH}/${member.userId}/link`, {})
    expect([link.status, link.body.error]).toEqual([404, 'not_found'])
  })
})

describe('the invited person’s answer', () => {
  it('accepts, once or twice, and may leave again', async () => {
    const person = await enrolWithPasskey(service, fresh())
    const { link } = await inviteMember(service, owner, person.email)
    const say = (path: string) => person.browser.post(`/api/v1/me/${path}`, {})
    const early = await say(`memberships/${owner.accountId}/leave`)
    expect([early.status, early.body.error]).toEqual([404, 'not_found'])
    const before = await accountsOf(person)
    expect(before.accounts).toHaveLength(1)
    expect(before.invitations).toEqual([
      {
        account_id: owner.accountId,
        account_name: 'owner',
        role: 'approver',
        invited_at: expect.stringMatching(/Z$/),
      },
    ])
    expectStatus(await acceptByLink(person, owner.accountId, link.url), 200)
    expectStatus(await acceptByLink(person, owner.accountId, link.url), 200)
    const late = await say(`invitations/${owner.accountId}/decline`)
    expect([late.status, late.body.error]).toEqual([404, 'not_found'])
    const after = await accountsOf(person)
    // Their own account stays the first: they had it before.
    expect(after.accounts.map((one: { own: boolean }) => one.own)).toEqual([true, false])
    expect(after.invitations).toEqual([])
    expectStatus(await say(`memberships/${owner.accountId}/leave`), 200)
    expect((await accountsOf(person)).accounts).toHaveLength(1)
    expect(await lastEntries(2)).toMatchObject([
      { type: 'member.joined', subject: person.userId },
      { type: 'member.left', subject: person.userId, actor: { kind: 'user', id: person.userId } },
    ])
  })

  it('accepts by the link that they enrolled by, if the service stopped before that accepted it', async () => {
    const { link } = await inviteMember(service, owner, fresh())
    const token = linkToken(link.url)
    const { browser, authenticator } = {
      browser: createHttpClient(service.url),
      authenticator: createSoftAuthenticator(),
    }
    const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', { token }), 200)
    const credential = authenticator.register(options, { origin: service.url })
    const enrol = () =>
      browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'laptop', credential })
    const { accounts } = service.composition.deps
    const { change } = accounts
    accounts.change = () => Promise.reject(new Error('the service stops'))
    expect((await enrol()).status).toBe(500)
    accounts.change = change
    const begun = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
    const signIn = { credential: authenticator.authenticate(begun.options, { origin: service.url }) }
    expectStatus(await browser.post('/api/v1/session/passkey', signIn), 200)
    const looked = await browser.post('/api/v1/enrollment/lookup', { token })
    expect(expectStatus(looked, 200)).toMatchObject({ enrolled: true })
    expectStatus(await acceptByLink({ browser }, owner.accountId, link.url), 200)
    expect((await accountsOf({ browser })).accounts[0]).toMatchObject({ id: owner.accountId })
    expect((await browser.post('/api/v1/enrollment/lookup', { token })).status).toBe(410)
  })

  it('declines, and can be invited again', async () => {
    const person = await enrolWithPasskey(service, fresh())
    const { link } = await inviteMember(service, owner, person.email)
    const path = `/api/v1/me/invitations/${owner.accountId}`
    expectStatus(await person.browser.post(`${path}/decline`, {}), 200)
    expect(await lastEntries(1)).toMatchObject([{ type: 'member.declined', subject: person.userId }])
    const late = await acceptByLink(person, owner.accountId, link.url)
    expect([late.status, late.body.error]).toEqual([404, 'not_found'])
    expect((await inviteMember(service, owner, person.email)).member.state).toBe('invited')
  })

  it('404: nobody accepts what was not offered to them', async () => {
    const person = await enrolWithPasskey(service, fresh())
    for (const id of [owner.accountId, `acc_${'0'.repeat(26)}`, 'x'])
      for (const path of [
        `invitations/${id}/accept`,
        `invitations/${id}/decline`,
        `memberships/${id}/leave`,
      ]) {
        const answer = await person.browser.post(`/api/v1/me/${path}`, { token: 'x'.repeat(43) })
        expect([answer.status, answer.body.error], path).toEqual([404, 'not_found'])
      }
    const self = await owner.browser.post(`/api/v1/me/memberships/${owner.accountId}/leave`, {})
    expect([self.status, self.body.error]).toEqual([404, 'not_found'])
  })
})
