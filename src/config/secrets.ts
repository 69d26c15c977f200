import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { chmod, link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Config, ConfigError, SECRET_NAMES, type SecretName } from './config.ts'
import { decodeSecret, weaknessOf } from './credential.ts'

/** Decoded secrets, at least 32 bytes each. */
export type Secrets = Readonly<Record<SecretName, Buffer>>

const VOID: Readonly<Record<string, string>> = {
  API_KEY_PEPPER: 'no API key would be accepted',
  TOKEN_SECRET: 'sessions, links and backup codes would be void, and approvers have other references',
  WEBHOOK_MASTER_SECRET: 'callbacks would be signed with secrets that no receiver knows',
  BASE_URL: 'passkeys belong to the host it had, and work on no other',
}

/** Returns what a store remembers of these settings, from which no secret can be found. */
export function rememberedOf(
  vault: { fingerprints(): Readonly<Record<string, string>> },
  { rpId }: Pick<Config, 'rpId'>,
): Readonly<Record<string, string>> {
  return { ...vault.fingerprints(), BASE_URL: rpId }
}

/** Says what to do about a setting that differs from the one the store was made with or last accepted. */
export function otherSetting(name: string): string {
  return `${name}: differs from the one that this store was made with; ${VOID[name] ?? 'everything that depends on it would be void'}. Set the old one again. If the change is meant, tell the store, then start: countersign signing-keys rotate --purpose session --now --accept-settings`
}

const fileSchema = z.record(z.enum(SECRET_NAMES), z.string())

/**
 * Loads the secrets of the environment; in development the others come from `<dataDir>/secrets.json` (0600), made once.
 * @param isNew nothing was sealed yet, so secrets may be made
 * @param warn is told if others can read the file and this user may not change that
 * @throws ConfigError when the file is damaged, unreadable or gone: nothing is overwritten, since new secrets would void every key
 * and passkey.
 */
export async function loadSecrets(
  config: Pick<Config, 'dataDir' | 'secrets' | 'mongodbUri'>,
  isNew: boolean,
  warn: (message: string) => void = () => undefined,
): Promise<Secrets> {
  const file = missingSecrets(config).length > 0 ? await secretsFile(config, isNew, warn) : {}
  const all: Partial<Record<SecretName, string>> = { ...file, ...config.secrets }
  const decode = (name: SecretName): Buffer => {
    const text = all[name] ?? ''
    const bytes = decodeSecret(text)
    if (bytes === undefined || weaknessOf(text) !== undefined) {
      throw new ConfigError([`${name}: missing or weak in ${join(config.dataDir, 'secrets.json')}`])
    }
    return bytes
  }
  return Object.freeze({
    API_KEY_PEPPER: decode('API_KEY_PEPPER'),
    TOKEN_SECRET: decode('TOKEN_SECRET'),
    SEALING_KEY: decode('SEALING_KEY'),
    WEBHOOK_MASTER_SECRET: decode('WEBHOOK_MASTER_SECRET'),
  })
}

/** Returns the secrets as they are written in the environment or in `secrets.json`; those that are in neither place are missing. */
export async function writtenSecrets({
  dataDir,
  secrets,
}: Pick<Config, 'dataDir' | 'secrets'>): Promise<Partial<Record<SecretName, string>>> {
  const text = await readText(join(dataDir, 'secrets.json'))
  const parsed = z
    .partialRecord(z.enum(SECRET_NAMES), z.string())
    .safeParse(text === undefined ? {} : parseJson(text))
  if (!parsed.success) throw new ConfigError([`${join(dataDir, 'secrets.json')} is damaged; restore it`])
  return { ...parsed.data, ...secrets }
}

/** Lists those of the secrets that are other ones here. */
export async function otherSecrets(
  config: Pick<Config, 'dataDir' | 'secrets'>,
  wanted: Readonly<Record<string, string>>,
): Promise<SecretName[]> {
  const here = await writtenSecrets(config)
  const same = (name: SecretName): boolean =>
    decodeSecret(here[name] ?? '')?.equals(decodeSecret(wanted[name] ?? '') ?? Buffer.alloc(0)) ?? false
  return SECRET_NAMES.filter((name) => here[name] !== undefined && wanted[name] !== undefined && !same(name))
}

/** Writes `secrets.json` with secrets that are to be kept, unless there is one. */
export async function keepSecrets(dataDir: string, secrets: Readonly<Record<string, string>>): Promise<void> {
  const known = fileSchema.parse(secrets)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await createOnce(join(dataDir, 'secrets.json'), known)
}

/** Lists the secrets that the environment does not give. */
export function missingSecrets({ secrets }: Pick<Config, 'secrets'>): SecretName[] {
  return SECRET_NAMES.filter((name) => secrets[name] === undefined)
}

/** Quotes a path or an address for an advised command: a blank would cut it, and `;` or `$(` in it would run what others wrote. */
export function inShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** What a lost store leaves that keeps a new one from being made. */
const LEFT_NAMES = ['store.seal', 'store.db-wal', 'store.db-part']

/**
 * Refuses a data directory with `secrets.json` but no store. The file is made only after the store: it is at a MONGODB_URI that
 * is not set here, or was lost. A new one would come with new keys and a set-up link for the first person who opens it.
 * @param forStore words for `countersign store`, which the secrets of a service on a MongoDB may be in the way of
 * @throws ConfigError
 */
export function refuseLostStore(config: Pick<Config, 'dataDir' | 'secrets'>, forStore = false): void {
  const path = join(config.dataDir, 'secrets.json')
  const store = join(config.dataDir, 'store.db')
  if (missingSecrets(config).length === 0 || !existsSync(path)) return
  if ((statSync(store, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  // Named one by one: some shells run no command with a pattern that matches nothing.
  const left = [path, ...LEFT_NAMES.map((name) => join(config.dataDir, name)).filter(existsSync)]
  throw new ConfigError([
    forStore
      ? `${store} is missing, and ${path} may contain the secrets of a service whose store is a MongoDB. For a new store set another DATA_DIR; if this one was lost, restore the whole folder from a backup`
      : `${store} is missing, and ${path} belongs to it. If the service has a MONGODB_URI, set it here too; if not, restore the whole folder from a backup; or start over, without all keys, people and requests in it: rm ${left.map(inShell).join(' ')}`,
  ])
}

async function secretsFile(
  { dataDir, mongodbUri }: Pick<Config, 'dataDir' | 'mongodbUri'>,
  isNew: boolean,
  warn: (message: string) => void,
): Promise<Record<SecretName, string>> {
  const path = join(dataDir, 'secrets.json')
  if (isNew) {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await createOnce(path, drawSecrets())
  }
  const text = await readText(path)
  if (text === undefined) {
    throw new ConfigError([
      mongodbUri === undefined
        ? `${path} is missing, and the store was sealed with secrets. If the service has ${SECRET_NAMES.join(', ')} in its environment, set them here too; if not, restore the file from a backup; or start over, without all keys, people and requests: rm ${inShell(dataDir)}/store.*`
        : // Another service made the store: nothing is lost here, and nothing must be deleted there.
          `The store at MONGODB_URI was sealed with the secrets of the service that made it, and ${path} is not there. Copy secrets.json from the DATA_DIR of that service, or set ${SECRET_NAMES.join(', ')} as they are set there.`,
    ])
  }
  const parsed = fileSchema.safeParse(parseJson(text))
  if (!parsed.success) {
    const or = mongodbUri === undefined ? 'delete it together with the store' : COPY_IT
    throw new ConfigError([`${path} is damaged; restore it, or ${or}`])
  }
  if (!(await makePrivate(path))) warn(`others can read ${path}, and this user may not change that`)
  return parsed.data
}

const COPY_IT = 'copy secrets.json from the DATA_DIR of the service that made the store'

/** A file that is mounted read-only, or belongs to another user, can be read all the same. @returns false if others can read it, too */
async function makePrivate(path: string): Promise<boolean> {
  if (((await stat(path)).mode & 0o077) === 0) return true
  return chmod(path, 0o600).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPERM' || error.code === 'EROFS') return false
      throw error
    },
  )
}

function drawSecrets(): Record<string, string> {
  return Object.fromEntries(SECRET_NAMES.map((name) => [name, randomBytes(32).toString('base64')]))
}

/** Writes a temporary file, then links it: a server and a command that start together agree on one complete file. */
async function createOnce(path: string, fresh: Record<string, string>): Promise<void> {
  if (existsSync(path)) return
  const aside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(aside, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(fresh, null, 2)}\n`)
    await file.sync()
    await link(aside, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await file.close()
    await unlink(aside)
  }
}

/** @returns undefined if there is no such file. @throws ConfigError when it cannot be read, which is no damage */
async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    if (code === 'ENOENT') return undefined
    const why = code === 'EISDIR' ? 'is a folder' : `cannot be read (${code})`
    throw new ConfigError([`${path} ${why}; make it a file that this user may read, with its former content`])
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
