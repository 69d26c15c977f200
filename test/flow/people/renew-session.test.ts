import { expect, it } from 'vitest'
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
