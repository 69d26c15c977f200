import { AsyncLocalStorage } from 'node:async_hooks'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { MailRelay } from '../domain/mail.ts'
import { decodeSecret, weaknessOf } from './credential.ts'
import { loadDotEnv } from './dot-env.ts'
import { type Lifetimes, lifetimeVariables, readLifetimes, wholeNumber } from './lifetimes.ts'
import { readSecretFiles } from './secret-files.ts'
import { readSlack, type SlackSettings, slackVariables } from './slack.ts'
import { readSmtp, smtpVariables } from './smtp.ts'
import { misspeltSettings, publicWarnings, switchWarnings } from './switch-warnings.ts'
import { readTeams, type TeamsSettings, teamsVariables } from './teams.ts'

/** Names of the secrets, each at least 32 random bytes in base64, base64url or hex. */
export const SECRET_NAMES = [
  'API_KEY_PEPPER',
  'TOKEN_SECRET',
  'SEALING_KEY',
  'WEBHOOK_MASTER_SECRET',
] as const
export type SecretName = (typeof SECRET_NAMES)[number]

/** Everything that can be set, read once at start from the environment (and `.env`); documented in `.env.example`. */
export interface Config extends Lifetimes {
  readonly production: boolean
  /** Address to bind; 127.0.0.1 unless set. */
  readonly host: string
  readonly port: number
  /** Where Prometheus reads figures, on the same host; undefined = nowhere. */
  readonly metricsPort: number | undefined
  /** How long an idle connection of a client stays open. */
  readonly keepAliveMs: number
  /** Public origin of the service, without a trailing slash: audience of intents, WebAuthn origin, base of every link. */
  readonly baseUrl: string
  /** WebAuthn relying party id: the host of `baseUrl`. */
  readonly rpId: string
  /** Absolute path of the folder for the embedded store and the development secrets. */
  readonly dataDir: string
  /** Set: that MongoDB (or `countersign store`) is used; unset: the embedded store under `dataDir`, in production only if asked for. */
  readonly mongodbUri: string | undefined
  /** How long one operation of the store may take. */
  readonly storeTimeoutMs: number
  /** Express `trust proxy`: a hop count or a list of proxy addresses; 0 = connected directly. Never `true` (T65). */
  readonly trustProxy: number | readonly string[]
  /** `internal-<token>` credential; undefined = off (unset or shorter than 32 characters). */
  readonly internalServiceToken: string | undefined
  /** Secrets given by the environment; in development the others come from `<dataDir>/secrets.json`. */
  readonly secrets: Readonly<Partial<Record<SecretName, string>>>
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** Callbacks may go over `http:` and to this machine and private networks; never in production. */
  readonly callbackAllowPrivate: boolean
  /** Ports that callbacks may use in production. */
  readonly callbackPorts: readonly number[]
  /** How long one attempt of a callback may take, from name resolution to the status line. */
  readonly callbackTimeoutMs: number
  /** Tells the approver and the owner of a decision that comes from the same address as its request. */
  readonly noteSameAddress: boolean
  /** Who may read the entries of the log, and LOG_WITNESSES as it is written. */
  readonly transparency: { readonly entries: 'public' | 'private'; readonly witnesses: string }
  /** Files with authenticator metadata, and with root certificates that replace those of the FIDO Alliance. */
  readonly authenticators: { readonly file: string | undefined; readonly rootsFile: string | undefined }
  /** The most API waits and streams that one process holds open at once, and as many dashboard streams besides. */
  readonly maxOpenWaits: number
  /** Undefined: no cards in Slack. */
  readonly slack: SlackSettings | undefined
  /** Undefined: no cards in Teams. */
  readonly teams: TeamsSettings | undefined
  /** Undefined: no e-mail. */
  readonly smtp: MailRelay | undefined
  /** Settings that have no effect, or weaken a protection, as `NAME: why`; the service starts all the same. */
  readonly warnings: readonly string[]
}

/** The configuration cannot be used; `problems` names every variable and what to do. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_DATA_DIR = './data'

const INTERNAL_TOKEN_LENGTH = 32

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

const inFull = z
  .string()
  .refine(
    (text) => !text.startsWith('~'),
    'must be a path in full; only a shell replaces ~ by the home folder',
  )
const filePath = inFull.transform((text) => resolve(text))

const port = z
  .string()
  .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65535, 'must be a port number')
  .transform(Number)

const environmentSchema = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'], { error: 'must be production, development or test' })
    .optional(),
  HOST: z
    .string()
    .refine((host) => isIP(host) !== 0 || host === 'localhost', 'must be an IP address or localhost')
    .default('127.0.0.1'),
  PORT: port.default(3000),
  METRICS_PORT: port.optional(),
  KEEP_ALIVE_SECONDS: wholeNumber(1, 3_600, 90, ' of seconds'),
  BASE_URL: z.string().optional(),
  DATA_DIR: inFull.default(DEFAULT_DATA_DIR),
  STORE: z.literal('embedded', 'must be embedded, or unset where MONGODB_URI is set').optional(),
  MONGODB_URI: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\//, 'must start with mongodb:// or mongodb+srv://')
    .optional(),
  STORE_TIMEOUT_MS: wholeNumber(100, 99_999, 5_000, ' of milliseconds'),
  TRUST_PROXY: z.string().optional(),
  INTERNAL_SERVICE_TOKEN: z
    .string()
    .regex(
      /^[A-Za-z0-9\-._~+/]+=*$/,
      'may contain only the characters of a bearer token: letters, digits and - . _ ~ + / =',
    )
    .optional(),
  LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: 'must be trace, debug, info, warn, error or silent' })
    .default('info'),
  CALLBACK_ALLOW_PRIVATE: z.enum(['0', '1'], { error: 'must be 1 or 0' }).default('0'),
  CALLBACK_PORTS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .refine((parts) => parts.every(isPort), 'must be port numbers, separated by commas')
    .transform((parts) => [...new Set(parts.map(Number))])
    .default([443]),
  CALLBACK_TIMEOUT_SECONDS: wholeNumber(1, 30, 10, ' of seconds'),
  NOTE_SAME_ADDRESS: z.enum(['0', '1'], { error: 'must be 1 or 0' }).default('0'),
  LOG_ENTRIES: z.enum(['public', 'private'], { error: 'must be public or private' }).default('public'),
  LOG_WITNESSES: z.string().optional(),
  FIDO_METADATA_FILE: filePath.optional(),
  FIDO_METADATA_ROOTS: filePath.optional(),
  MAX_OPEN_WAITS: wholeNumber(1, 999_999, 10_000),
  ...lifetimeVariables,
  ...slackVariables,
  ...teamsVariables,
  ...smtpVariables,
  NODE_TLS_REJECT_UNAUTHORIZED: z.string().optional(),
  HTTP_PROXY: z.string().optional(),
  HTTPS_PROXY: z.string().optional(),
  ALL_PROXY: z.string().optional(),
  NODE_USE_ENV_PROXY: z.string().optional(),
})

/** Their lower-case names count as well, as with every program that reads them. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']

/** Every variable that is read; `.env.example` documents exactly these. */
export const VARIABLES: readonly string[] = [...Object.keys(environmentSchema.shape), ...SECRET_NAMES]

/** The values of unset variables, for those that have a fixed default. */
export const DEFAULTS: Readonly<Record<string, unknown>> = environmentSchema.parse({})

/**
 * Reads the process environment, after `.env` in the working directory if there is one (variables already set win).
 * @throws ConfigError
 */
export function loadConfig(): Config {
  return readConfig(loadEnvironment())
}

/** Reads `DATA_DIR` alone, for `countersign store`, which needs neither secrets nor addresses. @throws ConfigError */
export function loadDataDir(): Pick<Config, 'dataDir' | 'warnings'> {
  const given = withoutEmpty(loadEnvironment())
  const parsed = environmentSchema.pick({ DATA_DIR: true }).safeParse(given)
  const warnings = misspeltSettings(given, VARIABLES)
  if (!parsed.success) throw new ConfigError([...problemsOf(parsed.error), ...warnings])
  return { dataDir: resolve(parsed.data.DATA_DIR), warnings }
}

/** Lists what would keep the service from starting in this environment with `NODE_ENV=production`. */
export function loadProductionProblems(): readonly string[] {
  try {
    readConfig({ ...loadEnvironment(), NODE_ENV: 'production' })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

const ownEnvironment = new AsyncLocalStorage<Environment>()

/** Runs `work` with `env` as its environment: configuration it loads comes neither from the process nor from `.env`. */
export function inEnvironment<Result>(env: Environment, work: () => Result): Result {
  return ownEnvironment.run(env, work)
}

function loadEnvironment(): Environment {
  const own = ownEnvironment.getStore()
  if (own !== undefined) return own
  const unreadable = loadDotEnv(process.env)
  if (unreadable !== undefined) throw new ConfigError([unreadable])
  return process.env
}

/**
 * Checks an environment and freezes the result. An empty variable counts as unset.
 * @throws ConfigError naming every problem at once; in production also for each missing or weak protection.
 */
export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const given = readSecretFiles(withoutEmpty(env), problems)
  const parsed = environmentSchema.safeParse(given)
  const misspelt = misspeltSettings(given, VARIABLES)
  if (!parsed.success) throw new ConfigError([...problems, ...problemsOf(parsed.error), ...misspelt])
  const values = parsed.data
  problems.push(...contradictions(values))
  const production = values.NODE_ENV === 'production'
  const baseUrl = readBaseUrl(values.BASE_URL ?? `http://localhost:${values.PORT}`, problems)
  const trustProxy = readTrustProxy(values.TRUST_PROXY, problems)
  const secrets = readSecrets(given, problems)
  const token = readInternalToken(values.INTERNAL_SERVICE_TOKEN)
  const slack = readSlack(values, production, problems)
  const teams = readTeams(values, production, problems)
  const smtp = readSmtp(values, problems)
  if (production)
    problems.push(...productionProblems(values, baseUrl, secrets), ...connectionProblems(values, given))
  if (problems.length > 0) throw new ConfigError([...problems, ...misspelt])
  return Object.freeze({
    production,
    host: values.HOST,
    port: values.PORT,
    metricsPort: values.METRICS_PORT,
    keepAliveMs: values.KEEP_ALIVE_SECONDS * 1000,
    baseUrl: baseUrl.origin,
    rpId: baseUrl.hostname,
    dataDir: resolve(values.DATA_DIR),
    mongodbUri: values.MONGODB_URI,
    storeTimeoutMs: values.STORE_TIMEOUT_MS,
    trustProxy,
    internalServiceToken: token.value,
    secrets: Object.freeze(secrets),
    logLevel: values.LOG_LEVEL,
    callbackAllowPrivate: values.CALLBACK_ALLOW_PRIVATE === '1',
    callbackPorts: Object.freeze(values.CALLBACK_PORTS),
    callbackTimeoutMs: values.CALLBACK_TIMEOUT_SECONDS * 1000,
    noteSameAddress: values.NOTE_SAME_ADDRESS === '1',
    transparency: { entries: values.LOG_ENTRIES, witnesses: values.LOG_WITNESSES ?? '' },
    authenticators: Object.freeze({ file: values.FIDO_METADATA_FILE, rootsFile: values.FIDO_METADATA_ROOTS }),
    maxOpenWaits: values.MAX_OPEN_WAITS,
    ...readLifetimes(values),
    slack,
    teams,
    smtp,
    warnings: Object.freeze([
      ...token.warnings,
      ...switchWarnings(values),
      ...misspelt,
      ...(production ? [] : publicWarnings(baseUrl)),
    ]),
  })
}

function contradictions(values: z.infer<typeof environmentSchema>): string[] {
  const problems: string[] = []
  if (values.METRICS_PORT === values.PORT) problems.push('METRICS_PORT: must differ from PORT')
  if (values.STORE !== undefined && values.MONGODB_URI !== undefined)
    problems.push('STORE: is embedded, but MONGODB_URI names another store; leave one of the two out')
  return problems
}

function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
}

function problemsOf({ issues }: z.ZodError): string[] {
  return issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
}

/** Switches a token off that is too short, as the interface has it; with a warning, since the operator expects it to work. */
function readInternalToken(text: string | undefined): { value: string | undefined; warnings: string[] } {
  if (text === undefined || text.length >= INTERNAL_TOKEN_LENGTH) return { value: text, warnings: [] }
  const warning = `INTERNAL_SERVICE_TOKEN: has fewer than ${INTERNAL_TOKEN_LENGTH} characters, so the internal token is switched off`
  return { value: undefined, warnings: [warning] }
}

function productionProblems(
  values: z.infer<typeof environmentSchema>,
  baseUrl: URL,
  secrets: Partial<Record<SecretName, string>>,
): string[] {
  const problems: string[] = []
  if (values.BASE_URL === undefined) problems.push('BASE_URL: must be set in production')
  else if (baseUrl.protocol !== 'https:') problems.push('BASE_URL: must be https: in production')
  if (values.TRUST_PROXY === undefined)
    problems.push(
      'TRUST_PROXY: set the number of proxies in front of the service, or their addresses; 0 if there is none',
    )
  // A misspelt name must not mean an empty store in a container, which is lost with it.
  if (values.MONGODB_URI === undefined && values.STORE === undefined)
    problems.push(
      'MONGODB_URI: must name a replica set in production; or set STORE=embedded to keep everything in DATA_DIR, on this one machine',
    )
  for (const name of SECRET_NAMES) {
    if (secrets[name] === undefined)
      problems.push(`${name}: must be set in production (openssl rand -base64 32)`)
  }
  return problems
}

/** Lists settings that would weaken the service's own connections to others (T1, T10). */
function connectionProblems(values: z.infer<typeof environmentSchema>, env: Environment): string[] {
  const problems: string[] = []
  if (values.CALLBACK_ALLOW_PRIVATE === '1')
    problems.push('CALLBACK_ALLOW_PRIVATE: must not be 1 in production, it opens private networks to callers')
  if (values.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    problems.push('NODE_TLS_REJECT_UNAUTHORIZED: must not be 0, it switches certificate checks off')
  const proxies = PROXY_VARIABLES.filter((name) => env[name] !== undefined)
  if ((values.NODE_USE_ENV_PROXY ?? '0') !== '0') proxies.push('NODE_USE_ENV_PROXY')
  for (const name of proxies) {
    problems.push(
      `${name}: must be unset or empty in production; callbacks connect directly, so that the address they reach is checked`,
    )
  }
  return problems
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535
}

function readBaseUrl(text: string, problems: string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain =
    url !== undefined && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (url === undefined || !plain || !['http:', 'https:'].includes(url.protocol)) {
    problems.push('BASE_URL: must be an origin such as https://approvals.example.com, without a path')
    return new URL('https://localhost')
  }
  if (isIP(url.hostname.replace(/[[\]]/g, '')) !== 0)
    problems.push('BASE_URL: passkeys need a host name, and work on no IP address')
  else if (url.protocol === 'http:' && url.hostname !== 'localhost')
    problems.push('BASE_URL: passkeys need https:, or http://localhost for development')
  return url
}

function readTrustProxy(text: string | undefined, problems: string[]): number | string[] {
  if (text === undefined) return 0
  if (/^\d{1,2}$/.test(text)) return Number(text)
  const list = text.split(',').map((part) => part.trim())
  const ok = list.every((part) => isNetwork(part) || ['loopback', 'linklocal', 'uniquelocal'].includes(part))
  if (!ok) problems.push('TRUST_PROXY: must be a number of hops or a list of proxy addresses, never "true"')
  return ok ? list : 0
}

/** Accepts an address or a CIDR network, but not the whole internet: trusting all would let any client forge addresses (T65). */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}

function readSecrets(env: Environment, problems: string[]): Partial<Record<SecretName, string>> {
  const secrets: Partial<Record<SecretName, string>> = {}
  const seen = new Map<string, SecretName>()
  for (const name of SECRET_NAMES) {
    const text = env[name]
    if (text === undefined) continue
    const weakness = weaknessOf(text)
    if (weakness !== undefined) problems.push(`${name}: ${weakness}; make one with: openssl rand -base64 32`)
    const bytes = decodeSecret(text)?.toString('hex') ?? text
    const twin = seen.get(bytes)
    if (twin !== undefined) problems.push(`${name}: must differ from ${twin}`)
    seen.set(bytes, name)
    secrets[name] = text
  }
  return secrets
}
