import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finishEnrollment, openForEnrolling } from '../../../src/flow/joining/enroll.ts'
import { inviteMemberByOperator } from '../../../src/flow/joining/invite-member.ts'
import { inviteUser, renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { enrolWithPasskey, expectStatus, linkToken, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { acceptByLink, enrolByLink, inviteMember, newOwner } from '../../support/invited.ts'
import { startService, type TestService } from '../../support/service.ts'

const ENROL = ['passkey/options', 'passkey', 'totp/options', 'totp'] as const

let service: TestService
let ada: Awaited<ReturnType<typeof newOwner>>
let eve: Awaited<ReturnType<typeof newOwner>>
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  ada = await newOwner(service, 'ada@example.com')
  eve = await newOwner(service, 'eve@example.com')
})
afterAll(() => service.close())

function lookUp(url: string) {
  return createHttpClient(service.url).post('/api/v1/enrollment/lookup', { token: linkToken(url) })
}

/** Tries every step of enrolling by a link, with and without codes. @returns what each answered */
async function tryEnrolling(url: string) {
  const token = linkToken(url)
  const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key' }
  const response = { clientDataJSON: 'AAAA', attestationObject: 'AAAA' }
  const body = { token, code: '123456', passkey_name: 'mine', credential: { ...credential, response } }
  const browser = createHttpClient(service.url)
  const answers = []
  for (const step of ENROL) answers.push(await browser.post(`/api/v1/enrollment/${step}`, body))
  return answers.map((answer) => [answer.status, answer.body.error])
}

const REFUSED = ENROL.map(() => [410, 'enrollment_invalid'])

const userOf = (email: string) => service.composition.deps.users.findByEmail(email)

describe('an invitation by an owner', () => {
  it('of an address nobody has makes the person, whose link enrols them and is the acceptance', async () => {
    const { member, link } = await inviteMember(service, ada, 'New@Example.com', 'auditor')
    expect(member).toMatchObject({ email: 'new@example.com', name: 'new', role: 'auditor', state: 'invited' })
    const looked = expectStatus(await lookUp(link.url), 200)
    expect(looked).toEqual({
      kind: 'invite',
      email: 'new@example.com',
      name: 'new',
      expires_at: link.expires_at,
      account_id: ada.accountId,
      account_name: 'ada',
      role: 'auditor',
      enrolled: false,
    })
    const person = await enrolByLink(service, link.url)
    const session = expectStatus(await person.browser.get('/api/v1/session'), 200)
    expect(session.accounts).toEqual([{ id: ada.accountId, name: 'ada', role: 'auditor', own: false }])
    expect(session.invitations).toEqual([])
    expect((await lookUp(link.url)).status).toBe(410)
  })

  it('answers alike whether the address is known or not, and tells nothing of whoever has it', async () => {
    const carol = await enrolWithPasskey(service, 'carol@example.com')
    await carol.browser.patch('/api/v1/me', { name: 'Caroline the Known' })
    const known = await inviteMember(service, ada, 'carol@example.com')
    const unknown = await inviteMember(service, ada, 'nobody-yet@example.com')
    expect(known).toEqual({
      member: {
        ...unknown.member,
        user_id: expect.stringMatching(/^usr_/),
        email: 'carol@example.com',
        name: 'carol',
        invited_at: expect.any(String),
      },
      link: { url: expect.stringMatching(/\/enroll#[\w-]{43}$/), expires_at: expect.any(String) },
    })
    expect(known.member).toMatchObject({ approver: null, has_passkey: false, has_totp: false })
    const looked = expectStatus(await lookUp(known.link.url), 200)
    expect(looked).toMatchObject({ name: 'carol', enrolled: true })
    expect(JSON.stringify([known, looked])).not.toContain('Caroline')
  })

  it('T34: gives no factor to somebody who is enrolled; they sign in and accept', async () => {
    const dan = await enrolWithPasskey(service, 'dan@example.com')
    const { link } = await inviteMember(service, eve, 'dan@example.com')
    expect(await tryEnrolling(link.url)).toEqual(REFUSED)
    expect((await userOf('dan@example.com'))?.passkeys).toHaveLength(1)
    const accept = await acceptByLink(dan, eve.accountId, link.url)
    expect([accept.status, accept.body]).toEqual([200, { ok: true }])
    expect((await lookUp(link.url)).status).toBe(410)
  })

  it('is accepted with that account’s own link alone: whoever took the address first does not get what another is offered', async () => {
    const { link: theirs } = await inviteMember(service, eve, 'early@example.com')
    const early = await enrolByLink(service, theirs.url)
    const { link } = await inviteMember(service, ada, 'early@example.com', 'auditor')
    for (const url of [theirs.url, `${service.url}/enroll#${'x'.repeat(43)}`]) {
      const answer = await acceptByLink(early, ada.accountId, url)
      expect([answer.status, answer.body.error]).toEqual([410, 'enrollment_invalid'])
    }
    const bare = await early.browser.post(`/api/v1/me/invitations/${ada.accountId}/accept`, {})
    expect([bare.status, bare.body.error]).toEqual([400, 'token required'])
    const seen = await early.browser.get(`/api/v1/account?account=${ada.accountId}`)
    expect([seen.status, seen.body.error]).toEqual([404, 'not_found'])
    expect((await acceptByLink(early, ada.accountId, link.url)).status).toBe(200)
  })

  it('T34: gives no factor to whom another account has invited first, whoever enrols first', async () => {
    const first = await inviteMember(service, ada, 'bob@example.com')
    const second = await inviteMember(service, eve, 'bob@example.com')
    expect(expectStatus(await lookUp(second.link.url), 200)).toMatchObject({ enrolled: true })
    expect(await tryEnrolling(second.link.url)).toEqual(REFUSED)
    const proof = await passkeyProof(eve, service, 'member.invite', second.member.user_id)
    const path = `/api/v1/account/members/${second.member.user_id}/link`
    const renewed = expectStatus(await eve.browser.post(path, { proof }), 201)
    expect(await tryEnrolling(renewed.link.url)).toEqual(REFUSED)
    const untouched = await userOf('bob@example.com')
    expect([untouched?.enrolled_at, untouched?.passkeys, untouched?.totp]).toEqual([null, [], undefined])
    const bob = await enrolByLink(service, first.link.url)
    expect(await tryEnrolling(renewed.link.url)).toEqual(REFUSED)
    const session = expectStatus(await bob.browser.get('/api/v1/session'), 200)
    expect(session.accounts.map((one: { id: string }) => one.id)).toEqual([ada.accountId])
    expect(session.invitations).toMatchObject([{ account_id: eve.accountId, role: 'approver' }])
  })

  it('T34: gives no factor to whom the operator has invited, for an account of their own or another', async () => {
    const { deps } = service.composition
    const own = await inviteUser(deps, { email: 'own@example.com' }, { kind: 'cli' })
    const { link } = await inviteMember(service, eve, 'own@example.com')
    expect(await tryEnrolling(link.url)).toEqual(REFUSED)
    expect(expectStatus(await lookUp(own.link.url), 200)).toMatchObject({ enrolled: false })
    const joining = { email: 'word@example.com', role: 'approver' } as const
    const invited = await inviteMemberByOperator(deps, eve.accountId, joining)
    const proof = await passkeyProof(eve, service, 'member.invite', invited.user.id)
    const path = `/api/v1/account/members/${invited.user.id}/link`
    const renewed = expectStatus(await eve.browser.post(path, { proof }), 201)
    expect(await tryEnrolling(renewed.link.url)).toEqual(REFUSED)
    // The operator's own link is none the worse for it.
    const person = await enrolByLink(service, invited.link.url)
    const session = expectStatus(await person.browser.get('/api/v1/session'), 200)
    expect(session.accounts[0]).toMatchObject({ id: eve.accountId, role: 'approver' })
  })

  it('T34: that was begun before the person enrolled elsewhere cannot be finished after', async () => {
    const { link, member } = await inviteMember(service, eve, 'race@example.com')
    const browser = createHttpClient(service.url)
    const token = linkToken(link.url)
    const begun = expectStatus(await browser.post('/api/v1/enrollment/totp/options', { token }), 200)
    expect(begun.secret).toEqual(expect.any(String))
    const operators = await renewInvitation(
      service.composition.deps,
      { email: 'race@example.com' },
      { kind: 'cli' },
    )
    await enrolByLink(service, operators.link.url)
    expect(await tryEnrolling(link.url)).toEqual(REFUSED)
    const user = await userOf('race@example.com')
    expect([user?.id, user?.passkeys.length, user?.totp]).toEqual([member.user_id, 1, undefined])
  })

  it('T34: that was let through a moment before the person enrolled by another link writes nothing', async () => {
    const { deps } = service.composition
    const { link } = await inviteMember(service, ada, 'moment@example.com')
    const open = await openForEnrolling(deps, linkToken(link.url))
    const joining = { email: 'moment@example.com', role: 'auditor' } as const
    const other = await inviteMemberByOperator(deps, eve.accountId, joining)
    await enrolByLink(service, other.link.url)
    const factor = { method: 'passkey' as const, by: 'none', change: () => ({ passkeys: [] }) }
    const client = { address: '127.0.0.1', user_agent: 'test' }
    const late = finishEnrollment(deps, open, undefined, factor, client)
    await expect(late).rejects.toMatchObject({ code: 'enrollment_invalid', status: 410 })
    expect((await userOf('moment@example.com'))?.passkeys).toHaveLength(1)
  })

  it('that is taken back ends its link', async () => {
    const { link, member } = await inviteMember(service, ada, 'gone@example.com')
    const proof = await passkeyProof(ada, service, 'member.change', member.user_id)
    const path = `/api/v1/account/members/${member.user_id}/remove`
    expectStatus(await ada.browser.post(path, { proof }), 200)
    expect(await tryEnrolling(link.url)).toEqual(REFUSED)
    expect((await lookUp(link.url)).body.error).toBe('enrollment_invalid')
    // Invited again by the same owner they may still enrol: nobody else has made them.
    const again = await inviteMember(service, ada, 'gone@example.com')
    expect(again.member.user_id).toBe(member.user_id)
    expect((await enrolByLink(service, again.link.url)).userId).toBe(member.user_id)
  })
})
