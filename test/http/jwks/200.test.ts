import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseJwks } from '../../../src/signing/keys.ts'
import { decidedId, newCaller, send } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/.well-known/jwks.json'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

it('publishes a key of its own for live and for sandbox decisions, and nothing private', async () => {
  const answer = await send(service, PATH)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^application\/jwk-set\+json/)
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
  const keys = Array.from(Object(answer.body.keys), Object)
  for (const key of keys) {
    expect(key).toMatchObject({ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' })
    expect(key.x).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(key).not.toHaveProperty('d')
  }
  const purposes = keys.map((key) => key.purpose)
  expect(purposes).toEqual(expect.arrayContaining(['decision', 'decision-sandbox', 'token']))
  expect(purposes).not.toContain('session')
  expect(new Set(keys.map((key) => key.kid)).size).toBe(keys.length)
  // The name of a field: one public key in fourteen thousand spells the word.
  expect(answer.text).not.toMatch(/"[^"]*seed[^"]*":/i)
})

it('after a rotation the old key stays, and old receipts still verify', async () => {
  const caller = await newCaller(service, { sandbox: true })
  const old = await decidedId(service, caller)
  const { deps } = service.composition
  await deps.keys.rotate('decision-sandbox', deps.clock.now(), { kind: 'cli' })
  const keys = parseJwks((await send(service, PATH)).body)
  expect(keys.filter((key) => key.purpose === 'decision-sandbox')).toHaveLength(2)
  const fresh = await decidedId(service, caller)
  const answers = await Promise.all(
    [old, fresh].map(async (id) => (await send(service, `/api/v1/approvals/${id}/verify`)).body),
  )
  expect(answers).toMatchObject([{ valid: true }, { valid: true }])
  expect(answers[0]?.public_key_id).not.toBe(answers[1]?.public_key_id)
})

it('a key announced for later is published at once and signs nothing yet', async () => {
  const { deps } = service.composition
  const tomorrow = new Date(deps.clock.now().getTime() + 86_400_000)
  const next = await deps.keys.rotate('decision-sandbox', tomorrow, { kind: 'cli' })
  const caller = await newCaller(service, { sandbox: true })
  const { body } = await caller.read(await decidedId(service, caller))
  expect(Object(body.decision).public_key_id).not.toBe(next.kid)
  expect((await send(service, PATH)).text).toContain(next.kid)
})
