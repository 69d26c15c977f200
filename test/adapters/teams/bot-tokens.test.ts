import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { TokenKnobs } from '../../support/teams-identity.ts'
import { personNumber, startTeams, type TeamsSetting, useTeams } from '../../support/teams-service.ts'

let setting: Awaited<ReturnType<typeof startTeams>>
const started = performance.now()
beforeAll(async () => {
  setting = await startTeams()
})
afterAll(() => setting.close())

const TOKEN_REFUSED = {
  error: 'chat_token_refused',
  message:
    'The bearer token is missing, has expired, or was not made for this bot; send one that the platform made for it.',
}

const now = () => Math.floor(Date.now() / 1000)
const minutes = (count: number) => now() + count * 60

/** Every knob once; the endorsed key, the right issuer, audience and time otherwise. */
const BAD_TOKENS: Record<string, [reason: string, (given: TeamsSetting) => TokenKnobs]> = {
  'signed by a key that nobody published, under the id of one that is': [
    'signature',
    () => ({ key: 'stranger' }),
  ],
  'without a signature, by alg none': ['no_token', () => ({ unsigned: true, header: { alg: 'none' } })],
  'without a signature, by RS256': ['no_token', () => ({ unsigned: true })],
  'signed HS256 with the public key': ['header', ({ identity }) => ({ secret: identity.publicPem })],
  'signed HS256 with the bot’s password': ['header', () => ({ secret: 'a client secret of the bot' })],
  'signed RS512, which is not what Microsoft signs': ['header', () => ({ header: { alg: 'RS512' } })],
  'that says ES256 over an RSA signature': ['header', () => ({ header: { alg: 'ES256' } })],
  'for another bot': ['audience', () => ({ claims: { aud: '11111111-2222-3333-4444-555555555555' } })],
  'for several bots': ['claims', ({ appId }) => ({ claims: { aud: [appId, 'another'] } })],
  'without an audience': ['claims', () => ({ claims: { aud: undefined } })],
  'of another issuer': ['claims', () => ({ claims: { iss: 'https://login.example' } })],
  'of the issuer of the Bot Framework Emulator': [
    'claims',
    ({ appId }) => ({
      claims: {
        iss: 'https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/',
        appid: appId,
        ver: '1.0',
      },
    }),
  ],
  'of another bot’s, as skills send them': [
    'claims',
    ({ appId }) => ({
      claims: {
        iss: 'https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/',
        aud: appId,
        appid: '11111111-2222-3333-4444-555555555555',
        ver: '1.0',
      },
    }),
  ],
  'of another bot’s, under the right issuer': [
    'appid',
    () => ({ claims: { appid: '11111111-2222-3333-4444-555555555555', ver: '1.0' } }),
  ],
  'of another bot’s, under the right issuer and as version 2': [
    'appid',
    () => ({ claims: { azp: '11111111-2222-3333-4444-555555555555', ver: '2.0' } }),
  ],
  'that ran out six minutes ago': ['time', () => ({ claims: { nbf: minutes(-90), exp: minutes(-6) } })],
  'that never runs out': ['claims', () => ({ claims: { exp: undefined } })],
  'that holds in six minutes': ['time', () => ({ claims: { nbf: minutes(6) } })],
  'by a key that is endorsed for another channel': ['endorsement', () => ({ key: 'webchat' })],
  'by a key that is endorsed for nothing': ['endorsement', () => ({ key: 'bare' })],
  'by a key of 1024 bits': ['unknown_key', () => ({ key: 'small' })],
  'by a key id that is not there': ['unknown_key', () => ({ header: { kid: 'nobody' } })],
  'without a key id': ['header', () => ({ header: { kid: undefined } })],
  'with a critical extension': ['header', () => ({ header: { crit: ['exp'] } })],
  'without the address answers may go to': ['claims', () => ({ claims: { serviceurl: undefined } })],
}

const BAD_HEADERS: Record<string, string | null> = {
  'no header': null,
  'an empty one': '',
  'another scheme': 'Basic dXNlcjpwYXNz',
  'no JWT': 'Bearer garbage',
  'three parts of garbage': 'Bearer a.b.c',
  'parts that are no JSON': `Bearer ${Buffer.from('x').toString('base64url')}.${Buffer.from('[]').toString('base64url')}.AAAA`,
  'two tokens': 'Bearer a.b.c d.e.f',
}

describe('T39: the token of an activity', () => {
  it('is accepted when all of it is right', async () => {
    const reply = await setting.driver.installation(personNumber(setting, 1), 'remove')
    expect(reply).toMatchObject({ status: 200, text: '' })
    expect(reply.headers.get('cache-control')).toBe('no-store')
  })

  it.each(Object.entries(BAD_TOKENS))('is refused %s', async (_name, [reason, knobs]) => {
    await refusedWithoutTrace({ token: knobs(setting) }, reason)
  })

  it.each(Object.entries(BAD_HEADERS))('is refused: %s', async (_name, authorization) => {
    await refusedWithoutTrace({ authorization })
  })

  it.each([
    // Made in the test: on a slow machine a minute may have passed since the file was read.
    ['ran out four minutes ago, within the skew', () => ({ nbf: minutes(-90), exp: minutes(-4) })],
    ['holds in four minutes, within the skew', () => ({ nbf: minutes(4) })],
    ['does not say from when', () => ({ nbf: undefined })],
    ['names this bot', () => ({ appid: setting.appId })],
  ])('is accepted when it %s', async (_name, claims) => {
    const reply = await setting.driver.installation(personNumber(setting, 1), 'remove', {
      token: { claims: claims() },
    })
    expect(reply.status).toBe(200)
  })

  it('is looked at before anything is read of the body', async () => {
    const reply = await setting.driver.post({}, { authorization: null, raw: '{"type":' })
    expect(reply).toMatchObject({ status: 401, body: TOKEN_REFUSED })
  })

  it('has the keys read once, and again at most every five minutes for ids that are not there', async () => {
    const { asked } = setting.identity
    const before = { ...asked }
    for (let n = 0; n < 5; n += 1) {
      const reply = await setting.driver.message(personNumber(setting, 1), 'help', {
        token: { header: { kid: `invented-${n}` } },
      })
      expect(reply.status).toBe(401)
    }
    expect(asked.keys - before.keys).toBe(0)
  })
})

describe('without the keys', () => {
  const PUT_OFF = {
    status: 503,
    body: {
      error: 'chat_keys_unavailable',
      message: 'The keys that check tokens cannot be read right now; try again in 3 seconds.',
    },
  }

  it.each([
    ['which are refused', false],
    ['which do not come within five seconds', true],
  ])('an activity is put off, not believed, and taken once they come: %s', async (_name, hang) => {
    const fresh = await useTeams()
    Object.assign(fresh.identity, { keysAnswer: 0, keysHang: hang })
    const deliver = () => fresh.driver.installation(personNumber(fresh, 1), 'remove')
    const reply = await deliver()
    expect(reply).toMatchObject(PUT_OFF)
    expect(reply.ms).toBeLessThan(8_000)
    Object.assign(fresh.identity, { keysAnswer: 9, keysHang: false })
    const { metadata, keys } = fresh.identity.asked
    expect((await deliver()).status).toBe(200)
    // By our guard alone: the library would read them again, without a deadline.
    expect(fresh.identity.asked).toMatchObject({ metadata: metadata + 1, keys: keys + 1 })
  })
})

async function refusedWithoutTrace(
  knobs: Parameters<TeamsSetting['driver']['message']>[2],
  reason?: string,
): Promise<void> {
  const { connector, driver, service, identity } = setting
  const written = vi.spyOn(console, 'error')
  const warned = vi.spyOn(console, 'warn')
  const before = {
    calls: connector.calls.length,
    tokens: identity.asked.tokens,
    stored: await known(setting),
  }
  const reply = await driver.message(personNumber(setting, 2), 'help', knobs ?? {})
  expect(reply).toMatchObject({ status: 401, body: TOKEN_REFUSED })
  expect(Object.keys(reply.body)).toEqual(['error', 'message'])
  expect(reply.headers.get('content-type')).toContain('application/json')
  expect({
    calls: connector.calls.length,
    tokens: identity.asked.tokens,
    stored: await known(setting),
  }).toEqual(before)
  expect(written).not.toHaveBeenCalled()
  expect(warned).not.toHaveBeenCalled()
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
  const told = service.logged.filter(({ message }) => message === 'a token from Teams was refused')
  if (reason !== undefined) expect(told.map(({ fields }) => fields.error)).toContain(reason)
  // Each reason once in ten seconds: strangers must not fill the log.
  const most = 1 + (performance.now() - started) / 10_000
  for (const one of told.map(({ fields }) => fields.error))
    expect(told.filter(({ fields }) => fields.error === one).length).toBeLessThanOrEqual(most)
  vi.restoreAllMocks()
}

function known({ service }: TeamsSetting): Promise<number> {
  return service.composition.connection.collection('chat_conversations').countDocuments()
}
