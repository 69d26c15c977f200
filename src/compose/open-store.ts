import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findRunningStore, StoreLockedError, startEmbeddedStore } from 'embedded-mongo'
import { type Config, ConfigError } from '../config/config.ts'
import { inShell, refuseLostStore } from '../config/secrets.ts'
import type { Log } from '../ports/ports.ts'

/** A store to connect to. */
export interface OpenStore {
  uri: string
  /** This process runs the embedded store itself; besides commands it is the only client. */
  own: boolean
  /** Resolves when the embedded store ends unexpectedly: nothing can be served any more. */
  failed?: Promise<Error>
  close(): Promise<void>
}

/** Another service holds the data directory. */
class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError'
}

/** How long to wait for a held store: a command holds the store of a stopped service for about a second. */
const PATIENCE_MS = 5_000
const GAP_MS = 100

/**
 * Opens the store of the configuration: `MONGODB_URI`, else the embedded store on the data directory.
 * @param share true for a command, which may use the store of a running service; a second service may not
 * @param log is told at once when another process holds the directory
 * @param options `restores`: the store that belongs to the secrets in the directory is about to be made again
 * @throws DataDirInUseError when the directory is still held after five seconds; StoreFileError; ConfigError when the store is lost
 */
export async function openStore(
  config: Pick<Config, 'mongodbUri' | 'dataDir' | 'secrets'>,
  share: boolean,
  log?: Pick<Log, 'warn'>,
  { restores = false } = {},
): Promise<OpenStore> {
  if (config.mongodbUri !== undefined) return external(config.mongodbUri)
  refuseUnwritable(config.dataDir)
  if (!restores) refuseLostStore(config)
  if (!share) warnOfOthers(config.dataDir, (told) => log?.warn({}, told))
  let until: number | undefined
  for (;;) {
    const running = share ? await findRunningStore(config.dataDir) : undefined
    if (running !== undefined) return external(running.uri)
    try {
      const store = await startEmbeddedStore({ dataDir: config.dataDir })
      return { uri: store.uri, own: true, failed: store.failed, close: () => store.close() }
    } catch (error) {
      if (!(error instanceof StoreLockedError)) throw error
      if (until === undefined) {
        until = performance.now() + PATIENCE_MS
        const told = `${error.pid === 0 ? 'another process' : `process ${error.pid}`} is using ${config.dataDir}; waiting for it, ${PATIENCE_MS / 1000} s at most`
        log?.warn({}, told)
      } else if (performance.now() > until) throw inUse(config.dataDir, error)
      await delay(GAP_MS)
    }
  }
}

/** Warns of an existing data directory that is open to others on this machine; a new one is made private. */
export function warnOfOthers(dataDir: string, warn: (told: string) => void): void {
  const others = othersIn(dataDir)
  if (others !== undefined) warn(`${others}; run: chmod 700 ${inShell(dataDir)}`)
}

/** @throws ConfigError when no store can be kept in the data directory */
export function refuseUnwritable(dataDir: string): void {
  refuse(whyUnwritable(dataDir), 'write')
}

/** A copy is made without a right to write. @throws ConfigError when the store in the data directory cannot be read */
export function refuseUnreadable(dataDir: string): void {
  refuse(whyClosed(dataDir, 'read', constants.R_OK), 'read')
}

function refuse(why: string | undefined, may: string): void {
  if (why === undefined) return
  const advice = `set DATA_DIR to a folder that this user may ${may}, or run this as the user of the service`
  throw new ConfigError([`DATA_DIR: ${why}; ${advice}`])
}

/** Says why no store can be kept there: the existing part of the path is no folder, or not writable. Makes nothing. */
export function whyUnwritable(dataDir: string): string | undefined {
  return whyClosed(dataDir, 'read and write', constants.R_OK | constants.W_OK)
}

/** The files of a data directory that a service reads and writes. */
export const STORE_FILES = ['secrets.json', 'store.db', 'store.db-wal', 'store.seal', 'store.guard'] as const

/** Returns the longest part of the path that exists. */
export function existingPart(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existingPart(dirname(path))
}

/** Says what others on this machine may do in an existing data directory: they could put another file in the place of the store. */
export function othersIn(dataDir: string): string | undefined {
  const mode = statSync(dataDir, { throwIfNoEntry: false })?.mode ?? 0
  if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined
  return `others can ${(mode & 0o022) === 0 ? 'look into' : 'write into'} ${dataDir}`
}

function whyClosed(dataDir: string, use: string, mode: number): string | undefined {
  const folder = existingPart(dataDir)
  if (!statSync(folder).isDirectory()) return `${folder} is a file`
  const files = STORE_FILES.map((name) => join(dataDir, name))
  const closed = [folder, ...files.filter(existsSync)].find((path) => !allows(path, mode))
  return closed === undefined ? undefined : `this user may not ${use} ${closed}`
}

function allows(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

function external(uri: string): OpenStore {
  return { uri, own: false, close: async () => undefined }
}

function inUse(dataDir: string, cause: StoreLockedError): DataDirInUseError {
  return new DataDirInUseError(
    `${cause.pid === 0 ? 'Another process' : `Process ${cause.pid}`} already uses ${dataDir}. Stop it, set another DATA_DIR, or run "countersign store" and point MONGODB_URI of all services at it.`,
    { cause },
  )
}

/**
 * Checks whether a store exists, which `openStore` would otherwise make. A MongoDB counts as existing, and so do a store file that
 * is lost, since its seal is left, and a folder that this user may not look into: opening it says what to do.
 */
export function hasStore({ mongodbUri, dataDir }: Pick<Config, 'mongodbUri' | 'dataDir'>): boolean {
  return mongodbUri !== undefined || ['store.db', 'store.seal'].some((name) => mayExist(join(dataDir, name)))
}

function mayExist(path: string): boolean {
  try {
    accessSync(path)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EACCES'
  }
}

/** Checks whether the configuration names the embedded store in its own data directory, directly or by the address of its socket. */
export async function isOwnStore({
  dataDir,
  mongodbUri,
}: Pick<Config, 'mongodbUri' | 'dataDir'>): Promise<boolean> {
  if (mongodbUri === undefined) return true
  const usual = encodeURIComponent(join(dataDir, 'run', 'store.sock'))
  const own = (await findRunningStore(dataDir))?.uri.split('/?')[0] ?? `mongodb://${usual}`
  return mongodbUri.startsWith(own)
}
