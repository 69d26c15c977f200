import { expect, it } from 'vitest'
import { renewInvitation, resetPerson } from '../../../src/flow/joining/invite-user.ts'
import { auditOf } from '../../support/audit.ts'
import { setDelegate } from '../../support/batches.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  linkToken,
  passkeyProof,
} from '../../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../../support/http-client.ts'
import { startPushService } from '../../support/push-service.ts'
import { type TestService, useService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

type Act = (service: TestService, person: EnrolledPerson) => Promise<{ status: number }>

/** Every change of factors; with what must be there before. */
const CHANGES: Record<string, { before?: Act; change: Act }> = {
  'codes are added': { change: addCodes },
  'codes are removed': {
    before: addCodes,
    change: async (service, person) => {
      const proof = await passkeyProof(person, service, 'totp.remove')
      return person.browser.post('/api/v1/me/totp/remove', { proof })
    },
  },
  'backup codes are renewed': {
    before: addCodes,
    change: async (service, person) => {
      const proof = await passkeyProof(person, service, 'backup_codes.renew')
      return person.browser.post('/api/v1/me/backup-codes', { proof })
    },
  },
  'a passkey is added': { change: addPasskey },
  'a passkey is removed': {
    before: addPasskey,
    change: async (service, person) => {
      const { passkeys } = expectStatus(await person.browser.get('/api/v1/me/factors'), 200)
      const { id } = passkeys.find(({ name }: { name: string }) => name === 'phone')
      const proof = await passkeyProof(person, service, 'passkey.remove', id)
      return person.browser.post(`/api/v1/me/passkeys/${id}/remove`, { proof })
    },
  },
  'a new link of the operator is used': {
    change: async (service, { email }) => {
      const { link } = await renewInvitation(service.composition.deps, { email }, { kind: 'cli' })
      const [token, browser] = [linkToken(link.url), createHttpClient(service.url)]
      const asked = await browser.post('/api/v1/enrollment/passkey/options', { token })
      const { options } = expectStatus(asked, 200)
      const credential = createSoftAuthenticator().register(options, { origin: service.url })
      return browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'new', credential })
    },
  },
}

it.each(Object.entries(CHANGES))(
  'T23: when %s, sessions begun before are worth nothing even if the service stops before it ended them',
  async (_what, { before, change }) => {
    const service = await useService()
    const person = await enrolWithPasskey(service, 'person@example.com')
    const elsewhere = createHttpClient(service.url)
    const signIn = async (browser: HttpClient) => {
      const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
      const credential = assertWith(person, service, options)
      return expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
    }
    await before?.(service, person)
    const { token } = await signIn(elsewhere)
    const { sessions } = service.composition.deps
    const { endAllOf } = sessions
    sessions.endAllOf = () => Promise.reject(new Error('the service stops'))
    expect((await change(service, person)).status).toBe(500)
    sessions.endAllOf = endAllOf
    const headers = { Authorization: `Bearer ${token}` }
    expect((await fetch(`${service.url}/api/v1/session`, { headers })).status).toBe(401)
    for (const browser of [elsewhere, person.browser])
      expect((await browser.get('/api/v1/session')).body).toMatchObject({ error: 'not_signed_in' })
    await signIn(elsewhere)
    expect((await elsewhere.get('/api/v1/session')).status).toBe(200)
  },
)

it.each([
  ['a passkey is added', 401],
  ['codes are added', 409],
  ['a new link of the operator is used', 410],
])(
  'T23: when %s while the operator resets the person, they have no factor afterwards',
  async (what, status) => {
    const service = await useService()
    const person = await enrolWithPasskey(service, 'person@example.com')
    const { deps } = service.composition
    const { users } = deps
    const { change } = users
    let met = 0
    users.change = async (id, version, fields, audit) => {
      // The request has checked everything, and is about to write.
      if ('factor_epoch' in fields && met === 0) {
        met += 1
        await resetPerson(deps, { email: person.email }, { kind: 'cli' })
      }
      return change(id, version, fields, audit)
    }
    const answer = await CHANGES[what]?.change(service, person)
    users.change = change
    expect([met, answer?.status]).toEqual([1, status])
    const left = await users.findByEmail(person.email)
    expect([left?.passkeys, left?.totp, left?.devices]).toEqual([[], undefined, []])
  },
)

it('T23: a reset that is cut short after its write leaves nobody who stands in for the person', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'person@example.com')
  const other = await enrolWithPasskey(service, 'other@example.com')
  await setDelegate(service, person.userId, other.userId)
  const { deps } = service.composition
  const sessions = { ...deps.sessions, endAllOf: () => Promise.reject(new Error('the service stops')) }
  const reset = resetPerson({ ...deps, sessions }, { email: person.email }, { kind: 'cli' })
  await expect(reset).rejects.toThrow('the service stops')
  expect(await deps.users.principalsOf(other.userId, deps.clock.now())).toEqual([])
  const [entry] = await auditOf(service, { type: 'delegate.removed', subject: person.userId })
  expect(entry).toMatchObject({ actor: { kind: 'cli' }, detail: { delegate: other.userId } })
})

it('T23: a browser that is registered for notifications while the person is reset gets none', async () => {
  const push = await startPushService()
  const service = await useService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  const person = await enrolWithPasskey(service, 'person@example.com')
  const { deps } = service.composition
  const { put } = deps.pushDevices
  deps.pushDevices.put = async (...device) => {
    await resetPerson(deps, { email: person.email }, { kind: 'cli' })
    return put(...device)
  }
  const { public_key } = expectStatus(await person.browser.get('/api/v1/me/push'), 200)
  const { subscription } = await push.subscribe(public_key)
  const answer = await person.browser
    .post('/api/v1/me/push', { subscription, name: 'laptop' })
    .finally(() => push.close())
  expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
  expect(await deps.pushDevices.activeOf([person.userId])).toEqual([])
})

async function addCodes(service: TestService, person: EnrolledPerson) {
  const proof = await passkeyProof(person, service, 'totp.add')
  const { secret } = expectStatus(await person.browser.post('/api/v1/me/totp/options', { proof }), 200)
  const code = codeAt(secret, service.composition.deps.clock.now())
  return person.browser.post('/api/v1/me/totp', { code })
}

async function addPasskey(service: TestService, person: EnrolledPerson) {
  const proof = await passkeyProof(person, service, 'passkey.add')
  const { options } = expectStatus(await person.browser.post('/api/v1/me/passkeys/options', { proof }), 200)
  const credential = createSoftAuthenticator().register(options, { origin: service.url })
  return person.browser.post('/api/v1/me/passkeys', { name: 'phone', credential })
}
