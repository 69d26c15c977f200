import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { beforeAll, describe, expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { assertionOptions } from '../../../src/flow/people/register-passkey.ts'
import { verifyAssertion } from '../../../src/flow/people/verify-assertion.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'
import type { AssertionCeremony } from '../../support/soft-authenticator.ts'

const REFUSED = {
  code: 'passkey_refused',
  publicMessage: 'The passkey could not be verified; nothing was recorded. Try again.',
}

const SUSPENDED = { code: 'passkey_suspended', status: 403 }

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  return () => service.close()
})

const deps = () => service.composition.deps

async function enrol(startCounter: number): Promise<EnrolledPerson> {
  people += 1
  return enrolWithPasskey(service, `person${people}@example.com`, { startCounter })
}

async function userOf(person: EnrolledPerson): Promise<User> {
  const user = await deps().users.find(person.userId)
  if (user === undefined) throw new Error('the person is gone')
  return user
}

type Spelling = AuthenticationResponseJSON['response']

/** The same bytes in a text that a lenient decoder takes for them: with bits left over, or padded where there are none. */
function respelt(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.length % 4 === 0
    ? `${text}=`
    : text.slice(0, -1) + alphabet[alphabet.indexOf(text.slice(-1)) + 1]
}

async function assertNow(
  person: EnrolledPerson,
  ceremony: Partial<AssertionCeremony>,
  user?: User,
  spell = (response: Spelling): Spelling => response,
) {
  const known = user ?? (await userOf(person))
  const challenge = Uint8Array.from(randomBytes(32))
  const any = { authenticators: undefined }
  const options = await assertionOptions(deps(), { user: known, challenge, ...any })
  const credential = person.authenticator.credentials[0]
  if (credential === undefined) throw new Error('no credential')
  const response = person.authenticator.authenticate(options, {
    origin: service.url,
    credential,
    ...ceremony,
  })
  const spelt = { ...response, response: spell(response.response) }
  return verifyAssertion(deps(), { user: known, response: spelt, expectedChallenge: challenge, ...any })
}

describe('T30: the counter of a passkey', () => {
  it.each([
    [5, 6, true],
    [5, 4_294_967_295, true],
    [0, 0, true],
    [0, 1, true],
    [5, 5, false],
    [5, 4, false],
    [5, 0, false],
  ])('stored %i, new %i: passes is %s', async (stored, counter, passes) => {
    const person = await enrol(stored)
    if (passes) {
      const checked = await assertNow(person, { counter })
      expect(checked.counter).toBe(counter)
      const [passkey] = (await userOf(person)).passkeys
      expect(passkey).toMatchObject({ counter, suspended_at: null, last_used_at: expect.any(Date) })
      return
    }
    await expect(assertNow(person, { counter })).rejects.toMatchObject(SUSPENDED)
    const user = await userOf(person)
    expect(user.passkeys[0]).toMatchObject({
      counter: stored,
      suspended_at: expect.any(Date),
      last_used_at: null,
    })
    expect(user.audit.at(-1)).toMatchObject({
      type: 'factor.passkey_suspended',
      actor: { kind: 'service' },
      detail: { name: 'laptop', stored_counter: stored, counter },
    })
  })

  it('suspends for good: the passkey is no factor any more', async () => {
    const person = await enrol(5)
    await expect(assertNow(person, { counter: 5 })).rejects.toMatchObject(SUSPENDED)
    await expect(assertNow(person, { counter: 6 })).rejects.toMatchObject(SUSPENDED)
    const options = await assertionOptions(deps(), {
      user: await userOf(person),
      challenge: new Uint8Array(32),
      authenticators: undefined,
    })
    expect(options.allowCredentials).toEqual([])
  })

  it('is not read from an assertion that is not genuine: nobody can suspend a passkey without its key', async () => {
    const person = await enrol(5)
    const tamper = (made: Uint8Array) => made.with(-1, (made.at(-1) ?? 0) ^ 1)
    await expect(assertNow(person, { counter: 1, tamper })).rejects.toMatchObject(REFUSED)
    expect((await userOf(person)).passkeys[0]).toMatchObject({ counter: 5, suspended_at: null })
  })

  it('moves once when two assertions with one count arrive together', async () => {
    const person = await enrol(5)
    const user = await userOf(person)
    const results = await Promise.allSettled([1, 2, 3].map(() => assertNow(person, { counter: 9 }, user)))
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    expect((await userOf(person)).passkeys[0]).toMatchObject({ counter: 9, suspended_at: null })
  })
})

describe('an assertion', () => {
  it('is kept as evidence that anybody can check without us', async () => {
    const person = await enrol(0)
    const { evidence, passkey } = await assertNow(person, {})
    const clientData = Buffer.from(evidence.client_data_json, 'base64url')
    const signed = Buffer.concat([
      Buffer.from(evidence.authenticator_data, 'base64url'),
      createHash('sha256').update(clientData).digest(),
    ])
    const cose = Buffer.from(evidence.public_key, 'base64url')
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: cose.subarray(10, 42).toString('base64url'),
      y: cose.subarray(45, 77).toString('base64url'),
    }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    expect(verify('sha256', signed, key, Buffer.from(evidence.signature, 'base64url'))).toBe(true)
    expect(evidence.credential_id).toBe(passkey.credential_id)
  })

  it('T20: of one person never passes for another, whoever is expected', async () => {
    const [ada, bob] = [await enrol(0), await enrol(0)]
    await expect(assertNow(ada, {}, await userOf(bob))).rejects.toMatchObject(REFUSED)
    const bobs = { ...(await userOf(bob)), passkeys: (await userOf(ada)).passkeys }
    await expect(assertNow(ada, {}, bobs)).rejects.toMatchObject(REFUSED)
  })

  it('may leave the handle out when the person is known', async () => {
    const person = await enrol(0)
    await expect(assertNow(person, { userHandle: null })).resolves.toMatchObject({
      counter: 0,
      synced: false,
    })
    await expect(assertNow(person, { userHandle: 'AAAA' })).rejects.toMatchObject(REFUSED)
  })

  it('T35: is refused under a stored key whose algorithm is no longer the one registered', async () => {
    const person = await enrol(0)
    const user = await userOf(person)
    const changed = { ...user, passkeys: user.passkeys.map((passkey) => ({ ...passkey, algorithm: -8 })) }
    await expect(assertNow(person, {}, changed)).rejects.toMatchObject(REFUSED)
  })

  it.each([-7, -8, -257] as const)(
    'T35: is refused in a second spelling of base64url (algorithm %i)',
    async (algorithm) => {
      people += 1
      const person = await enrolWithPasskey(service, `person${people}@example.com`, { algorithm })
      for (const name of ['authenticatorData', 'signature', 'clientDataJSON'] as const) {
        const attempt = assertNow(person, {}, undefined, (response) => ({
          ...response,
          [name]: respelt(response[name]),
        }))
        await expect(attempt).rejects.toMatchObject(REFUSED)
      }
      await expect(assertNow(person, {})).resolves.toMatchObject({ counter: 0 })
    },
  )

  it('T32: is refused when origin and relying party id are of two services', async () => {
    const person = await enrol(0)
    await expect(assertNow(person, { origin: 'https://other.example' })).rejects.toMatchObject(REFUSED)
    await expect(assertNow(person, { rpId: 'other.example' })).rejects.toMatchObject(REFUSED)
  })
})
