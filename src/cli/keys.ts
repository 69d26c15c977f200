import { type ApiKey, SCOPES, type Scope } from '../domain/api-key.ts'
import type { FlowDeps, KeyKeeper } from '../flow/deps.ts'
import { KEY_PURPOSES } from '../flow/keys/keep-keys.ts'
import { createApiKey, revokeApiKey } from '../flow/keys/manage-api-keys.ts'
import { presentKey } from '../http/api/api-keys.ts'
import type { PublicKeyRecord, SigningKey } from '../signing/key-record.ts'
import { CliError, type CommandResult, inWords, oneOf, table, usageError } from './terminal.ts'
import { checkName, findPerson, noAccountWords, withService } from './with-service.ts'

export interface CreateKeyOptions {
  owner: string
  name: string
  sandbox?: boolean
  sourceControl?: boolean
  scopes?: string
}

/** `countersign key create`: makes an API key of the owner's account and shows the raw key, this once. */
export function runCreateKey(options: CreateKeyOptions): Promise<CommandResult> {
  const name = checkName(options.name)
  const scopes = options.scopes === undefined ? {} : { scopes: readScopes(options.scopes) }
  return withService(async (deps) => {
    const owner = await findPerson(deps, options.owner)
    if (owner.no_account) throw new CliError('no_own_account', noAccountWords(owner.email))
    const { sandbox = false, sourceControl: source_control = false } = options
    const wanted = { accountId: owner.account_id, name, sandbox, source_control, ...scopes }
    const { raw_key, key } = await createApiKey(deps, wanted, { kind: 'cli' })
    return {
      value: { raw_key, key: presentKey(key) },
      text: [
        `${key.sandbox ? 'Sandbox key' : 'Key'} "${name}" for ${owner.email} (${key.id}, ${key.scopes.join(' ')}).`,
        'Store it now; it is shown only once:',
        '',
        `  ${raw_key}`,
      ].join('\n'),
    }
  })
}

/** Reads `approval:create,approval:read`. @throws CliError */
function readScopes(text: string): Scope[] {
  const names = new Set(text.split(',').map((name) => name.trim()))
  return [...names].map((name) => oneOf(SCOPES, name, 'scope'))
}

/** `countersign key list`: lists the API keys of every owner, or of one, oldest first, revoked keys included. */
export function runListKeys(options: { owner?: string }): Promise<CommandResult> {
  return withService(
    async (deps) => {
      const owner = options.owner === undefined ? undefined : await findPerson(deps, options.owner)
      const found = await deps.apiKeys.list(owner?.account_id)
      const people = await deps.users.list()
      const emails = new Map(people.map((person) => [person.account_id, person.email]))
      const keys = found.filter((key) => key.internal !== true)
      const ownerOf = (key: ApiKey) => emails.get(key.account_id) ?? null
      return {
        value: {
          data: keys.map((key) => ({
            ...presentKey(key),
            account_id: key.account_id,
            owner: ownerOf(key),
          })),
          next_cursor: null,
        },
        text:
          keys.length === 0
            ? 'No keys yet. Make one: countersign key create --owner <email> --name <name>'
            : table(
                ['KEY', 'BEGINS WITH', 'NAME', 'OWNER', 'KIND', 'STATE', 'LAST USED'],
                keys.map((key) => [
                  key.id,
                  key.key_prefix,
                  key.name,
                  ownerOf(key) ?? '',
                  key.sandbox ? 'sandbox' : 'live',
                  key.revoked_at === null ? 'active' : `revoked ${key.revoked_at.toISOString()}`,
                  key.last_used_at?.toISOString() ?? 'never',
                ]),
              ),
      }
    },
    { reads: true },
  )
}

/** `countersign key revoke`: revokes an API key at once and for ever. */
export function runRevokeKey(id: string): Promise<CommandResult> {
  return withService(async (deps) => {
    const message = `There is no active key ${JSON.stringify(id.slice(0, 64))}; see: countersign key list`
    const revoked = revokeApiKey(deps, id, undefined, { kind: 'cli' })
    const key = await revoked.catch(inWords({ not_found: ['key_not_found', message] }))
    return {
      value: { ok: true, key: presentKey(key) },
      text: `Revoked "${key.name}" (${key.id}). Calls with it are refused from now on. Its requests stay pending: its owner can withdraw them on the page of requests, or they are rejected in the inbox.`,
    }
  })
}

export interface RotateOptions {
  purpose?: string
  activate?: string
  now?: boolean
  /** Secrets and BASE_URL were changed on purpose. */
  acceptSettings?: boolean
}

/** How long a new key is published before it signs, so that a verifier that caches the key set knows it in time. */
const DEFAULT_DELAY = '24h'

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const LONGEST_MS = 90 * UNITS.d

/** `countersign signing-keys rotate`: makes the next key of one or every purpose. Old keys stay published and verify for ever. */
export function runRotateKeys(options: RotateOptions): Promise<CommandResult> {
  // Those who check the log have pinned its key: it changes only on purpose.
  const usual = KEY_PURPOSES.filter((purpose) => purpose !== 'log')
  const purposes = options.purpose === undefined ? usual : [oneOf(KEY_PURPOSES, options.purpose, 'purpose')]
  if (options.now && options.activate !== undefined)
    throw usageError('--now and --activate exclude each other.')
  const delay = readDelay(options.now ? 'now' : (options.activate ?? DEFAULT_DELAY))
  return withService(
    async ({ keys, clock }) => {
      const notBefore = new Date(clock.now().getTime() + delay)
      const made: SigningKey[] = []
      const settings = options.acceptSettings ? 'accept' : 'keep'
      for (const purpose of purposes)
        made.push(await keys.rotate(purpose, notBefore, { kind: 'cli' }, settings))
      return { value: { keys: made.map(presentSigningKey) }, text: describe(made, delay) }
    },
    { newSecrets: options.acceptSettings ?? false },
  )
}

/** `countersign signing-keys revoke`: revokes a signing key that others may have. Receipts from before `--since` stay valid. */
export function runRevokeSigningKey(kid: string, options: { since?: string }): Promise<CommandResult> {
  return withService(async ({ keys, clock }) => {
    const since = readPast(options.since, clock.now())
    const done = await keys.revoke(kid, since, { kind: 'cli' })
    if (done.refused !== undefined) throw whyNotRevoked(kid, done)
    return {
      value: { ok: true, kid, purpose: done.key.purpose, revoked_at: since.toISOString() },
      text: `Revoked. ${done.key.purpose === 'session' ? VOID_TOKENS : `${voidedBy(done.key, since)} ${FETCH_AGAIN}`}`,
    }
  })
}

function voidedBy({ createdAt }: PublicKeyRecord, since: Date): string {
  return since < createdAt
    ? `That is before the key was made, at ${createdAt.toISOString()}: none of its signatures is valid any more.`
    : `Its signatures from ${since.toISOString()} on are no longer valid.`
}

const VOID_TOKENS =
  'Within 10 seconds its session tokens are no longer accepted; browsers get new ones automatically.'
const FETCH_AGAIN =
  'Running services follow within 10 seconds, caches within 5 minutes; verifiers that store the key set must fetch it again after that.'

type Revocation = Awaited<ReturnType<KeyKeeper['revoke']>>

function whyNotRevoked(kid: string, done: Exclude<Revocation, { refused?: undefined }>): CliError {
  if (done.refused === 'unknown')
    return new CliError(
      'signing_key_not_found',
      `There is no signing key ${JSON.stringify(kid.slice(0, 64))}. See: countersign signing-keys list`,
    )
  if (done.refused === 'revoked')
    return new CliError(
      'signing_key_revoked',
      `It is revoked already, from ${done.key.revokedAt?.toISOString()} on.`,
    )
  return new CliError(
    'signing_key_in_use',
    `This key is in use, or was a moment ago. Run: countersign signing-keys rotate --purpose ${done.key.purpose} --now, and repeat this command 30 seconds later.`,
  )
}

/** Reads a past moment in ISO 8601; returns now when no text is given. @throws CliError */
function readPast(text: string | undefined, now: Date): Date {
  const since =
    text === undefined ? now : new Date(/^[12]\d{3}-\d\d-\d\dT\S+Z$/.test(text) ? text : Number.NaN)
  // A negative time would break the key set.
  const isPast = since.getTime() >= 0 && since <= now
  // `Date` reads 30 February as 2 March: receipts signed in between would stay valid.
  if (!isPast || (text !== undefined && !since.toISOString().startsWith(text.slice(0, 10))))
    throw usageError(
      '--since must be a past time in UTC, on a day that exists, such as 2026-03-04T09:30:00Z.',
    )
  return since
}

/** `countersign signing-keys list`: lists the signing keys of each purpose, newest first, revoked keys included. */
export function runListSigningKeys(): Promise<CommandResult> {
  const list = async ({ keys }: Pick<FlowDeps, 'keys'>): Promise<CommandResult> => {
    const found = keys.ring().publicRecords()
    found.sort((a, b) => a.purpose.localeCompare(b.purpose) || Number(b.notBefore) - Number(a.notBefore))
    return {
      value: {
        data: found.map((key) => ({
          ...presentSigningKey(key),
          revoked_at: key.revokedAt?.toISOString() ?? null,
        })),
        next_cursor: null,
      },
      text: table(
        ['PURPOSE', 'KEY', 'SIGNS FROM', 'REVOKED FROM'],
        found.map((key) => [
          key.purpose,
          key.kid,
          key.notBefore.toISOString(),
          key.revokedAt?.toISOString() ?? '',
        ]),
      ),
    }
  }
  return withService(list, { reads: true })
}

/** Returns the public fields, named one by one because a record may also hold the seed. */
function presentSigningKey(key: PublicKeyRecord) {
  return {
    kid: key.kid,
    purpose: key.purpose,
    created_at: key.createdAt.toISOString(),
    signs_from: key.notBefore.toISOString(),
  }
}

function describe(made: SigningKey[], delay: number): string {
  const rows = made.map((key) => [key.purpose, key.kid, key.notBefore.toISOString()])
  const hint =
    delay === 0
      ? 'Running services use the new keys within 10 seconds. Verifiers that store the key set must fetch it again after that.'
      : 'Running services publish them in /.well-known/jwks.json within 10 seconds; verifiers that store the key set must fetch it again after that, before the new keys sign.'
  return `${table(['PURPOSE', 'NEW KEY', 'SIGNS FROM'], rows)}\n${hint}`
}

/** Reads `now`, `30m`, `24h` or `7d` into milliseconds. @throws CliError */
function readDelay(text: string): number {
  if (text === 'now') return 0
  const match = /^(\d{1,5})([mhd])$/.exec(text)
  const unit = match?.[2]
  const delay = unit === 'm' || unit === 'h' || unit === 'd' ? Number(match?.[1]) * UNITS[unit] : undefined
  if (delay === undefined || delay > LONGEST_MS)
    throw usageError('--activate must be "now" or a time such as 30m, 24h or 7d, at most 90d.')
  return delay
}
