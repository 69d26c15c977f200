import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createBot } from '../../../adapters/teams/bot.ts'
import type { BotClick } from '../../../adapters/teams/bot-port.ts'
import { createTokenKeys } from '../../../adapters/teams/token-guard.ts'
import { clockOf } from '../../support/clock.ts'
import { closeServer, listenLocally, sendJson } from '../../support/local-server.ts'

const nothing = () => undefined
const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Documents of keys under these ids; counts how often they were read. */
async function useKeyServer(...ids: string[]) {
  const it = { ids, up: true, read: 0, now: Date.parse('2026-09-14T12:00:00Z'), url: '' }
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const server = createServer((request, response) => {
    if (!it.up) return sendJson(response, 503, { error: 'down' })
    if (request.url === '/openid') return sendJson(response, 200, { jwks_uri: `${it.url}/keys` })
    it.read += 1
    const keys = it.ids.map((kid) => ({ ...publicKey.export({ format: 'jwk' }), kid }))
    sendJson(response, 200, { keys })
  })
  it.url = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  const clock = clockOf(() => it.now)
  return { it, keys: createTokenKeys(`${it.url}/openid`, { clock, log: QUIET }) }
}

describe('the keys of Teams', () => {
  it('are read again for one that is not there, five minutes after the last time and not before', async () => {
    const { it, keys } = await useKeyServer('old')
    expect(await keys.find('old')).toBeDefined()
    it.ids = ['old', 'new']
    it.now += 5 * MINUTE
    expect(await keys.find('new')).toBeUndefined()
    expect(it.read).toBe(1)
    it.now += 1
    expect(await keys.find('new')).toBeDefined()
    expect(it.read).toBe(2)
  })

  it('are read again after a day: one that Microsoft took back counts no more', async () => {
    const { it, keys } = await useKeyServer('old')
    expect(await keys.find('old')).toBeDefined()
    it.ids = ['new']
    it.now += 24 * HOUR
    expect(await keys.find('old')).toBeDefined()
    expect(it.read).toBe(1)
    it.now += 1
    expect(await keys.find('old')).toBeUndefined()
    expect(it.read).toBe(2)
  })

  it('still count while they cannot be read again, which is tried once in five minutes', async () => {
    const { it, keys } = await useKeyServer('old')
    expect(await keys.find('old')).toBeDefined()
    it.up = false
    it.now += 24 * HOUR + 1
    expect(await keys.find('old')).toBeDefined()
    it.up = true
    it.now += 5 * MINUTE
    expect(await keys.find('old')).toBeDefined()
    expect(it.read).toBe(1)
    it.now += 1
    expect(await keys.find('old')).toBeDefined()
    expect(it.read).toBe(2)
  })

  it('are read once for many who ask at the same time', async () => {
    const { it, keys } = await useKeyServer('old')
    const found = await Promise.all(Array.from({ length: 20 }, () => keys.find('old')))
    expect(found.every((key) => key !== undefined)).toBe(true)
    expect(it.read).toBe(1)
  })
})

it('the library behind the guard answers a press without keys, tokens or any other request', async () => {
  const settings = {
    appId: '11111111-2222-4333-8444-555555555555',
    appPassword: 'never used',
    tenantId: '99999999-8888-4777-8666-555555555555',
    openIdUrl: 'http://127.0.0.1:9/openid',
    loginUrl: 'http://127.0.0.1:9',
    serviceHosts: [],
    unauthenticated: false,
  }
  const bot = createBot(settings, { clock: clockOf(), log: QUIET })
  const serviceUrl = 'https://smba.trafficmanager.net/teams/'
  const activity = { type: 'invoke', channelId: 'msteams', serviceUrl, conversation: { id: 'a:1' } }
  const conversation = { kind: 'person', service_url: serviceUrl, conversation_id: 'a:1' } as const
  const click = { conversation, activity_id: '1', verb: 'details', data: {}, fallback: false }
  const pressed: BotClick[] = []
  const events = {
    onInstalled: async () => undefined,
    onCommand: async () => undefined,
    onClick: async (press: BotClick) => {
      pressed.push(press)
      return { words: 'Decided' }
    },
  }
  expect(await bot.receive(activity, { kind: 'click', click }, events)).toEqual({
    status: 200,
    body: { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: 'Decided' },
  })
  expect(pressed).toEqual([click])
})
