import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { backUpStore, findRunningStore } from 'embedded-mongo'
import { inspectStore } from '../compose/inspect-store.ts'
import { refuseUnreadable } from '../compose/open-store.ts'
import type { Config } from '../config/config.ts'
import { missingSecrets, otherSetting } from '../config/secrets.ts'
import { reasonOf } from './doctor/checks.ts'
import { CliError, type CommandResult, commandLog, usageError } from './terminal.ts'
import { loadForStore } from './with-service.ts'

/**
 * `countersign backup <folder>`: copies the embedded store as it is now, with the secrets that were made beside it, into a folder
 * that a service can start from, and tries the secrets on the copy. @throws CliError, StoreFileError
 */
export async function runBackup(folder: string): Promise<CommandResult> {
  if (folder === '') throw usageError('Name the folder to copy into.')
  const config = loadForStore()
  const { dataDir, secrets } = config
  await refuseNotEmbedded(config)
  refuseUnreadable(dataDir)
  const copy = resolve(folder)
  await backUpStore({ dataDir, to: copy, beside: ['secrets.json'] })
  const { size: bytes } = await stat(join(copy, 'store.db'))
  const held = existsSync(join(copy, 'secrets.json'))
  const secrets_missing = held ? [] : missingSecrets({ secrets })
  if (secrets_missing.length > 0) {
    const told = `the copy is useless without the secrets that the store was made with, and these are neither in ${dataDir} nor set here: ${secrets_missing.join(', ')}`
    commandLog().warn({}, told)
  }
  const tried = secrets_missing.length > 0 ? { open: false } : await trySecrets({ ...config, dataDir: copy })
  const value = { folder: copy, bytes, secrets: held, secrets_missing, secrets_open: tried.open }
  const holds = `${copy} contains the store (${Math.ceil(bytes / 1e6)} MB)${held ? ' and its secrets.json' : ''}`
  if (tried.why !== undefined) {
    const message = `no service would start from the copy with the secrets set here${held ? ' and its secrets.json' : ''}: ${tried.why}`
    commandLog().error({}, message)
    return { value, text: `${holds}.`, failure: { error: 'secrets_wrong', message } }
  }
  const given = Object.keys(secrets)
  const lines = [
    `${holds}, and it opens.`,
    ...(given.length > 0 ? [`Keep with it the secrets that the environment sets: ${given.join(', ')}.`] : []),
    'To restore it: stop the service, replace DATA_DIR with this folder, and start the service.',
  ]
  return { value, text: lines.join('\n') }
}

/** Tries on a copy whether its secrets open its signing keys, as a start would; `why` it would not start with them. */
async function trySecrets(config: Config): Promise<{ open: boolean; why?: string }> {
  try {
    const { keys, changed } = await inspectStore({ ...config, mongodbUri: undefined })
    const wrong = changed.filter((name) => name !== 'BASE_URL').map(otherSetting)
    if (keys instanceof Error) wrong.push(reasonOf(keys))
    return wrong.length === 0 ? { open: true } : { open: false, why: wrong.join(' ') }
  } catch (error) {
    // A disk for backups may take no socket, which a store that runs needs.
    commandLog().warn({ error }, 'trying the secrets on the copy failed')
    return { open: false }
  }
}

/** @throws CliError when MONGODB_URI names another store than the one in the data directory */
async function refuseNotEmbedded({ dataDir, mongodbUri }: Config): Promise<void> {
  if (mongodbUri === undefined) return
  const usual = encodeURIComponent(join(dataDir, 'run', 'store.sock'))
  const own = (await findRunningStore(dataDir))?.uri.split('/?')[0] ?? `mongodb://${usual}`
  if (mongodbUri.startsWith(own)) return
  const message = /\.sock(?:\/|\?|$)/.test(mongodbUri)
    ? `MONGODB_URI names a store other than the one in ${dataDir}: set DATA_DIR to the folder of that store.`
    : `MONGODB_URI names a store other than the one in ${dataDir}: back it up with the tools of that database, such as mongodump.`
  throw new CliError('not_embedded', message)
}
