import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noticesIn } from '../../../src/domain/factor-notice.ts'
import { MAIL_SLOT, mailDeviceId } from '../../../src/domain/push.ts'
import { addInstallation } from '../../../src/flow/chat/connect-account.ts'
import { resetPerson } from '../../../src/flow/joining/invite-user.ts'
import { vouchFor } from '../../../src/flow/people/person.ts'
import { auditOf } from '../../support/audit.ts'
import { alter, stored } from '../../support/caller.ts'
import {
  assertWith,
  type EnrolledPerson,
  expectStatus,
  linkToken,
  passkeyProof,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import {
  acceptByLink,
  enrolByLink,
  inviteMember,
  makeAccount,
  newMember,
  newOwner,
} from '../../support/invited.ts'
import { ask, keyOf } from '../../support/live.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/members'
const DAY_MS = 86_400_000

let service: TestService
let ada: Awaited<ReturnType<typeof newOwner>>
let eve: Awaited<ReturnType<typeof newOwner>>
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  ada = await newOwner(service, 'ada@example.com')
  eve = await newOwner(service, 'eve@example.com')
})
afterAll(() => service.close())

const member = () => newMember(service, ada, `person-${++people}@example.com`)
const pathOf = ({ userId }: { userId: string }) => `${PATH}/${userId}/recovery`
const userOf = async ({ userId }: { userId: string }) => {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('nobody there')
  return user
}

async function offer(person: EnrolledPerson) {
  const proof = await passkeyProof(ada, service, 'member.recover', person.userId)
  return expectStatus(await ada.browser.post(pathOf(person), { proof }), 201).link
}

/** The day's notice is over. */
function open({ userId }: EnrolledPerson) {
  return alter(service, 'users', userId, { 'recovery.opens_at': new Date(Date.now() - 1_000) })
}

/** What looking a link up, and beginning to enrol by it, answer. */
async function tryLink(url: string) {
  const browser = createHttpClient(service.url)
  const body = { token: linkToken(url) }
  const look = await browser.post('/api/v1/enrollment/lookup', body)
  const begin = await browser.post('/api/v1/enrollment/passkey/options', body)
  return [look, begin].map(({ status, body }) => [status, body.error])
}
const VOID = [
  [410, 'enrollment_invalid'],
  [410, 'enrollment_invalid'],
]

async function signIn(person: EnrolledPerson) {
  const browser = createHttpClient(service.url)
  const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
  return browser.post('/api/v1/session/passkey', { credential: assertWith(person, service, options) })
}

const shown = async ({ userId }: EnrolledPerson) => {
  const { data } = expectStatus(await ada.browser.get(PATH), 200)
  return data.find((one: { user_id: string }) => one.user_id === userId)?.recovery
}
const ownView = async ({ browser }: EnrolledPerson) =>
  expectStatus(await browser.get('/api/v1/session'), 200).recovery

describe('T93: a member who lost a device', () => {
  it('is told at once; a day later the owner’s link enrols them, and nothing of before works any more', async () => {
    const dee = await member()
    const before = Date.now()
    const link = await offer(dee)
    const [opens, expires] = [link.opens_at, link.expires_at].map((time) => Date.parse(time) - before)
    expect([Math.round((opens ?? 0) / DAY_MS), Math.round((expires ?? 0) / DAY_MS)]).toEqual([1, 7])
    expect(opens).toBeGreaterThanOrEqual(DAY_MS - 1)
    const times = { opens_at: link.opens_at, expires_at: link.expires_at }
    expect(await ownView(dee)).toEqual({ account_name: 'ada', ...times })
    expect(await shown(dee)).toEqual({ ...times, refused: false })
    expect(await tryLink(link.url)).toEqual([
      [200, undefined],
      [409, 'enrollment_early'],
    ])
    const again = await offer(dee)
    expect(again).toEqual({ ...times, url: expect.not.stringContaining(link.url) })
    expect(await tryLink(link.url)).toEqual(VOID)
    const told = noticesIn((await userOf(dee)).audit).filter(({ notice }) => notice.by_other)
    expect(told).toMatchObject([{ user_id: dee.userId, notice: { type: 'member.recovery_offered' } }])
    // A code can be tried as little as a passkey: the day holds at every step.
    const early = createHttpClient(service.url)
    const step = await early.post('/api/v1/enrollment/totp/options', { token: linkToken(again.url) })
    expect([step.status, step.body.error]).toEqual([409, 'enrollment_early'])
    expect(step.body.message).toMatch(/^This link does not work yet\. It works from .* UTC on\.$/)

    const place = {
      user_id: dee.userId,
      account_id: 'acc_x',
      state: 'active',
      name: '',
      host: 'x',
      audit: [],
    }
    const places = stored(service, 'push_devices')
    await places.insertMany([
      { ...place, _id: 'psd_browser', slot: 0, created_at: new Date(), last_sent_at: null },
      {
        ...place,
        _id: mailDeviceId(dee.userId),
        kind: 'mail',
        slot: MAIL_SLOT,
        created_at: new Date(),
        last_sent_at: null,
      },
    ])
    await open(dee)
    const anew = await enrolByLink(service, again.url)
    expect(anew.userId).toBe(dee.userId)
    const { passkeys, devices, recovery, invited_by_account } = await userOf(dee)
    expect([passkeys.length, devices.length, recovery, invited_by_account]).toEqual([
      1,
      1,
      undefined,
      ada.accountId,
    ])
    // Their address goes on telling them, should it not have been they.
    const still = await places.find({ user_id: dee.userId, state: 'active' }).toArray()
    expect(still.map(({ kind }) => kind)).toEqual(['mail'])
    expect((await dee.browser.get('/api/v1/session')).status).toBe(401)
    expect((await signIn(dee)).status).toBe(401)
    expect((await signIn(anew)).status).toBe(200)
    expect((await ownView(anew)) ?? (await shown(dee))).toBeUndefined()
    expect(await tryLink(again.url)).toEqual(VOID)
    const entries = (await auditOf(service, { subject: dee.userId })).filter(({ type }) =>
      /recover/.test(type),
    )
    expect(
      entries.map(({ type, actor, account_id }) => [type, 'id' in actor && actor.id, account_id]),
    ).toEqual([
      ['member.recovery_offered', ada.userId, ada.accountId],
      ['member.recovery_offered', ada.userId, ada.accountId],
      ['member.recovered', dee.userId, ada.accountId],
    ])
  })

  it('and lost nothing, refuses with one press and no proof; the owner cannot ask again for a week', async () => {
    const dee = await member()
    const link = await offer(dee)
    for (const _twice of [1, 2]) expectStatus(await dee.browser.post('/api/v1/me/recovery/refuse', {}), 200)
    expect(await tryLink(link.url)).toEqual(VOID)
    await open(dee)
    expect(await tryLink(link.url)).toEqual(VOID)
    expect(await ownView(dee)).toBeUndefined()
    expect(await shown(dee)).toMatchObject({ refused: true })
    const asked = await ada.browser.post(pathOf(dee), {})
    expect([asked.status, asked.body.error]).toEqual([409, 'recovery_declined'])
    const cancel = await ada.browser.post(`${pathOf(dee)}/cancel`, {})
    expect([cancel.status, cancel.body.error]).toEqual([404, 'not_found'])
    await alter(service, 'users', dee.userId, { 'recovery.expires_at': new Date(Date.now() - 1_000) })
    expect(await shown(dee)).toBeUndefined()
    await offer(dee)
    const ended = (await userOf(dee)).audit.filter(({ type }) => type === 'member.recovery_ended')
    expect(ended).toMatchObject([{ actor: { kind: 'user', id: dee.userId } }])
  })

  it('gets no link once the owner cancels, the week is over, or their factors changed', async () => {
    const endings: [string, (person: EnrolledPerson) => Promise<unknown>][] = [
      ['cancelled', async (one) => expectStatus(await ada.browser.post(`${pathOf(one)}/cancel`, {}), 200)],
      ['expired', (one) => alter(service, 'users', one.userId, { 'recovery.expires_at': new Date() })],
      [
        'factors changed',
        async (one) => {
          const user = await userOf(one)
          await service.composition.deps.users.change(user.id, user.version, { factor_epoch: 9 }, [])
        },
      ],
      ['reset', ({ email }) => resetPerson(service.composition.deps, { email }, { kind: 'cli' })],
      [
        'removed',
        async ({ userId }) => {
          const proof = await passkeyProof(ada, service, 'member.change', userId)
          expectStatus(await ada.browser.post(`${PATH}/${userId}/remove`, { proof }), 200)
        },
      ],
      ['restored', () => service.composition.deps.restores.endLinks()],
    ]
    for (const [name, end] of endings) {
      const dee = await member()
      const { url } = await offer(dee)
      await open(dee)
      await end(dee)
      expect(await tryLink(url), name).toEqual(VOID)
      expect(await shown(dee), name).toBeUndefined()
    }
    const left = await stored(service, 'users').findOne({ 'recovery.opens_at': { $exists: true } })
    expect(left).toBeNull()
  })
})

describe('T93: an owner takes over nobody who is somebody elsewhere', () => {
  const deps = () => service.composition.deps
  const cases: [string, (person: EnrolledPerson) => Promise<unknown>][] = [
    ['the operator confirmed them', ({ email }) => vouchFor(deps(), email, { kind: 'cli' })],
    [
      'they are a member elsewhere',
      async (one) => {
        const { link } = await inviteMember(service, eve, one.email)
        expectStatus(await acceptByLink(one, eve.accountId, link.url), 200)
      },
    ],
    ['they have an API key', async (one) => addKey(service, await userOf(one))],
    [
      'they invited somebody',
      async (one) => {
        await makeAccount(one)
        await inviteMember(service, one, `guest-${people}@example.com`)
      },
    ],
    [
      'their own account has a webhook',
      async (one) => {
        await makeAccount(one)
        const url = 'https://example.com/hook'
        expectStatus(await one.browser.post('/api/v1/account/webhooks', { url }), 201)
      },
    ],
    [
      'their own account has a channel',
      async (one) => {
        await makeAccount(one)
        const channels = [{ platform: 'slack', tenant: 'T1', channel: 'C1', workspace: 'Dee & Co' }]
        await alter(service, 'accounts', (await userOf(one)).account_id, { channels })
      },
    ],
    [
      'their own account has a workspace',
      async (one) => {
        const fresh = { platform: 'slack', tenant: 'T2', workspace_name: 'Dee & Co', sealed: 'x' } as const
        const person = await userOf(one)
        const actor = { kind: 'user', id: person.id } as const
        await addInstallation(deps(), { accountId: person.account_id, actor }, fresh, person)
      },
    ],
    [
      'a request of an account they left still names them',
      async (one) => {
        const id = await ask({ service, key: await keyOf(service, eve.userId) })
        const { requirement } = Object(await stored(service, 'requests').findOne({ _id: id }))
        const [first] = requirement.approvers
        const approvers = [first, { ...first, user_id: one.userId }]
        await alter(service, 'requests', id, { 'requirement.approvers': approvers })
      },
    ],
  ]

  it.each(cases)('%s', async (_name, happens) => {
    const dee = await member()
    const { url } = await offer(dee)
    await open(dee)
    await happens(dee)
    expect(await tryLink(url)).toEqual(VOID)
    const asked = await ada.browser.post(pathOf(dee), {})
    expect([asked.status, asked.body.error]).toEqual([409, 'recovery_refused'])
  })

  it('nor anybody whom another account made, invited people, strangers, or themself', async () => {
    const theirs = await newMember(service, eve, 'theirs@example.com')
    const { link } = await inviteMember(service, ada, theirs.email)
    const path = pathOf(theirs)
    expect((await ada.browser.post(path, {})).body.error).toBe('not_found')
    expectStatus(await acceptByLink(theirs, ada.accountId, link.url), 200)
    expect((await ada.browser.post(path, {})).body.error).toBe('recovery_refused')
    for (const nobody of [eve, ada, { userId: '%7B%22%24ne%22%3A1%7D' }])
      for (const end of ['', '/cancel']) {
        const { status, body } = await ada.browser.post(`${pathOf(nobody)}${end}`, {})
        expect([status, body.error]).toEqual([404, 'not_found'])
      }
    const none = await eve.browser.post('/api/v1/me/recovery/refuse', {})
    expect([none.status, none.body.error]).toEqual([404, 'not_found'])
  })

  it('without a fresh proof for this very person; and one link enrols once', async () => {
    const dee = await member()
    const none = await ada.browser.post(pathOf(dee), {})
    expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
    const proof = await passkeyProof(ada, service, 'member.change', dee.userId)
    const wrong = await ada.browser.post(pathOf(dee), { proof })
    expect([wrong.status, wrong.body.error]).toEqual([400, 'challenge_invalid'])
    const { url } = await offer(dee)
    await open(dee)
    const both = await Promise.allSettled([enrolByLink(service, url), enrolByLink(service, url)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await userOf(dee)).passkeys).toHaveLength(1)
  })
})
