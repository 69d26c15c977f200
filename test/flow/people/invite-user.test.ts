import { describe, expect, it } from 'vitest'
import { inviteFirstOwner, inviteUser, renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { codeAt, enrolWithTotp, expectStatus, linkToken } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { useService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const DAY = 86_400_000

describe('an invitation', () => {
  it('makes a person with an account of their own and a link of seven days', async () => {
    const { composition, url } = await useService()
    const { user, link } = await inviteUser(composition.deps, { email: ' Zoë@Example.org ' }, { kind: 'cli' })
    expect(user).toMatchObject({ email: 'zoë@example.org', name: 'zoë', enrolled_at: null, passkeys: [] })
    expect(user.approver).toMatch(/^[0-9a-f]{16}$/)
    expect(link.url).toMatch(new RegExp(`^${url}/enroll#[\\w-]{43}$`))
    const days = (link.expires_at.getTime() - composition.deps.clock.now().getTime()) / DAY
    expect(days).toBeCloseTo(7, 3)
    expect(await composition.deps.accounts.find(user.account_id)).toMatchObject({ owner_id: user.id })
    expect((await composition.deps.users.find(user.id))?.audit).toEqual([
      expect.objectContaining({ type: 'user.invited', actor: { kind: 'cli' }, subject: user.id }),
    ])
  })

  it('is refused for an address that is none, or taken in any spelling', async () => {
    const { composition } = await useService()
    await inviteUser(composition.deps, { email: 'ada@example.com' }, { kind: 'cli' })
    const again = inviteUser(composition.deps, { email: 'ADA@example.com ' }, { kind: 'cli' })
    await expect(again).rejects.toMatchObject({ code: 'email_taken', status: 409 })
    const none = inviteUser(composition.deps, { email: 'ada' }, { kind: 'cli' })
    await expect(none).rejects.toMatchObject({ code: 'invalid_field', details: { field: 'email' } })
  })

  it('can be renewed; the old link and all sessions die, and what is enrolled is added', async () => {
    const service = await useService()
    const { deps } = service.composition
    const person = await enrolWithTotp(service, 'lost@example.com')
    const first = await renewInvitation(deps, { email: 'lost@example.com' }, { kind: 'cli' })
    const { link } = await renewInvitation(deps, { email: 'lost@example.com' }, { kind: 'cli' })
    const browser = createHttpClient(service.url)
    const dead = await browser.post('/api/v1/enrollment/lookup', { token: linkToken(first.link.url) })
    expect([dead.status, dead.body.error]).toEqual([410, 'enrollment_invalid'])
    const token = linkToken(link.url)
    const asked = await browser.post('/api/v1/enrollment/passkey/options', { token })
    const credential = createSoftAuthenticator().register(asked.body.options, { origin: service.url })
    const body = { token, passkey_name: 'new key', credential }
    expect((await person.browser.get('/api/v1/session')).status).toBe(200)
    expectStatus(await browser.post('/api/v1/enrollment/passkey', body), 201)
    const user = await deps.users.find(person.userId)
    expect([user?.passkeys.length, user?.totp?.disabled_at]).toEqual([1, null])
    // Whoever made the recovery necessary may still sit in an old session.
    const former = await person.browser.get('/api/v1/session')
    expect([former.status, former.body.error]).toEqual([401, 'not_signed_in'])
    expect((await browser.get('/api/v1/session')).status).toBe(200)
    const unknown = renewInvitation(deps, { email: 'nobody@example.com' }, { kind: 'cli' })
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('the link of the first owner', () => {
  it('is made at start while nobody exists; a new one ends the old one', async () => {
    const service = await useService()
    const { deps } = service.composition
    const second = await inviteFirstOwner(deps)
    expect(second?.url).toMatch(new RegExp(`^${service.url}/setup#[\\w-]{43}$`))
    const browser = createHttpClient(service.url)
    const old = await browser.post('/api/v1/enrollment/lookup', { token: linkToken(service.setupUrl ?? '') })
    expect([old.status, old.body.error]).toEqual([410, 'enrollment_invalid'])
    const open = await browser.post('/api/v1/enrollment/lookup', { token: linkToken(second?.url ?? '') })
    expect(open.body).toMatchObject({ kind: 'setup', email: null, name: null })
    const hours = (new Date(open.body.expires_at).getTime() - deps.clock.now().getTime()) / 3_600_000
    expect(hours).toBeCloseTo(24, 1)
  })

  it('is not made once somebody exists', async () => {
    const { composition } = await useService()
    await inviteUser(composition.deps, { email: 'ada@example.com' }, { kind: 'cli' })
    expect(await inviteFirstOwner(composition.deps)).toBeUndefined()
  })

  it('asks for e-mail and name, and sets up an owner with codes', async () => {
    const service = await useService()
    const browser = createHttpClient(service.url)
    const token = linkToken(service.setupUrl ?? '')
    const path = '/api/v1/enrollment/totp/options'
    for (const [body, error] of [
      [{ token }, 'email required'],
      [{ token, email: 'ada@example.com' }, 'name required'],
      [{ token, email: 'ada', name: 'Ada' }, 'invalid_field'],
      [{ token, email: 'ada@example.com', name: ' ' }, 'invalid_field'],
    ] as const) {
      const answer = await browser.post(path, body)
      expect([answer.status, answer.body.error]).toEqual([400, error])
    }
    const { secret } = expectStatus(
      await browser.post(path, { token, email: 'ada@example.com', name: 'Ada', account_name: 'Engines' }),
      200,
    )
    const code = codeAt(secret, service.composition.deps.clock.now())
    const answer = await browser.post('/api/v1/enrollment/totp', { token, code })
    expect(answer.status).toBe(201)
    expect(answer.body.user).toMatchObject({ email: 'ada@example.com', name: 'Ada', has_totp: true })
    expect(answer.body.backup_codes).toHaveLength(10)
    expect((await browser.get('/api/v1/account')).body.name).toBe('Engines')
    expect(await service.composition.deps.users.list()).toHaveLength(1)
  })
})
