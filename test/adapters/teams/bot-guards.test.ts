import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RefusalCode, refusal } from '../../../src/domain/errors.ts'
import { send } from '../../support/caller.ts'
import type { Whereabouts } from '../../support/teams-driver.ts'
import { personNumber, startTeams, type TeamsSetting } from '../../support/teams-service.ts'

let setting: Awaited<ReturnType<typeof startTeams>>
beforeAll(async () => {
  setting = await startTeams()
})
afterAll(() => setting.close())

const OTHER_TENANT = '99999999-8888-4777-8666-555555555555'
const MICROSOFT = 'https://smba.trafficmanager.net/teams/'

/** An honest activity of another sender, with a token that is good for it. */
const STRANGERS: Record<string, [reason: string, (given: TeamsSetting) => Whereabouts]> = {
  'of another tenant': ['tenant', () => ({ activity: { channelData: { tenant: { id: OTHER_TENANT } } } })],
  'whose conversation is of another tenant': [
    'tenant',
    () => ({
      activity: { conversation: { id: 'a:1', conversationType: 'personal', tenantId: OTHER_TENANT } },
    }),
  ],
  'by a guest of a shared channel': [
    'tenant',
    ({ people: [person] }) => ({
      activity: { from: { id: '29:x', aadObjectId: person?.id, tenantId: OTHER_TENANT } },
    }),
  ],
  'of no tenant': ['tenant', () => ({ activity: { channelData: undefined, conversation: { id: 'a:1' } } })],
  'of another channel': ['channel', () => ({ activity: { channelId: 'webchat' } })],
  'of the emulator': ['channel', () => ({ activity: { channelId: 'emulator' } })],
  'of an App Service Extension, which brings keys of its own': [
    'channel',
    () => ({ activity: { channelId: 'AseChannel' } }),
  ],
  'of no channel': ['channel', () => ({ activity: { channelId: undefined } })],
  ...Object.fromEntries(
    [
      'https://evil.example/',
      'https://smba.trafficmanager.net.evil.example/teams/',
      'https://evil.trafficmanager.net/teams/',
      'https://evil.onyx.prod.teams.trafficmanager.net/teams/',
      `https://${'x'.repeat(70)}.example/`,
      'https://teams.microsoft.com.evil.example/',
      'https://evilteams.microsoft.com/',
      'http://smba.trafficmanager.net/teams/',
      'https://smba.trafficmanager.net:8443/teams/',
      'https://user:pass@smba.trafficmanager.net/teams/',
      'https://smba.trafficmanager.net/teams/?next=x',
      'https://smba.trafficmanager.net/teams/#next',
      'https://smba.trafficmanager.net./teams/',
      'https://smba.trafficmanager.net@evil.example/teams/',
      'https://[::1]/',
      'https://127.0.0.1/',
      'file:///etc/passwd',
      'smba.trafficmanager.net',
      '',
    ].map((serviceUrl) => [
      `that wants its answer at ${serviceUrl || 'nowhere'}`,
      ['service_url', () => ({ activity: { serviceUrl }, token: { claims: { serviceurl: serviceUrl } } })],
    ]),
  ),
  'whose address is not the one in the token': [
    'service_url_claim',
    () => ({ activity: { serviceUrl: MICROSOFT } }),
  ],
  'whose address is the one in the token but for a slash': [
    'service_url_claim',
    ({ connector }) => ({ activity: { serviceUrl: connector.serviceUrl.slice(0, -1) } }),
  ],
}

describe('T39, T40: an activity with a good token', () => {
  it.each(Object.entries(STRANGERS))(
    'is refused with 403 %s, and nobody is called',
    async (name, [reason, knobs]) => {
      const { service } = setting
      await refused(knobs(setting), 'chat_sender_refused')
      const told = service.logged.filter(({ message }) => message === 'an activity from Teams was refused')
      const named = reason === 'tenant' && name !== 'of no tenant'
      const { host, ...fields } = told.at(-1)?.fields ?? {}
      expect(fields).toEqual({ reason, ...(named && { tenant: OTHER_TENANT }) })
      const wanted = reason === 'service_url' ? name.slice(name.lastIndexOf(' ') + 1) : ''
      expect(host).toBe(URL.canParse(wanted) ? new URL(wanted).host.slice(0, 64) : undefined)
    },
  )

  it('names a tenant that came in the log at most 64 visible characters long', async () => {
    const tenant = `\u202e\n${'x'.repeat(300)}`
    await refused({ activity: { channelData: { tenant: { id: tenant } } } }, 'chat_sender_refused')
    const told = setting.service.logged.filter(
      ({ message }) => message === 'an activity from Teams was refused',
    )
    const shown = String(told.at(-1)?.fields.tenant)
    expect(shown).toHaveLength(64)
    expect(shown).toMatch(/x{40}$/)
    expect(shown).not.toContain('\u202e')
    expect(shown).not.toContain('\n')
  })

  it.each([
    'https://smba.trafficmanager.net/emea/',
    'https://smba.onyx.prod.teams.trafficmanager.net/amer/',
    'https://smba.infra.gcc.teams.microsoft.com/teams/',
    'https://smba.infra.gov.teams.microsoft.us/teams/',
  ])('is taken when its answer goes to %s', async (serviceUrl) => {
    const knobs = { activity: { serviceUrl }, token: { claims: { serviceurl: serviceUrl } } }
    const reply = await setting.driver.installation(personNumber(setting, 1), 'remove', knobs)
    expect(reply.status).toBe(200)
  })
})

describe('a body with a good token', () => {
  const MISSING = { field: 'type', detail: 'must be the type of a Bot Framework activity' }

  it.each([
    ['an empty object', '{}'],
    ['an object without a type', '{"text":"help"}'],
    ['a type that is no text', '{"type":42}'],
    ['an empty type', '{"type":""}'],
    ['a conversation that is none', '{"type":"message","conversation":"x"}'],
    ['members that are no list', '{"type":"conversationUpdate","membersAdded":{"id":"x"}}'],
  ])('that is no activity is refused with 400: %s', async (_name, raw) => {
    await refused({ raw }, 'invalid_field', MISSING)
  })

  it.each([
    ['nothing', ''],
    ['no JSON', '{"type":"message"'],
    ['a list', '[{"type":"message"}]'],
    ['a number', '42'],
    ['null', 'null'],
  ])('that is no JSON object is refused with 400: %s', async (_name, raw) => {
    await refused({ raw }, 'invalid_json')
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'of type %s is refused with 415',
    async (contentType) => {
      await refused({ contentType }, 'unsupported_media_type')
    },
  )

  it('that is packed is refused with 415: it may unfold to anything', async () => {
    await refused({ headers: { 'Content-Encoding': 'gzip' } }, 'unsupported_media_type')
  })

  it('over 256 KiB is refused with 413, up to there it is read', async () => {
    const sized = (bytes: number) => `{"type":"${'x'.repeat(bytes - 11)}"}`
    await refused({ raw: sized(256 * 1024 + 1) }, 'chat_body_too_large')
    await refused({ raw: sized(256 * 1024) }, 'invalid_field', MISSING)
  })

  it.each([
    ['of its own', { id: 'x'.repeat(1001) }],
    ['of its sender', { from: { id: `29:${'x'.repeat(1000)}` } }],
    ['of its conversation', { conversation: { id: 'x'.repeat(1001) } }],
  ])('with an endless id %s is refused with 400', async (_, activity) => {
    await refused({ activity }, 'invalid_field', { field: 'id', detail: 'is too long' })
  })
})

describe('the address', () => {
  it.each(['GET', 'PUT', 'DELETE'])('answers %s as any path that is not there', async (method) => {
    const answer = await send(setting.service, '/api/messages', { method })
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })

  it('is not there without Teams', async () => {
    const { useService } = await import('../../support/service.ts')
    const service = await useService()
    const answer = await send(service, '/api/messages', { method: 'POST', json: { type: 'message' } })
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })
})

async function refused(knobs: Whereabouts, code: RefusalCode, details: object = {}): Promise<void> {
  const { connector, driver, identity, service } = setting
  const conversations = service.composition.connection.collection('chat_conversations')
  const before = { calls: connector.calls.length, tokens: identity.asked.tokens }
  const reply = await driver.message(personNumber(setting, 2), 'help', knobs)
  const { status, publicMessage: message } = refusal(code, details)
  expect(reply.status).toBe(status)
  expect(reply.body).toEqual({ error: code, message, ...details })
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect({ calls: connector.calls.length, tokens: identity.asked.tokens }).toEqual(before)
  expect(await conversations.countDocuments()).toBe(0)
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
}
