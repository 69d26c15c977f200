import { beforeAll, describe, expect, it } from 'vitest'
import {
  assertWith,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  passkeyProof,
} from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'
import { createSoftAuthenticator, type SoftAuthenticator } from '../../support/soft-authenticator.ts'

const PROOF_REQUIRED = { error: 'proof_required', message: 'Confirm with a passkey or a code first.' }
const CHALLENGE_INVALID = {
  error: 'challenge_invalid',
  message: 'This confirmation has expired, was already used or belongs to something else; start again.',
}
const REFUSED = {
  error: 'passkey_refused',
  message: 'The passkey could not be verified; nothing was recorded. Try again.',
}
const LAST_FACTOR = {
  error: 'last_factor',
  message: 'This is your last factor; add another one first.',
}

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  return () => service.close()
})

function enrol(): Promise<EnrolledPerson> {
  people += 1
  return enrolWithPasskey(service, `person${people}@example.com`)
}

/** Adds a passkey by all the steps. @returns the second authenticator and the passkey's id */
async function addSecond(person: EnrolledPerson): Promise<{ second: SoftAuthenticator; id: string }> {
  const proof = await passkeyProof(person, service, 'passkey.add')
  const { options } = (await person.browser.post('/api/v1/me/passkeys/options', { proof })).body
  const second = createSoftAuthenticator()
  const credential = second.register(options, { origin: service.url })
  const answer = await person.browser.post('/api/v1/me/passkeys', { name: 'phone', credential })
  expect(answer.status).toBe(201)
  return { second, id: answer.body.passkey.id }
}

async function factorsOf(person: EnrolledPerson) {
  return (await person.browser.get('/api/v1/me/factors')).body
}

describe('adding a passkey', () => {
  it('takes a fresh proof and a registration; it shows up and signs in', async () => {
    const person = await enrol()
    const hasTwo = async () => (await person.browser.get('/api/v1/me/next-steps')).body.second_passkey
    expect(await hasTwo()).toBe(false)
    const { second, id } = await addSecond(person)
    expect(await hasTwo()).toBe(true)
    expect(await factorsOf(person)).toEqual({
      passkeys: [
        expect.objectContaining({ name: 'laptop', last_used_at: expect.any(String) }),
        {
          id,
          name: 'phone',
          created_at: expect.any(String),
          last_used_at: null,
          synced: false,
          suspended: false,
          suspended_at: null,
          device_bound: true,
          aaguid: '00000000-0000-0000-0000-000000000000',
        },
      ],
      totp: { enabled: false, since: null },
      backup_codes_left: 0,
    })
    const { options } = (await person.browser.post('/api/v1/session/passkey/options', {})).body
    const credential = second.authenticate(options, { origin: service.url })
    expect((await person.browser.post('/api/v1/session/passkey', { credential })).status).toBe(200)
    const user = await service.composition.deps.users.find(person.userId)
    expect(user?.audit.map((entry) => entry.type)).toContain('factor.passkey_added')
  })

  it('T34: is refused with a session alone', async () => {
    const person = await enrol()
    for (const body of [{}, { proof: undefined }]) {
      const answer = await person.browser.post('/api/v1/me/passkeys/options', body)
      expect([answer.status, answer.body]).toEqual([403, PROOF_REQUIRED])
    }
    const both = await person.browser.post('/api/v1/me/passkeys/options', { proof: {} })
    expect([both.status, both.body.error, both.body.detail]).toEqual([
      400,
      'invalid_field',
      'must hold exactly one of passkey and totp',
    ])
    const { options } = (await person.browser.post('/api/v1/session/passkey/options', {})).body
    const forged = { rp: { id: 'localhost', name: '' }, user: { id: 'AAAA', name: '', displayName: '' } }
    const creation = { ...forged, challenge: options.challenge, pubKeyCredParams: [] }
    const credential = createSoftAuthenticator().register(creation, { origin: service.url })
    const answer = await person.browser.post('/api/v1/me/passkeys', { name: 'x', credential })
    expect([answer.status, answer.body]).toEqual([400, CHALLENGE_INVALID])
    expect((await factorsOf(person)).passkeys).toHaveLength(1)
  })

  it('T34: a proof counts once, for its operation, person and session only', async () => {
    const person = await enrol()
    const proof = await passkeyProof(person, service, 'passkey.add')
    expect((await person.browser.post('/api/v1/me/passkeys/options', { proof })).status).toBe(200)
    const twice = await person.browser.post('/api/v1/me/passkeys/options', { proof })
    expect([twice.status, twice.body]).toEqual([400, CHALLENGE_INVALID])
    const forCodes = await passkeyProof(person, service, 'totp.add')
    const wrong = await person.browser.post('/api/v1/me/passkeys/options', { proof: forCodes })
    expect([wrong.status, wrong.body]).toEqual([400, CHALLENGE_INVALID])
    const other = await enrol()
    const foreign = await passkeyProof(other, service, 'passkey.add')
    const stolen = await person.browser.post('/api/v1/me/passkeys/options', { proof: foreign })
    expect([stolen.status, stolen.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('T20: the passkey of another person proves nothing, even under the own challenge', async () => {
    const person = await enrol()
    const other = await enrol()
    const { options } = (
      await person.browser.post('/api/v1/me/step-up/options', { operation: 'passkey.add' })
    ).body
    const credential = other.authenticator.credentials[0]
    if (credential === undefined) throw new Error('no credential')
    const proof = { passkey: assertWith(other, service, options, { credential }) }
    const answer = await person.browser.post('/api/v1/me/passkeys/options', { proof })
    expect([answer.status, answer.body]).toEqual([403, REFUSED])
  })

  it('T23: renews the session and ends all others', async () => {
    const person = await enrol()
    const elsewhere = person.browser.copy()
    const token = { headers: { Authorization: `Bearer ${person.token}` } }
    expect((await elsewhere.get('/api/v1/session')).status).toBe(200)
    await addSecond(person)
    expect((await person.browser.get('/api/v1/session')).status).toBe(200)
    expect((await elsewhere.get('/api/v1/session')).status).toBe(401)
    expect((await elsewhere.get('/api/v1/session', token)).status).toBe(401)
  })
})

describe('removing a passkey', () => {
  it('takes a proof by another passkey', async () => {
    const person = await enrol()
    const { second, id } = await addSecond(person)
    const [first] = (await factorsOf(person)).passkeys
    const bySecond = { ...person, authenticator: second }
    const proof = await passkeyProof(bySecond, service, 'passkey.remove', first.id)
    const answer = await person.browser.post(`/api/v1/me/passkeys/${first.id}/remove`, { proof })
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    expect((await factorsOf(person)).passkeys.map((passkey: { id: string }) => passkey.id)).toEqual([id])
  })

  it('T34: offers and accepts no proof by the passkey itself', async () => {
    const person = await enrol()
    const { id } = await addSecond(person)
    const [first] = (await factorsOf(person)).passkeys
    const asked = await person.browser.post('/api/v1/me/step-up/options', {
      operation: 'passkey.remove',
      target: first.id,
    })
    expect(asked.body.options.allowCredentials).toHaveLength(1)
    const credential = person.authenticator.credentials[0]
    if (credential === undefined) throw new Error('no credential')
    const proof = { passkey: assertWith(person, service, asked.body.options, { credential }) }
    const answer = await person.browser.post(`/api/v1/me/passkeys/${first.id}/remove`, { proof })
    expect([answer.status, answer.body]).toEqual([403, REFUSED])
    const other = await passkeyProof(person, service, 'passkey.remove', id)
    const swapped = await person.browser.post(`/api/v1/me/passkeys/${first.id}/remove`, { proof: other })
    expect([swapped.status, swapped.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('never takes the last factor, nor an unknown or foreign passkey', async () => {
    const person = await enrol()
    const [only] = (await factorsOf(person)).passkeys
    const target = { operation: 'passkey.remove', target: only.id }
    const asked = await person.browser.post('/api/v1/me/step-up/options', target)
    expect([asked.status, asked.body]).toEqual([409, LAST_FACTOR])
    const last = await person.browser.post(`/api/v1/me/passkeys/${only.id}/remove`, {})
    expect([last.status, last.body]).toEqual([409, LAST_FACTOR])
    const other = await enrol()
    for (const id of ['pky_00000000000000000000000000', (await factorsOf(other)).passkeys[0].id]) {
      const unknown = await person.browser.post(`/api/v1/me/passkeys/${id}/remove`, {})
      expect([unknown.status, unknown.body.error]).toEqual([404, 'not_found'])
    }
  })

  it('two at once never take the last two', async () => {
    const person = await enrol()
    const { second, id } = await addSecond(person)
    const [first] = (await factorsOf(person)).passkeys
    const proofs = [
      await passkeyProof({ ...person, authenticator: second }, service, 'passkey.remove', first.id),
      await passkeyProof(person, service, 'passkey.remove', id),
    ]
    const answers = await Promise.all([
      person.browser.copy().post(`/api/v1/me/passkeys/${first.id}/remove`, { proof: proofs[0] }),
      person.browser.copy().post(`/api/v1/me/passkeys/${id}/remove`, { proof: proofs[1] }),
    ])
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    const user = await service.composition.deps.users.find(person.userId)
    expect(user?.passkeys).toHaveLength(1)
  })
})

it('a person with codes only may confirm by code, and is told so', async () => {
  const person = await enrolWithTotp(service, 'codes@example.com')
  const asked = await person.browser.post('/api/v1/me/step-up/options', { operation: 'passkey.add' })
  expect([asked.status, asked.body]).toEqual([200, { methods: ['totp'] }])
})
