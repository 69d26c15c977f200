import { expect, it } from 'vitest'
import { nextFactorEpoch } from '../../../src/domain/user.ts'
import { assertWith, codeAt, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { useService } from '../../support/service.ts'

it('T23: a change of factors ends every other session of the person, by cookie and by token, and nobody else’s', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'person@example.com')
  const neighbour = await enrolWithPasskey(service, 'neighbour@example.com')
  const elsewhere = createHttpClient(service.url)
  const { options } = expectStatus(await elsewhere.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options)
  const { token } = expectStatus(await elsewhere.post('/api/v1/session/passkey', { credential }), 200)
  const byToken = async (): Promise<number> => {
    const headers = { Authorization: `Bearer ${token}` }
    return (await fetch(`${service.url}/api/v1/session`, { headers })).status
  }
  expect([(await elsewhere.get('/api/v1/session')).status, await byToken()]).toEqual([200, 200])

  const proof = await passkeyProof(person, service, 'totp.add')
  const { secret } = expectStatus(await person.browser.post('/api/v1/me/totp/options', { proof }), 200)
  const code = codeAt(secret, service.composition.deps.clock.now())
  expectStatus(await person.browser.post('/api/v1/me/totp', { code }), 201)

  expect((await elsewhere.get('/api/v1/session')).body).toMatchObject({ error: 'not_signed_in' })
  expect(await byToken()).toBe(401)
  expect((await person.browser.get('/api/v1/session')).status).toBe(200)
  expect((await neighbour.browser.get('/api/v1/session')).status).toBe(200)
})

it('T23: signing in with a factor while it is taken away leaves no session', async () => {
  const service = await useService()
  const { deps } = service.composition
  const person = await enrolWithPasskey(service, 'person@example.com')
  const elsewhere = createHttpClient(service.url)
  const { options } = expectStatus(await elsewhere.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options)
  const insert = deps.sessions.insert
  deps.sessions.insert = async (...session) => {
    // Proved, and not begun: now the passkey goes, and with it every session there is.
    deps.sessions.insert = insert
    const user = await deps.users.find(person.userId)
    if (user === undefined) throw new Error('the person is gone')
    await deps.users.change(person.userId, user.version, { passkeys: [], ...nextFactorEpoch(user) }, [])
    await deps.sessions.endAllOf(person.userId, deps.clock.now(), () => session[1])
    await insert(...session)
  }
  const answer = await elsewhere.post('/api/v1/session/passkey', { credential })
  expect([answer.status, answer.body.error]).toEqual([401, 'sign_in_failed'])
  expect(answer.headers.has('set-cookie')).toBe(false)
  expect(await deps.sessions.liveOf(person.userId, deps.clock.now(), 10)).toEqual([])
})
