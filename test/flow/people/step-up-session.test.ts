import { expect, it } from 'vitest'
import { assertWith, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { useService } from '../../support/service.ts'

it('T34: a confirmation asked for in one session counts in no other session of the same person', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'person@example.com')
  const elsewhere = createHttpClient(service.url)
  const { options } = expectStatus(await elsewhere.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options)
  expectStatus(await elsewhere.post('/api/v1/session/passkey', { credential }), 200)

  const proof = await passkeyProof(person, service, 'totp.add')
  const stolen = await elsewhere.post('/api/v1/me/totp/options', { proof })
  expect([stolen.status, stolen.body.error]).toEqual([400, 'challenge_invalid'])
  const own = await passkeyProof({ ...person, browser: elsewhere }, service, 'totp.add')
  expect((await elsewhere.post('/api/v1/me/totp/options', { proof: own })).status).toBe(200)
})
