import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rawSign } from '../../../src/signing/ed25519-node.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

interface Parts {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

let service: TestService
let ada: EnrolledPerson
let genuine: Parts
let serviceKey: { seed: Uint8Array; publicKey: Uint8Array; kid: string }
const stranger = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

beforeAll(async () => {
  service = await startService()
  ada = await enrolWithPasskey(service, 'ada@example.com')
  const { deps } = service.composition
  const key = deps.keys.ring().active('session', deps.clock.now())
  if (key === undefined) throw new Error('no session key')
  serviceKey = key
  const [header = '', claims = ''] = ada.token.split('.')
  genuine = { header: decode(header), claims: decode(claims) }
})
afterAll(() => service.close())

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signs changed parts with the service's own session key, as only a bug of ours could. */
async function resign(change: Partial<Parts>, purpose: 'session' | 'decision' = 'session'): Promise<string> {
  const { deps } = service.composition
  const key = deps.keys.ring().active(purpose, deps.clock.now())
  if (key === undefined) throw new Error('no key')
  const x = Buffer.from(key.publicKey).toString('base64url')
  const d = Buffer.from(key.seed).toString('base64url')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, d }
  const header = { ...genuine.header, kid: key.kid, ...change.header }
  return sign(header, { ...genuine.claims, ...change.claims }, jwk)
}

/** As `resign`, with header fields that the library would not write. */
function resignByHand(header: Record<string, unknown>): string {
  const text = `${encode({ ...genuine.header, ...header })}.${encode(genuine.claims)}`
  return `${text}.${Buffer.from(rawSign(Buffer.from(text), serviceKey.seed)).toString('base64url')}`
}

function sign(header: Record<string, unknown>, claims: Record<string, unknown>, key: KeyObject | object) {
  return new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(key)
}

function hs256(secret: Uint8Array): string {
  const head = encode({ ...genuine.header, alg: 'HS256' })
  const text = `${head}.${encode(genuine.claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const seconds = () => Math.floor(Date.now() / 1000)
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' })

const FORGED: [string, () => string | Promise<string>][] = [
  ['alg none', () => `${encode({ ...genuine.header, alg: 'none' })}.${encode(genuine.claims)}.`],
  ['HS256 with the public key as secret', () => hs256(serviceKey.publicKey)],
  ['RS256 by a stranger', () => sign({ ...genuine.header, alg: 'RS256' }, genuine.claims, rsa.privateKey)],
  ['EdDSA by a stranger under our kid', () => sign(genuine.header, genuine.claims, stranger.privateKey)],
  [
    'a key of its own in the header (jwk)',
    () => sign({ ...genuine.header, jwk: jwkOf(stranger.publicKey) }, genuine.claims, stranger.privateKey),
  ],
  [
    'a key address in the header (jku, x5u)',
    () =>
      sign(
        { ...genuine.header, kid: 'other', jku: 'https://evil.example/k', x5u: 'https://evil.example/x' },
        genuine.claims,
        stranger.privateKey,
      ),
  ],
  ['our key of another purpose', () => resign({}, 'decision')],
  ['another typ', () => resign({ header: { typ: 'JWT' } })],
  ['another audience', () => resign({ claims: { aud: 'https://other.example' } })],
  [
    'several audiences',
    () => resign({ claims: { aud: [String(genuine.claims.aud), 'https://other.example'] } }),
  ],
  ['another issuer', () => resign({ claims: { iss: 'https://other.example' } })],
  ['an expired time', () => resign({ claims: { iat: seconds() - 1000, exp: seconds() - 100 } })],
  ['a life above 15 minutes', () => resign({ claims: { iat: seconds() - 1000, exp: seconds() + 1000 } })],
  ['no expiry', () => resign({ claims: { exp: undefined } })],
  ['a session that does not exist', () => resign({ claims: { sid: 'ses_00000000000000000000000000' } })],
  ['no session', () => resign({ claims: { sid: undefined } })],
  ['another person for the session', () => resign({ claims: { sub: 'usr_00000000000000000000000000' } })],
  [
    'a changed claim under the old signature',
    () =>
      `${ada.token.split('.')[0]}.${encode({ ...genuine.claims, sub: 'usr_x' })}.${ada.token.split('.')[2]}`,
  ],
  ['an unknown critical header', () => resignByHand({ crit: ['level'], level: 1 })],
]

describe('T56: a session token', () => {
  it('is taken when it is genuine: EdDSA, session+jwt, ours, 15 minutes', async () => {
    expect(genuine.header).toEqual({ alg: 'EdDSA', typ: 'session+jwt', kid: serviceKey.kid })
    expect(Object.keys(genuine.claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'sid', 'sub'])
    expect(genuine.claims).toMatchObject({ iss: service.url, aud: service.url, sub: ada.userId })
    expect(Number(genuine.claims.exp) - Number(genuine.claims.iat)).toBe(900)
    const answer = await read(await resign({}))
    expect([answer.status, answer.body.user.id]).toEqual([200, ada.userId])
  })

  it.each(FORGED)('is refused with %s', async (_name, forge) => {
    const answer = await read(await forge())
    expect([answer.status, answer.body]).toEqual([401, { error: 'not_signed_in', message: 'Sign in first.' }])
  })
})

function read(token: string) {
  const browser = createHttpClient(service.url)
  return browser.get('/api/v1/session', { headers: { Authorization: `Bearer ${token}` } })
}
