import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/config/config.ts'
import { problemsOf } from './support/config-problems.ts'
import { TEST_SECRETS } from './support/service.ts'

const BOT = { SLACK_BOT_TOKEN: 'xoxb-1' }
const CLIENT = { SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'client-secret' }
const SIGNING = { SLACK_SIGNING_SECRET: 'signing-secret' }
const APP = { SLACK_APP_TOKEN: 'xapp-1' }

const PRODUCTION = {
  NODE_ENV: 'production',
  BASE_URL: 'https://approvals.example.com',
  TRUST_PROXY: '1',
  STORE: 'embedded',
  ...TEST_SECRETS,
}

const NO_WORKSPACES =
  'SLACK_BOT_TOKEN: must be set for one workspace, or SLACK_CLIENT_ID and SLACK_CLIENT_SECRET for many'
const BOTH =
  'SLACK_BOT_TOKEN: is for one workspace; leave it out when SLACK_CLIENT_ID and SLACK_CLIENT_SECRET let workspaces install the app'
const NO_ID = 'SLACK_CLIENT_ID: must be set as well, to let workspaces install the app'
const NO_SECRET = 'SLACK_CLIENT_SECRET: must be set as well, to let workspaces install the app'
const NO_RECEIVING = 'SLACK_SIGNING_SECRET: must be set, or SLACK_APP_TOKEN for Socket Mode'

const one = { kind: 'one', botToken: 'xoxb-1' }
const many = { kind: 'many', clientId: '1.2', clientSecret: 'client-secret' }
const http = { kind: 'http', signingSecret: 'signing-secret' }
const socket = { kind: 'socket', appToken: 'xapp-1' }

describe('the Slack part of the configuration', () => {
  it('is nothing when nothing is set, or everything is empty', () => {
    const empty = Object.fromEntries(
      Object.keys({ ...BOT, ...CLIENT, ...SIGNING, ...APP, SLACK_API_URL: '' }).map((name) => [name, '']),
    )
    expect([readConfig({}).slack, readConfig(empty).slack]).toEqual([undefined, undefined])
  })

  it.each([
    ['one workspace, requests', { ...BOT, ...SIGNING }, one, http],
    ['one workspace, Socket Mode', { ...BOT, ...APP }, one, socket],
    ['many workspaces, requests', { ...CLIENT, ...SIGNING }, many, http],
    ['many workspaces, Socket Mode', { ...CLIENT, ...APP }, many, socket],
    ['Socket Mode before requests', { ...BOT, ...SIGNING, ...APP }, one, socket],
  ])('takes %s', (_what, env, workspaces, receive) => {
    const { slack } = readConfig(env)
    expect(slack).toEqual({ apiUrl: 'https://slack.com/api/', workspaces, receive })
    expect([slack, slack?.workspaces, slack?.receive].every(Object.isFrozen)).toBe(true)
    expect(readConfig({ ...PRODUCTION, ...env }).slack).toEqual(slack)
  })

  const none = { bot: false, id: false, secret: false, signing: false, app: false }
  const everything = Array.from({ length: 32 }, (_, bits) => ({
    bot: (bits & 1) > 0,
    id: (bits & 2) > 0,
    secret: (bits & 4) > 0,
    signing: (bits & 8) > 0,
    app: (bits & 16) > 0,
  }))

  it.each(everything.map((set) => [named(set), set] as const))(
    'with %s says all that is wrong',
    (_what, set) => {
      const env = {
        ...(set.bot && BOT),
        ...(set.id && { SLACK_CLIENT_ID: '1.2' }),
        ...(set.secret && { SLACK_CLIENT_SECRET: 'client-secret' }),
        ...(set.signing && SIGNING),
        ...(set.app && APP),
      }
      const wanted = named(set) === named(none) ? [] : [...sending(set), ...receiving(set)]
      expect(problemsOf(env)).toEqual(wanted)
      expect(problemsOf({ ...PRODUCTION, ...env })).toEqual(wanted)
    },
  )

  function sending({ bot, id, secret }: typeof none): string[] {
    if (bot) return id || secret ? [BOTH] : []
    if (id && secret) return []
    if (id) return [NO_SECRET]
    return secret ? [NO_ID] : [NO_WORKSPACES]
  }

  function receiving({ signing, app }: typeof none): string[] {
    return signing || app ? [] : [NO_RECEIVING]
  }

  function named(set: typeof none): string {
    const names = Object.entries(set).flatMap(([name, is]) => (is ? [name] : []))
    return names.join(', ') || 'nothing'
  }

  it.each([
    ['SLACK_BOT_TOKEN', 'xoxp-hunter2', 'must be a bot token, which starts with xoxb-'],
    ['SLACK_BOT_TOKEN', 'hunter2', 'must be a bot token, which starts with xoxb-'],
    ['SLACK_APP_TOKEN', 'xoxb-hunter2', 'must be an app-level token, which starts with xapp-'],
  ])('refuses %s=%s without repeating it', (name, value, says) => {
    expect(problemsOf({ ...BOT, ...SIGNING, [name]: value })).toEqual([`${name}: ${says}`])
  })

  it.each([
    ['https://slack-gov.com/api/', 'https://slack-gov.com/api/'],
    ['https://slack-gov.com/api', 'https://slack-gov.com/api/'],
    ['http://127.0.0.1:4003/api', 'http://127.0.0.1:4003/api/'],
  ])('reads SLACK_API_URL=%s as %s', (given, wanted) => {
    expect(readConfig({ ...BOT, ...SIGNING, SLACK_API_URL: given }).slack?.apiUrl).toBe(wanted)
  })

  it.each([
    'slack.com/api',
    'ftp://slack.com/api/',
    'https://slack.com/api/?x=1',
    'https://slack.com/api/#x',
    '/api',
  ])('refuses SLACK_API_URL=%s', (given) => {
    expect(problemsOf({ ...BOT, ...SIGNING, SLACK_API_URL: given })).toEqual([
      'SLACK_API_URL: must be an address such as https://slack.com/api/',
    ])
  })

  it('speaks only https: in production', () => {
    const env = { ...PRODUCTION, ...BOT, ...SIGNING, SLACK_API_URL: 'http://slack.example.com/api/' }
    expect(problemsOf(env)).toEqual([
      'SLACK_API_URL: must be https: in production, every call carries the bot token',
    ])
  })

  it('is not set up by its address alone', () => {
    expect(problemsOf({ SLACK_API_URL: 'https://slack.com/api/' })).toEqual([NO_WORKSPACES, NO_RECEIVING])
  })
})
