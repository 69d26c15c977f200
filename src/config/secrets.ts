import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, link, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Config,
  ConfigError,
  decodeSecret,
  SECRET_NAMES,
  type SecretName,
  weaknessOf,
} from './config.ts'

/** Decoded secrets, at least 32 bytes each. */
export type Secrets = Readonly<Record<SecretName, Buffer>>

const fileSchema = z.strictObject({
  API_KEY_PEPPER: z.string(),
  TOKEN_SECRET: z.string(),
  SEALING_KEY: z.string(),
  WEBHOOK_MASTER_SECRET: z.string(),
})

/**
 * The secrets of the environment; in development those not given come from `<dataDir>/secrets.json` (0600), made once.
 * @throws ConfigError when the file is damaged: nothing is overwritten, since new secrets would void every key and passkey.
 */
export async function loadSecrets(config: Config): Promise<Secrets> {
  const missing = SECRET_NAMES.some((name) => config.secrets[name] === undefined)
  const file = missing ? await secretsFile(config.dataDir) : {}
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

async function secretsFile(dataDir: string): Promise<Record<SecretName, string>> {
  const path = join(dataDir, 'secrets.json')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await createOnce(path)
  const parsed = fileSchema.safeParse(await readJson(path))
  if (!parsed.success)
    throw new ConfigError([`${path} is damaged; restore it, or delete it together with the store`])
  await chmod(path, 0o600)
  return parsed.data
}

/** Written aside, then linked: a server and a command that start together agree on one complete file. */
async function createOnce(path: string): Promise<void> {
  if (existsSync(path)) return
  const fresh = Object.fromEntries(SECRET_NAMES.map((name) => [name, randomBytes(32).toString('base64')]))
  const aside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(aside, 'wx', 0o600)
  await file.writeFile(`${JSON.stringify(fresh, null, 2)}\n`)
  await file.sync()
  await file.close()
  try {
    await link(aside, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await unlink(aside)
  }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    return undefined
  }
}
