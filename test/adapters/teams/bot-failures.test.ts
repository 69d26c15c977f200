import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createTeams } from '../../../adapters/teams/teams.ts'
import type { TeamsSettings } from '../../../src/config/teams.ts'
import type { ChatIdentity, MessageRef } from '../../../src/domain/chat.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import type { ChatPort } from '../../../src/ports/ports.ts'
import { createChatConversationStores } from '../../../src/store/chat/chat-conversations.ts'
import { sampleRequest, TO_ANA } from '../../support/card-samples.ts'
import { closeServer, listenLocally } from '../../support/local-server.ts'
import type { ConnectorMood } from '../../support/teams-connector.ts'
import { personNumber, startTeams, TEAMS_PASSWORD } from '../../support/teams-service.ts'

const VIEW = viewCard(sampleRequest(), TO_ANA)

let setting: Awaited<ReturnType<typeof startTeams>>
beforeAll(async () => {
  setting = await startTeams({ people: 40, connector: { strict: 0 } })
  await setting.driver.installation(personNumber(setting, 1), 'add-upgrade')
})
afterAll(() => setting.close())
beforeEach(() => {
  setting.connector.behave(() => undefined)
  setting.identity.mood = 'grant'
})

function port(): ChatPort {
  const [found] = setting.service.composition.deps.chats
  if (found === undefined) throw new Error('no port')
  return found
}

/** As a process that has just started has it: without a token. */
function newPort(): ChatPort {
  const { connection, deps } = setting.service.composition
  const { appId, tenantId, identity, connector } = setting
  const settings = {
    ...{ appId, appPassword: TEAMS_PASSWORD, tenantId, unauthenticated: false },
    ...{ openIdUrl: identity.openIdUrl, loginUrl: identity.loginUrl, serviceHosts: [connector.host] },
  }
  const conversations = createChatConversationStores(connection)
  const { clock, log } = deps
  return createTeams(settings, { conversations, clock, log, baseUrl: setting.service.url }).port
}

function to(n: number): ChatIdentity {
  return { platform: 'teams', tenant: setting.tenantId, user: personNumber(setting, n).id }
}

let asked = 1
/** Somebody with the app in whose conversation Teams has asked for no patience yet. */
function another(): number {
  asked += 1
  setting.connector.installed.add(personNumber(setting, asked).id)
  return asked
}

/** A posted card. */
async function posted(n = 1): Promise<MessageRef> {
  const answer = await port().post(to(n), VIEW)
  if (!answer.ok) throw new Error(`not posted: ${answer.code}`)
  return answer.value
}

/** How Teams takes the call, and what comes of it; `perhaps`: it may have been done. */
const FAILURES: Record<string, [mood: ConnectorMood, outcome: object]> = {
  '429 with Retry-After': [
    { status: 429, retryAfter: 7 },
    { outcome: 'rate_limited', retry_after: 7 },
  ],
  '429 without it': [{ status: 429 }, { outcome: 'rate_limited' }],
  '412': [
    { status: 412, code: 'PreconditionFailed' },
    { outcome: 'failed', code: 'PreconditionFailed' },
  ],
  '412 with Retry-After': [
    { status: 412, retryAfter: 3 },
    { outcome: 'rate_limited', retry_after: 3 },
  ],
  '502': [{ status: 502 }, { outcome: 'failed', perhaps: true }],
  '503 with Retry-After': [
    { status: 503, retryAfter: 20 },
    { outcome: 'rate_limited', retry_after: 20, perhaps: true },
  ],
  '504': [{ status: 504 }, { outcome: 'failed', perhaps: true }],
  '500': [
    { status: 500, code: 'ServiceError' },
    { outcome: 'failed', code: 'ServiceError', perhaps: true },
  ],
  '400': [
    { status: 400, code: 'BadSyntax' },
    { outcome: 'failed', code: 'BadSyntax' },
  ],
  '403': [
    { status: 403, code: 'BotNotInConversationRoster' },
    { outcome: 'unreachable', code: 'BotNotInConversationRoster' },
  ],
  '403 to somebody who blocked it': [
    { status: 403, code: 'ConversationBlockedByUser' },
    { outcome: 'unreachable', code: 'ConversationBlockedByUser', passing: true },
  ],
  '403 to somebody whom an administrator denies it': [
    { status: 403, code: 'BotDisabledByAdmin' },
    { outcome: 'unreachable', code: 'BotDisabledByAdmin', passing: true },
  ],
  '404': [
    { status: 404, code: 'NotFound' },
    { outcome: 'unreachable', code: 'NotFound', passing: true },
  ],
  'a redirect': [{ status: 307, headers: { Location: 'http://127.0.0.1:9/stolen' } }, { outcome: 'failed' }],
  'a connection cut after it was taken': [
    'lost',
    { outcome: 'failed', code: 'UND_ERR_SOCKET', perhaps: true },
  ],
  'an answer that breaks off': ['broken', { outcome: 'failed', code: 'UND_ERR_SOCKET', perhaps: true }],
}

describe('a call that Teams answers with', () => {
  it.each(Object.entries(FAILURES))(
    '%s is one attempt, and says what came of it',
    async (_name, [mood, outcome]) => {
      const person = another()
      await posted(person)
      const message = await posted(another())
      setting.connector.behave(() => mood)
      const { calls } = setting.connector
      for (const [what, call] of [
        ['post', () => port().post(to(person), VIEW)],
        ['update', () => port().update(message, VIEW)],
      ] as const) {
        const before = calls.length
        const answer = await call()
        expect(answer).toMatchObject({ ok: false, ...outcome, duration_ms: expect.any(Number) })
        // What a gateway refuses may have been done behind it, also when it asks for patience.
        expect('perhaps' in answer).toBe('perhaps' in outcome)
        expect('passing' in answer).toBe('passing' in outcome)
        expect(calls.slice(before).map((each) => each.what)).toEqual([what])
      }
    },
  )

  it('a date to wait for says the seconds until then', async () => {
    const began = Date.now()
    const retryAfter = new Date(began + 90_000).toUTCString()
    setting.connector.behave(() => ({ status: 429, retryAfter }))
    const answer = await port().post(to(another()), VIEW)
    if (answer.ok) throw new Error('accepted')
    expect(answer.retry_after).toBeGreaterThanOrEqual(88 - (Date.now() - began) / 1000)
    expect(answer.retry_after).toBeLessThanOrEqual(91)
  })

  it.each(['soon', '-5', '1e9', ''])('“%s” to wait for says nothing: we choose', async (retryAfter) => {
    setting.connector.behave(() => ({ status: 429, retryAfter }))
    const answer = await port().post(to(another()), VIEW)
    expect(answer).toMatchObject({ ok: false, outcome: 'rate_limited', retry_after: 1 })
  })

  it('nothing at all ends after ten seconds: post, update and sign-in alike', async () => {
    const message = await posted()
    setting.connector.behave(() => 'hang')
    setting.identity.mood = 'hang'
    const started = performance.now()
    const answers = await Promise.all([
      port().post(to(1), VIEW),
      port().update(message, VIEW),
      newPort().post(to(1), VIEW),
    ])
    for (const answer of answers) expect(answer).toMatchObject({ ok: false, outcome: 'timeout' })
    expect(performance.now() - started).toBeGreaterThan(9_000)
    expect(performance.now() - started).toBeLessThan(60_000)
  })

  it('that the message is not there is nothing to try again', async () => {
    const message = { ...(await posted()), message: '1' }
    expect(await port().update(message, VIEW)).toMatchObject({
      ok: false,
      outcome: 'unreachable',
      code: 'ActivityNotFoundInConversation',
    })
  })

  it.each([
    ['opens another one', 0, { ok: true }, 2],
    ['said so late that a second call would take too long, is asked again', 2_100, { outcome: 'failed' }, 1],
  ])('that a stored conversation is gone, %s', async (_, ms, answer, messages) => {
    const n = another()
    await posted(n)
    // Time passes only as this test says: on a busy machine every call would take too long.
    let now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    setting.connector.behave(({ what, nth }) => {
      if (what !== 'post' || nth !== 2) return undefined
      now += ms
      return { status: 404, code: 'ConversationNotFound' }
    })
    expect(await port().post(to(n), VIEW)).toMatchObject(answer)
    expect(setting.connector.in(personNumber(setting, n).id)).toHaveLength(messages)
  })

  it('that it has never heard of the token asks for another one, and goes on', async () => {
    await posted()
    setting.identity.revokeAll()
    const before = setting.identity.asked.tokens
    expect(await port().post(to(1), VIEW)).toMatchObject({ ok: true })
    expect(setting.identity.asked.tokens - before).toBe(1)
  })

  it.each([
    [401, 'Unauthorized'],
    [401, 'BotNotRegistered'],
  ])('%s %s is about the bot, not about the person', async (status, code) => {
    await posted()
    setting.connector.behave(() => ({ status, code }))
    expect(await port().post(to(1), VIEW)).toMatchObject({ ok: false, outcome: 'unavailable', code })
  })
})

describe('the bot’s own token', () => {
  it('is asked for once, and kept', async () => {
    const fresh = newPort()
    const before = setting.identity.asked.tokens
    for (let n = 0; n < 4; n += 1) expect(await fresh.post(to(1), VIEW)).toMatchObject({ ok: true })
    expect(setting.identity.asked.tokens - before).toBe(1)
  })

  it.each([
    ['refuses the password', 'refuse', { outcome: 'unavailable', code: 'invalid_client' }],
    ['is down', { status: 503, body: {} }, { outcome: 'failed', code: 'http_error' }],
    ['says something else', { status: 200, body: { ok: true } }, { outcome: 'failed' }],
    ['answers with a page', { status: 200, body: '<html>' }, { outcome: 'failed' }],
  ] as const)('is missing when the sign-in %s: nothing is sent', async (_name, mood, outcome) => {
    const before = setting.connector.calls.length
    setting.identity.mood = mood
    expect(await newPort().post(to(1), VIEW)).toMatchObject({ ok: false, ...outcome })
    expect(setting.connector.calls.slice(before)).toEqual([])
    expect(JSON.stringify(setting.service.logged)).not.toContain(TEAMS_PASSWORD)
  })

  it('is never sent to an address that is not allowed, whatever the store says', async () => {
    const thieves: string[] = []
    const thief = createServer((request, response) => {
      thieves.push(request.headers.authorization ?? '')
      response.end('{"id":"1"}')
    })
    const url = await listenLocally(thief)
    onTestFinished(() => closeServer(thief))
    const conversation = JSON.stringify({
      kind: 'person',
      service_url: `${url}/teams/`,
      conversation_id: 'a:1',
    })
    const message = { tenant: setting.tenantId, conversation, message: '1' }
    expect(await port().update(message, VIEW)).toMatchObject({
      ok: false,
      outcome: 'unreachable',
      code: 'service_not_allowed',
    })
    expect(thieves).toEqual([])
  })
})

describe('calls that are not sent', () => {
  it.each([
    ['to another tenant', () => port().post({ ...to(1), tenant: 'another' }, VIEW)],
    [
      'to a message of another tenant',
      () => port().update({ tenant: 'another', conversation: '{}', message: '1' }, VIEW),
    ],
    [
      'to a conversation we did not write',
      () => port().update({ tenant: setting.tenantId, conversation: 'x', message: '1' }, VIEW),
    ],
    ['to a message without an id', async () => port().update({ ...(await posted()), message: '' }, VIEW)],
  ])('%s', async (_name, call) => {
    const answer = await call()
    expect(answer).toMatchObject({ ok: false, outcome: 'unreachable', duration_ms: 0 })
  })

  it('to somebody who is not in the tenant', async () => {
    const stranger = { ...to(1), user: '0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e' }
    expect(await port().post(stranger, VIEW)).toMatchObject({
      ok: false,
      outcome: 'failed',
      code: 'BadSyntax',
    })
  })

  it('while the store does not answer: never an error', async () => {
    const gone = async () => {
      throw new Error('the store is gone')
    }
    const known = { find: gone, holders: gone, newest: gone }
    const conversations = () => ({
      ...known,
      put: gone,
      describe: gone,
      unasked: gone,
      noteUnanswered: gone,
      remove: gone,
      count: gone,
    })
    const { clock, log } = setting.service.composition.deps
    const teams = createTeams(SETTINGS, { conversations, clock, log, baseUrl: setting.service.url })
    const address = { ...to(1), tenant: SETTINGS.tenantId }
    const answers = [
      await teams.port.post(address, VIEW),
      await teams.port.lookup(SETTINGS.tenantId, 'person-1@example.com'),
    ]
    for (const answer of answers) {
      expect(answer).toEqual({ ok: false, outcome: 'failed', code: 'not_called', duration_ms: 0 })
    }
  })
})

const SETTINGS: TeamsSettings = {
  appId: '11111111-2222-4333-8444-555555555555',
  appPassword: 'never used',
  tenantId: '99999999-8888-4777-8666-555555555555',
  openIdUrl: 'http://127.0.0.1:9/openid',
  loginUrl: 'http://127.0.0.1:9',
  serviceHosts: ['127.0.0.1:9'],
  unauthenticated: false,
}
