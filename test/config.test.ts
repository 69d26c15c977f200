import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfig, SECRET_NAMES } from '../src/config/config.ts'
import { loadSecrets } from '../src/config/secrets.ts'
import { switchWarnings } from '../src/config/switch-warnings.ts'
import { problemsOf } from './support/config-problems.ts'

const secret = () => randomBytes(32).toString('base64')
const production = (): Record<string, string> => ({
  NODE_ENV: 'production',
  BASE_URL: 'https://approvals.example.com',
  TRUST_PROXY: '1',
  STORE: 'embedded',
  API_KEY_PEPPER: secret(),
  TOKEN_SECRET: secret(),
  SEALING_KEY: secret(),
  WEBHOOK_MASTER_SECRET: secret(),
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('the secrets of a store that holds something', () => {
  const faultOf = async (mongodbUri?: string, put?: (path: string) => void) => {
    const dataDir = newFolder()
    put?.(join(dataDir, 'secrets.json'))
    const loaded = loadSecrets({ ...readConfig({}), dataDir, mongodbUri }, false)
    return String(await loaded.catch((error: unknown) => error)).replaceAll(dataDir, 'data')
  }

  it('are asked back, called damaged only if they are, and a store of others is never to be deleted', async () => {
    expect(await faultOf()).toMatch(
      /data\/secrets\.json is missing, and .* secrets\. If the service has API_KEY_PEPPER, .* if not, restore .* rm /,
    )
    const shared = await faultOf('mongodb://127.0.0.1:27017/x')
    expect(shared).toContain('Copy secrets.json from the DATA_DIR of that service, or set API_KEY_PEPPER, ')
    expect(shared).not.toContain('rm ')
    const damage = (path: string) => writeFileSync(path, '{')
    expect(await faultOf(undefined, damage)).toContain('is damaged; restore it, or delete it together with')
    expect(await faultOf('mongodb://x/x', damage)).toContain('is damaged; restore it, or copy secrets.json')
    expect(await faultOf('mongodb://x/x', mkdirSync)).toContain('data/secrets.json is a folder; make it a')
  })
})

describe('without any variable', () => {
  it('is a development service on this machine that needs nothing', () => {
    expect(readConfig({})).toMatchObject({
      production: false,
      host: '127.0.0.1',
      port: 3000,
      baseUrl: 'http://localhost:3000',
      rpId: 'localhost',
      mongodbUri: undefined,
      trustProxy: 0,
      internalServiceToken: undefined,
      secrets: {},
      logLevel: 'info',
      callbackAllowPrivate: false,
      callbackPorts: [443],
      callbackTimeoutMs: 10_000,
      sessions: { mostMs: 604_800_000, idleMs: 43_200_000 },
      maxOpenWaits: 10_000,
      storeTimeoutMs: 5_000,
      slack: undefined,
      warnings: [],
    })
  })

  it.each([
    ['development', 'https://approvals.example.com', true],
    ['development', 'http://localhost:3000', false],
    ['development', 'https://countersign.localhost', false],
    ['development', 'https://approvals.home.arpa', false],
    ['production', 'https://approvals.example.com', false],
  ])('in %s with BASE_URL %s warns of development in public: %s', (NODE_ENV, BASE_URL, warned) => {
    const env = NODE_ENV === 'production' ? production() : { NODE_ENV }
    const { warnings } = readConfig({ ...env, BASE_URL })
    expect(warnings.filter((warning) => /^NODE_ENV: is not production/.test(warning))).toHaveLength(
      Number(warned),
    )
  })

  it('counts an empty variable as unset', () => {
    const config = readConfig({ PORT: '', MONGODB_URI: '', TRUST_PROXY: '', API_KEY_PEPPER: '' })
    expect(config).toMatchObject({ port: 3000, mongodbUri: undefined, trustProxy: 0, secrets: {} })
  })

  it('is frozen', () => {
    const config = readConfig({})
    expect(Object.isFrozen(config)).toBe(true)
    expect(Object.isFrozen(config.secrets)).toBe(true)
    expect(Object.isFrozen(config.warnings)).toBe(true)
    expect(Object.isFrozen(config.callbackPorts)).toBe(true)
  })
})

describe('production', () => {
  it('starts with a complete configuration', () => {
    expect(readConfig(production())).toMatchObject({
      production: true,
      baseUrl: 'https://approvals.example.com',
      rpId: 'approvals.example.com',
      trustProxy: 1,
    })
  })

  it.each([...SECRET_NAMES, 'BASE_URL', 'TRUST_PROXY'])(
    'refuses to start without %s, and says so',
    (name) => {
      const problems = problemsOf({ ...production(), [name]: undefined })
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(new RegExp(`^${name}: `))
    },
  )

  it('asks for the embedded store by name, and takes it beside no other', () => {
    const { STORE, ...unsaid } = production()
    expect(problemsOf({ ...unsaid, MONGO_URI: 'mongodb://db.example' })).toEqual([
      'MONGODB_URI: must name a replica set in production; or set STORE=embedded to keep everything in DATA_DIR, on this one machine',
      'MONGO_URI: is not a setting and has no effect; did you mean MONGODB_URI?',
    ])
    expect(problemsOf({ ...unsaid, MONGODB_URI: 'mongodb://db.example' })).toEqual([])
    expect(problemsOf({ ...unsaid, STORE, MONGODB_URI: 'mongodb://db.example' })).toEqual([
      'STORE: is embedded, but MONGODB_URI names another store; leave one of the two out',
    ])
    expect(problemsOf({ ...unsaid, STORE: 'mongodb' })).toEqual([
      'STORE: must be embedded, or unset where MONGODB_URI is set',
    ])
    expect(problemsOf({})).toEqual([])
  })

  it('names everything that is missing at once', () => {
    const problems = problemsOf({ NODE_ENV: 'production' })
    for (const name of [...SECRET_NAMES, 'BASE_URL', 'TRUST_PROXY'])
      expect(problems.filter((problem) => problem.startsWith(`${name}: `))).toHaveLength(1)
  })

  it.each([
    ['shorter than 32 bytes', randomBytes(31).toString('base64'), /shorter than 32 bytes/],
    ['all the same', Buffer.alloc(32, 7).toString('base64'), /not random/],
    ['a short pattern', Buffer.from('abcd'.repeat(8)).toString('hex'), /not random/],
    ['no base64 or hex', 'correct horse battery staple, and many more words', /must be base64 or hex/],
    ['a well-known word', 'changeme', /shorter than 32 bytes/],
  ])('T10-like: refuses a secret that is %s', (_what, weak, says) => {
    for (const name of SECRET_NAMES) {
      const problems = problemsOf({ ...production(), [name]: weak })
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(new RegExp(`^${name}: `))
      expect(problems[0]).toMatch(says)
    }
  })

  it('refuses one secret for two purposes, naming both', () => {
    const env = production()
    const problems = problemsOf({ ...env, TOKEN_SECRET: env.API_KEY_PEPPER })
    expect(problems).toEqual(['TOKEN_SECRET: must differ from API_KEY_PEPPER'])
  })

  it('notices that two secrets are the same bytes in two spellings', () => {
    const env = production()
    const hex = Buffer.from(String(env.API_KEY_PEPPER), 'base64').toString('hex')
    expect(problemsOf({ ...env, TOKEN_SECRET: hex })).toEqual([
      'TOKEN_SECRET: must differ from API_KEY_PEPPER',
    ])
  })

  it('refuses plain http:', () => {
    const problems = problemsOf({ ...production(), BASE_URL: 'http://approvals.example.com' })
    expect(problems.some((problem) => problem.startsWith('BASE_URL: must be https:'))).toBe(true)
    expect(problemsOf({ ...production(), BASE_URL: 'http://localhost:3000' })).toHaveLength(1)
  })

  it.each([
    [{ BASE_URL: 'https://x.example/app' }, /^BASE_URL: must be an origin/],
    [{ BASE_URL: 'https://192.0.2.1' }, /^BASE_URL: passkeys need a host name/],
    [{ LOG_LEVEL: 'verbose' }, /^LOG_LEVEL: must be trace, debug, info, warn, error or silent$/],
  ])('says of %o the one thing that is wrong', (env, problem) => {
    expect(problemsOf({ ...production(), ...env })).toEqual([expect.stringMatching(problem)])
  })

  it('T10: refuses NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
    const problems = problemsOf({ ...production(), NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(problems).toEqual([expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED: /)])
  })

  it.each(['SLACK_SIGNING_SECRET', 'SLACK_CLIENT_SECRET', 'TEAMS_APP_PASSWORD'])(
    'refuses what copying left over in %s',
    (name) => {
      const problem = `${name}: must be the value alone, without white space or quotes around it`
      for (const value of ['0a1b\r', ' 0a1b', '0a1b 2c', '"0a1b"', "'0a1b'", '\t'])
        expect(problemsOf({ [name]: value })).toEqual([problem])
    },
  )

  it.each(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])(
    'T10: refuses %s, and says why',
    (name) => {
      const problems = problemsOf({ ...production(), [name]: 'http://user:pw@proxy.example.com:3128' })
      expect(problems).toEqual([
        `${name}: must be unset or empty in production; callbacks connect directly, so that the address they reach is checked`,
      ])
      expect(problemsOf({ ...production(), [name]: '' })).toEqual([])
      expect(problemsOf({ [name]: 'http://proxy.example.com:3128' })).toEqual([])
    },
  )

  it('T10: refuses NODE_USE_ENV_PROXY unless it is 0', () => {
    const problems = problemsOf({ ...production(), NODE_USE_ENV_PROXY: '1' })
    expect(problems).toEqual([expect.stringMatching(/^NODE_USE_ENV_PROXY: must be unset or empty/)])
    expect(problemsOf({ ...production(), NODE_USE_ENV_PROXY: '0' })).toEqual([])
  })

  it('T1: refuses CALLBACK_ALLOW_PRIVATE=1', () => {
    expect(problemsOf({ ...production(), CALLBACK_ALLOW_PRIVATE: '1' })).toEqual([
      'CALLBACK_ALLOW_PRIVATE: must not be 1 in production, it opens private networks to callers',
    ])
    expect(readConfig({ ...production(), CALLBACK_ALLOW_PRIVATE: '0' }).callbackAllowPrivate).toBe(false)
  })

  it('never repeats a secret in its complaint', () => {
    const weak = 'hunter2hunter2hunter2'
    const text = problemsOf({ ...production(), SEALING_KEY: weak }).join('\n')
    expect(text).toContain('SEALING_KEY')
    expect(text).not.toContain(weak)
  })
})

describe('each variable', () => {
  it.each([
    ['NODE_ENV', 'prod'],
    ['NODE_ENV', 'Production'],
    ['NODE_ENV', ' production'],
    ['NODE_ENV', 'staging'],
    ['PORT', 'x'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3000.5'],
    ['HOST', 'example.com'],
    ['HOST', '0.0.0.0; rm'],
    ['LOG_LEVEL', 'loud'],
    ['MONGODB_URI', 'http://localhost'],
    ['MONGODB_URI', 'localhost:27017'],
    ['BASE_URL', 'approvals.example.com'],
    ['BASE_URL', 'https://approvals.example.com/path'],
    ['BASE_URL', 'https://approvals.example.com/?x=1'],
    ['BASE_URL', 'https://user:pw@approvals.example.com'],
    ['BASE_URL', 'ftp://approvals.example.com'],
    ['BASE_URL', 'http://approvals.example.com'],
    ['BASE_URL', 'https://192.0.2.1'],
    ['BASE_URL', 'https://[2001:db8::1]:8443'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', 'yes'],
    ['TRUST_PROXY', '10.0.0.1, everyone'],
    ['TRUST_PROXY', '*'],
    ['TRUST_PROXY', '10.0.0.0/99'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', '::/0'],
    ['CALLBACK_ALLOW_PRIVATE', 'true'],
    ['CALLBACK_ALLOW_PRIVATE', 'yes'],
    ['CALLBACK_PORTS', '0'],
    ['CALLBACK_PORTS', '65536'],
    ['CALLBACK_PORTS', '443,'],
    ['CALLBACK_PORTS', '443;8443'],
    ['CALLBACK_PORTS', 'https'],
    ['CALLBACK_TIMEOUT_SECONDS', '0'],
    ['CALLBACK_TIMEOUT_SECONDS', '31'],
    ['CALLBACK_TIMEOUT_SECONDS', '10s'],
    ['SESSION_DAYS', '0'],
    ['SESSION_DAYS', '31'],
    ['SESSION_IDLE_HOURS', '0'],
    ['SESSION_IDLE_HOURS', '169'],
    ['METRICS_PORT', '65536'],
    ['METRICS_PORT', '::9464'],
    ['KEEP_ALIVE_SECONDS', '3601'],
    ['MAX_OPEN_WAITS', '0'],
    ['MAX_OPEN_WAITS', '1e4'],
    ['INTERNAL_SERVICE_TOKEN', `${'x'.repeat(32)} with blanks`],
    ['INTERNAL_SERVICE_TOKEN', `${'x'.repeat(32)}ü`],
  ])('%s refuses %s', (name, value) => {
    const problems = problemsOf({ [name]: value })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${name}: `))
  })

  it.each([
    ['0', 0],
    ['2', 2],
    ['10.0.0.1', ['10.0.0.1']],
    ['10.0.0.0/8, 2001:db8::/32', ['10.0.0.0/8', '2001:db8::/32']],
    ['loopback,uniquelocal', ['loopback', 'uniquelocal']],
  ])('TRUST_PROXY takes %s', (value, wanted) => {
    expect(readConfig({ TRUST_PROXY: value }).trustProxy).toEqual(wanted)
  })

  it.each([
    ['8443', [8443]],
    ['443, 8443,443', [443, 8443]],
    ['1,65535', [1, 65535]],
  ])('CALLBACK_PORTS takes %s', (value, wanted) => {
    expect(readConfig({ CALLBACK_PORTS: value }).callbackPorts).toEqual(wanted)
  })

  it('says that roots without the file they sign have no effect', () => {
    const values = { CALLBACK_ALLOW_PRIVATE: '0', TEAMS_ALLOW_UNAUTHENTICATED: '0', FIDO_METADATA_ROOTS: 'a' }
    const told = ['FIDO_METADATA_ROOTS: has no effect without FIDO_METADATA_FILE, the file that they sign']
    expect(switchWarnings(values)).toEqual(told)
    expect(readConfig({ FIDO_METADATA_ROOTS: 'a' }).warnings).toEqual(told)
    expect(switchWarnings({ ...values, FIDO_METADATA_FILE: 'b' })).toEqual([])
  })

  it.each(['1', '9', '10', '29', '30'])('CALLBACK_TIMEOUT_SECONDS takes %s', (value) => {
    expect(readConfig({ CALLBACK_TIMEOUT_SECONDS: value }).callbackTimeoutMs).toBe(Number(value) * 1000)
  })

  it('CALLBACK_ALLOW_PRIVATE=1 is said in a warning', () => {
    const config = readConfig({ CALLBACK_ALLOW_PRIVATE: '1' })
    expect(config.callbackAllowPrivate).toBe(true)
    expect(config.warnings).toEqual([
      'CALLBACK_ALLOW_PRIVATE: lets callers have this machine and private networks called, also over http:; for development only',
    ])
    expect(readConfig({ CALLBACK_ALLOW_PRIVATE: '0' }).warnings).toEqual([])
  })

  it('BASE_URL loses its trailing slash and default port', () => {
    expect(readConfig({ BASE_URL: 'https://Approvals.example.com:443/' }).baseUrl).toBe(
      'https://approvals.example.com',
    )
  })

  it.each([
    ['unset', undefined, undefined],
    ['31 characters', 'x'.repeat(31), undefined],
    ['32 characters', 'x'.repeat(32), 'x'.repeat(32)],
  ])('INTERNAL_SERVICE_TOKEN: %s', (_what, value, wanted) => {
    expect(readConfig({ INTERNAL_SERVICE_TOKEN: value }).internalServiceToken).toBe(wanted)
  })

  it.each([
    ['production', true],
    ['development', false],
    ['test', false],
  ])('NODE_ENV takes %s', (value, wanted) => {
    expect(readConfig({ ...production(), NODE_ENV: value }).production).toBe(wanted)
  })

  it('a misspelt NODE_ENV never means development: it is refused by name, with what it may be', () => {
    expect(problemsOf({ ...production(), NODE_ENV: 'prod' })).toEqual([
      'NODE_ENV: must be production, development or test',
    ])
  })

  it('INTERNAL_SERVICE_TOKEN gives a warning when it is too short to count, without repeating it', () => {
    const weak = 'hunter2hunter2'
    expect(readConfig({ INTERNAL_SERVICE_TOKEN: weak }).warnings).toEqual([
      'INTERNAL_SERVICE_TOKEN: has fewer than 32 characters, so the internal token is switched off',
    ])
    expect(readConfig({ ...production(), INTERNAL_SERVICE_TOKEN: weak }).warnings).toHaveLength(1)
    for (const fine of ['', 'x'.repeat(32)])
      expect(readConfig({ INTERNAL_SERVICE_TOKEN: fine }).warnings).toEqual([])
  })

  it.each(['base64', 'base64url', 'hex'] as const)('secrets may be given in %s', (encoding) => {
    const text = randomBytes(32).toString(encoding)
    expect(readConfig({ TOKEN_SECRET: text }).secrets.TOKEN_SECRET).toBe(text)
  })

  it('a weak secret is refused in development too', () => {
    expect(problemsOf({ TOKEN_SECRET: 'short' })).toEqual([expect.stringMatching(/^TOKEN_SECRET: /)])
  })
})

it.each(['DATA_DIR', 'FIDO_METADATA_FILE', 'FIDO_METADATA_ROOTS'])(
  'refuses ~ in %s, which only a shell replaces',
  (name) => {
    expect(problemsOf({ [name]: '~/data' })).toEqual([
      `${name}: must be a path in full; only a shell replaces ~ by the home folder`,
    ])
  },
)
