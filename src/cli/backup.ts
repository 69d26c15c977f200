import { existsSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { backUpStore } from 'embedded-mongo'
import { inspectStore } from '../compose/inspect-store.ts'
import { isOwnStore, refuseUnreadable } from '../compose/open-store.ts'
import type { Config } from '../config/config.ts'
import { missingSecrets } from '../config/secrets.ts'
import { drawCopyMark, markDocument } from './copy-mark.ts'
import { syncFolder } from './sync-folder.ts'
import { CliError, type CommandResult, commandLog, readCount, usageError } from './terminal.ts'
import { loadForStore } from './with-service.ts'
import { wrongSecrets } from './wrong-secrets.ts'

export interface BackupOptions {
  to?: string
  keep?: string
}

/**
 * `countersign backup --to <path> [--keep <n>]`: copies the embedded store as it is now, marked as a copy, and tries the secrets on
 * the copy. Into a folder that a service can start from, with the secrets that were made beside the store; or, for a path that ends
 * in `.db`, into that one file. With `--keep` the copy gets a name with its time, and all but the newest n of these are removed.
 * @throws CliError, StoreFileError
 */
export async function runBackup(options: BackupOptions, folder?: string): Promise<CommandResult> {
  const path = options.to ?? folder ?? ''
  if (path === '' || (folder !== undefined && options.to !== undefined))
    throw usageError('Name one place for the copy, with --to: a folder, or a .db file.')
  const keep = options.keep === undefined ? undefined : readCount('--keep', options.keep, 9_999)
  const config = loadForStore()
  await refuseNotEmbedded(config)
  refuseUnreadable(config.dataDir)
  const mark = drawCopyMark('backup')
  const place = placeOf(resolve(path), keep === undefined ? undefined : mark.copied_at)
  if (place.isFile) refuseTaken(place.path)
  const making = place.isFile ? `${place.path}-part` : place.path
  await backUpStore({
    dataDir: config.dataDir,
    to: making,
    beside: place.isFile ? [] : ['secrets.json'],
    mark: markDocument(mark),
  })
  const result = await describeCopy(config, making, place).finally(
    () => place.isFile && moveOut(making, place.path),
  )
  if (keep === undefined || result.failure !== undefined) return result
  const removed = await removeOld(place, keep)
  const text = `${result.text}${removed.length === 0 ? '' : `\nRemoved ${removed.join(', ')}.`}`
  return { ...result, value: { ...Object(result.value), removed }, text }
}

/** Where a copy is made. */
interface Place {
  path: string
  isFile: boolean
  /** The names of copies that are made there again and again. */
  series?: RegExp
}

/** @param at makes a place of a series: a name with this time */
function placeOf(path: string, at: Date | undefined): Place {
  const isFile = extname(path) === '.db'
  if (at === undefined) return { path, isFile }
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '')
  const [folder, stem, end] = isFile
    ? [dirname(path), basename(path, '.db'), '.db']
    : [path, 'countersign', '']
  const literal = stem.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const series = new RegExp(`^${literal}-\\d{8}T\\d{6}Z${end === '' ? '' : '\\.db'}$`)
  return { path: join(folder, `${stem}-${time}${end}`), isFile, series }
}

/** @throws CliError */
function refuseTaken(file: string): void {
  if (existsSync(file)) throw new CliError('backup_exists', `${file} exists; name another file.`)
}

/** Gives the copy, which is durable, its name, and removes what else was made with it. */
async function moveOut(folder: string, file: string): Promise<void> {
  refuseTaken(file)
  await rename(join(folder, 'store.db'), file)
  await rm(folder, { recursive: true })
  await syncFolder(dirname(file))
}

/** Milliseconds after which an unfinished copy of a series counts as abandoned. */
const ABANDONED_MS = 24 * 3_600_000

/** Removes all but the newest copies of the series, and what interrupted ones left. @returns the names that were removed */
async function removeOld({ path, isFile, series }: Place, keep: number): Promise<string[]> {
  const folder = dirname(path)
  const names = (await readdir(folder)).sort().reverse()
  const isMember = (name: string): boolean => series?.test(name) ?? false
  const isWhole = (name: string): boolean =>
    isMember(name) && (isFile || existsSync(join(folder, name, 'store.db')))
  const isLeft = async (name: string): Promise<boolean> => {
    const unfinished = isFile ? isMember(name.replace(/-part$/, '')) : isMember(name)
    return unfinished && Date.now() - (await stat(join(folder, name))).mtimeMs > ABANDONED_MS
  }
  const whole = names.filter(isWhole)
  const removed = whole.slice(keep)
  for (const name of names) if (!whole.includes(name) && (await isLeft(name))) removed.push(name)
  for (const name of removed) await rm(join(folder, name), { recursive: true })
  return removed
}

/** Says what the copy holds, and whether a service would start from it. */
async function describeCopy(config: Config, folder: string, { path, isFile }: Place): Promise<CommandResult> {
  const { dataDir, secrets } = config
  const { size: bytes } = await stat(join(folder, 'store.db'))
  const held = existsSync(join(folder, 'secrets.json'))
  const secrets_missing = held ? [] : missingSecrets({ secrets })
  if (secrets_missing.length > 0) {
    const beside = isFile && existsSync(join(dataDir, 'secrets.json'))
    const told = beside
      ? `the copy is useless without ${join(dataDir, 'secrets.json')}, which one file does not hold: keep a copy of that, too, or back up into a folder`
      : `the copy is useless without the secrets that the store was made with, and these are neither in ${dataDir} nor set here: ${secrets_missing.join(', ')}`
    commandLog().warn({}, told)
  }
  const tried =
    secrets_missing.length > 0 ? { open: false } : await trySecrets({ ...config, dataDir: folder })
  const where = isFile ? { file: path } : { folder: path }
  const value = { ...where, bytes, secrets: held, secrets_missing, secrets_open: tried.open }
  const holds = `${path} contains the store (${Math.ceil(bytes / 1e6)} MB)${held ? ' and its secrets.json' : ''}`
  if (tried.why !== undefined) {
    const message = `no service would start from the copy with the secrets set here${held ? ' and its secrets.json' : ''}: ${tried.why}`
    commandLog().error({}, message)
    return { value, text: `${holds}.`, failure: { error: 'secrets_wrong', message } }
  }
  const given = Object.keys(secrets)
  const lines = [
    `${holds}, and it opens.`,
    ...(given.length > 0 ? [`Keep with it the secrets that the environment sets: ${given.join(', ')}.`] : []),
    isFile
      ? 'To restore it: stop the service, remove store.* from DATA_DIR, copy the file there as store.db, and start the service.'
      : 'To restore it: stop the service, replace DATA_DIR with this folder, and start the service.',
  ]
  return { value, text: lines.join('\n') }
}

/** Tries on a copy whether its secrets open its signing keys, as a start would; `why` it would not start with them. */
export async function trySecrets(config: Config): Promise<{ open: boolean; why?: string }> {
  try {
    const wrong = wrongSecrets(await inspectStore({ ...config, mongodbUri: undefined }))
    return wrong.length === 0 ? { open: true } : { open: false, why: wrong.join(' ') }
  } catch (error) {
    // A disk for backups may take no socket, which a store that runs needs.
    commandLog().warn({ error }, 'trying the secrets on the copy failed')
    return { open: false }
  }
}

/** @throws CliError when MONGODB_URI names another store than the one in the data directory */
async function refuseNotEmbedded(config: Config): Promise<void> {
  if (await isOwnStore(config)) return
  const { dataDir, mongodbUri = '' } = config
  const message = /\.sock(?:\/|\?|$)/.test(mongodbUri)
    ? `MONGODB_URI names a store other than the one in ${dataDir}: set DATA_DIR to the folder of that store.`
    : `MONGODB_URI names a store other than the one in ${dataDir}: back it up with the tools of that database, such as mongodump.`
  throw new CliError('not_embedded', message)
}
