import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createBot } from '../../../adapters/teams/bot.ts'
import type { BotEvents } from '../../../adapters/teams/bot-port.ts'
import { createTokenKeys } from '../../../adapters/teams/token-guard.ts'
import { clockOf } from '../../support/clock.ts'
import { closeServer, listenLocally, sendJson } from '../../support/local-server.ts'
import { startTeamsIdentity } from '../../support/teams-identity.ts'

const nothing = () => undefined
const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

afterEach(() => {
  vi.useRealTimers()
})

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

describe('the library behind the guard', () => {
  it('takes activities a day later, while Microsoft’s keys cannot be read', async () => {
    const names = { appId: '11111111-2222-4333-8444-555555555555', appPassword: 'never used' }
    const tenantId = '99999999-8888-4777-8666-555555555555'
    const identity = await startTeamsIdentity({ ...names, tenantId })
    onTestFinished(() => identity.close())
    const { openIdUrl, loginUrl } = identity
    const settings = { ...names, tenantId, openIdUrl, loginUrl, serviceHosts: [], unauthenticated: false }
    const bot = createBot(settings, { clock: clockOf(), log: QUIET })
    const serviceUrl = 'https://smba.trafficmanager.net/teams/'
    const conversation = { id: 'a:1', conversationType: 'personal' }
    const activity = {
      type: 'installationUpdate',
      action: 'add',
      channelId: 'msteams',
      serviceUrl,
      conversation,
    }
    let installed = 0
    const events: BotEvents = {
      onInstalled: async () => {
        installed += 1
      },
      onCommand: async () => undefined,
      onClick: async () => ({ words: '' }),
    }
    const receive = () => bot.receive(`Bearer ${identity.tokenFor(serviceUrl)}`, { ...activity }, events)
    expect(await receive()).toEqual({ status: 200 })
    identity.keysAnswer = 0
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * HOUR })
    expect(await receive()).toEqual({ status: 200 })
    expect(installed).toBe(2)
  })
})
