import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/config/config.ts'
import { problemsOf } from './support/config-problems.ts'
import { TEST_SECRETS } from './support/service.ts'

const APP = '7f3a1c52-94d0-4e0b-8b6e-2d5c0f9a1e34'
const TENANT = '0b4f6d9e-11aa-4c1d-9e55-6f2a7b8c9d01'
const OWN = { TEAMS_APP_ID: APP, TEAMS_APP_PASSWORD: 'hunter2', TEAMS_TENANT_ID: TENANT }
const OPEN = { TEAMS_ALLOW_UNAUTHENTICATED: '1' }
const ENDPOINTS = {
  TEAMS_OPENID_URL: 'http://127.0.0.1:5001/openid',
  TEAMS_LOGIN_URL: 'http://127.0.0.1:5001',
  TEAMS_SERVICE_HOSTS: '127.0.0.1:5002',
}

const PRODUCTION = {
  NODE_ENV: 'production',
  BASE_URL: 'https://approvals.example.com',
  TRUST_PROXY: '1',
  STORE: 'embedded',
  ...TEST_SECRETS,
}

const NO_APP = 'TEAMS_APP_ID: must be set, an empty one would switch checks off'
const NO_PASSWORD = 'TEAMS_APP_PASSWORD: must be set, a client secret of the app'
const NO_TENANT = 'TEAMS_TENANT_ID: must be set, the tenant that is served'
const TOO_OPEN = 'TEAMS_ALLOW_UNAUTHENTICATED: must not be 1 in production, anyone could speak as any person'
const forTests = (name: string) => `${name}: is for tests; must be unset in production`

describe('the Teams part of the configuration', () => {
  it('is nothing when nothing is set, everything is empty, or the only thing said is 0', () => {
    const names = Object.keys({ ...OWN, ...OPEN, ...ENDPOINTS })
    const empty = Object.fromEntries(names.map((name) => [name, '']))
    const no = { TEAMS_ALLOW_UNAUTHENTICATED: '0' }
    for (const env of [{}, empty, no]) {
      expect(readConfig(env).teams).toBeUndefined()
      expect(readConfig({ ...PRODUCTION, ...env }).teams).toBeUndefined()
    }
  })

  it('takes the three settings, in production too, and speaks to Microsoft alone', () => {
    const { teams } = readConfig(OWN)
    expect(teams).toEqual({
      appId: APP,
      appPassword: 'hunter2',
      tenantId: TENANT,
      openIdUrl: 'https://login.botframework.com/v1/.well-known/openidconfiguration',
      loginUrl: 'https://login.microsoftonline.com',
      serviceHosts: [],
      unauthenticated: false,
    })
    expect([teams, teams?.serviceHosts].every(Object.isFrozen)).toBe(true)
    expect(readConfig({ ...PRODUCTION, ...OWN }).teams).toEqual(teams)
  })

  it('reads ids as tokens name them, whatever letters they were copied in', () => {
    const env = { ...OWN, TEAMS_APP_ID: APP.toUpperCase(), TEAMS_TENANT_ID: TENANT.toUpperCase() }
    expect(readConfig(env).teams).toMatchObject({ appId: APP, tenantId: TENANT })
  })

  const everything = Array.from({ length: 32 }, (_, bits) => ({
    ...(bits & 1 && { TEAMS_APP_ID: APP }),
    ...(bits & 2 && { TEAMS_APP_PASSWORD: 'hunter2' }),
    ...(bits & 4 && { TEAMS_TENANT_ID: TENANT }),
    ...(bits & 8 && OPEN),
    ...(bits & 16 && ENDPOINTS),
  }))

  it.each(everything.map((env) => [Object.keys(env).join(', ') || 'nothing', env] as const))(
    'with %s says all that is wrong',
    (_what, env: Record<string, string>) => {
      const has = (name: string) => env[name] !== undefined
      const open = has('TEAMS_ALLOW_UNAUTHENTICATED')
      const missing = [
        ...(open || has('TEAMS_APP_ID') ? [] : [NO_APP]),
        ...(open || has('TEAMS_APP_PASSWORD') ? [] : [NO_PASSWORD]),
        ...(has('TEAMS_TENANT_ID') ? [] : [NO_TENANT]),
      ]
      const wanted = Object.keys(env).length === 0 ? [] : missing
      expect(problemsOf(env)).toEqual(wanted)
      const refused = [...Object.keys(ENDPOINTS).filter(has).map(forTests), ...(open ? [TOO_OPEN] : [])]
      expect(problemsOf({ ...PRODUCTION, ...env })).toEqual([...refused, ...wanted])
      if (wanted.length === 0 && Object.keys(env).length > 0)
        expect(readConfig(env).teams).toMatchObject({ unauthenticated: open, appId: open ? '' : APP })
    },
  )

  it.each(Object.entries(ENDPOINTS))('refuses %s in production by itself', (name, value) => {
    expect(problemsOf({ ...PRODUCTION, ...OWN, [name]: value })).toEqual([forTests(name)])
    expect(problemsOf({ ...PRODUCTION, [name]: value })).toEqual([
      forTests(name),
      NO_APP,
      NO_PASSWORD,
      NO_TENANT,
    ])
  })

  it('refuses an empty app id in production, with which anybody could speak as anybody', () => {
    expect(problemsOf({ ...PRODUCTION, ...OWN, TEAMS_APP_ID: '' })).toEqual([NO_APP])
    expect(problemsOf({ ...PRODUCTION, ...OWN, TEAMS_APP_ID: ' ' })).toEqual([
      'TEAMS_APP_ID: must be the application (client) id of the bot, a UUID',
    ])
  })

  it.each([
    ['TEAMS_APP_ID', 'hunter2', 'must be the application (client) id of the bot, a UUID'],
    ['TEAMS_APP_ID', `${APP} `, 'must be the application (client) id of the bot, a UUID'],
    ['TEAMS_TENANT_ID', 'example.onmicrosoft.com', 'must be the directory (tenant) id, a UUID'],
    ['TEAMS_TENANT_ID', 'common', 'must be the directory (tenant) id, a UUID'],
    ['TEAMS_ALLOW_UNAUTHENTICATED', 'true', 'must be 1 or 0'],
    ['TEAMS_OPENID_URL', '127.0.0.1:5001', 'must be an address'],
    ['TEAMS_OPENID_URL', '/openid', 'must be an address'],
    ['TEAMS_LOGIN_URL', 'file:///etc/passwd', 'must be an address'],
  ])('refuses %s=%s without repeating it', (name, value, says) => {
    expect(problemsOf({ ...OWN, [name]: value })).toEqual([`${name}: ${says}`])
  })

  it('takes test endpoints outside of production, one slash more or less', () => {
    const more = { TEAMS_LOGIN_URL: 'http://127.0.0.1:5001/', TEAMS_SERVICE_HOSTS: ' a:1 , b:2,, ' }
    expect(readConfig({ ...OWN, ...ENDPOINTS, ...more }).teams).toMatchObject({
      openIdUrl: ENDPOINTS.TEAMS_OPENID_URL,
      loginUrl: 'http://127.0.0.1:5001',
      serviceHosts: ['a:1', 'b:2'],
    })
  })

  it('warns at every start that activities without a token are believed', () => {
    const { warnings } = readConfig({ ...OPEN, TEAMS_TENANT_ID: TENANT })
    expect(warnings).toEqual([
      'TEAMS_ALLOW_UNAUTHENTICATED: believes any client that claims to be Teams, as any person; for local test clients only',
    ])
    expect(readConfig(OWN).warnings).toEqual([])
  })

  it('forgets id and secret where nobody is asked for a token', () => {
    expect(readConfig({ ...OWN, ...OPEN }).teams).toMatchObject({
      appId: '',
      appPassword: '',
      tenantId: TENANT,
      unauthenticated: true,
    })
  })
})
