import { constants, existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findDamage } from 'embedded-mongo'
import { inspectRestores, withTrail } from '../compose/inspect-store.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { missingSecrets } from '../config/secrets.ts'
import type { Restore } from '../domain/restore.ts'
import { checkTrail, type TrailReport } from '../flow/audit/check-trail.ts'
import { findHeld } from '../flow/restore/restored-store.ts'
import { headText } from './audit.ts'
import { runBackup, trySecrets } from './backup.ts'
import { CliError, type CommandResult, commandLog, usageError } from './terminal.ts'

/** The files of a backup. */
const FILES = ['store.db', 'store.db-wal', 'store.seal', 'secrets.json']

/**
 * `countersign backup verify <path>`: reads every page and document of a backup (a folder, or one file), recomputes its audit trail
 * and tries the secrets. Works on a copy in the folder for temporary files, so it changes nothing in the backup.
 * @throws CliError, StoreFileError
 */
export function runVerifyBackup(path: string): Promise<CommandResult> {
  if (path === '') throw usageError('Name the backup: a folder, or a .db file.')
  return onCopyOf(resolve(path), async (dataDir) => {
    const damaged = await brokenBy(path, dataDir)
    if (damaged !== undefined) return damaged
    const config = { ...loadConfig(), dataDir, mongodbUri: undefined }
    const mark = (await inspectRestores(config)).filter(({ state }) => state === 'copied').at(-1)
    const report = await withTrail(config, (deps) => checkTrail(deps))
    if (report.found > 0)
      return broken(
        'audit_trail_broken',
        `the audit trail in ${path} is broken; DATA_DIR=<a copy of it> countersign audit check names where.`,
      )
    return describe(path, mark, report, await secretsOf(config))
  })
}

/**
 * `countersign backup drill [<path>]`: restores a backup, or a copy of the store made now, in a folder for temporary files, starts a
 * service on it that only this machine can reach and that sends nothing, and checks what it answers and holds.
 * @throws CliError, StoreFileError, and what a start throws
 */
export async function runDrill(path = ''): Promise<CommandResult> {
  if (path !== '')
    return onCopyOf(resolve(path), async (dataDir) => (await brokenBy(path, dataDir)) ?? drill(dataDir))
  return inTemporaryFolder(async (folder) => {
    const copy = join(folder, 'copy')
    const made = await runBackup({ to: copy })
    return made.failure === undefined ? drill(copy) : made
  })
}

async function drill(dataDir: string): Promise<CommandResult> {
  const begun = performance.now()
  const place = { port: 0, host: '127.0.0.1', metricsPort: undefined }
  const config = {
    ...loadConfig(),
    ...place,
    dataDir,
    mongodbUri: undefined,
    slack: undefined,
    teams: undefined,
  }
  if (!hasSecrets(config))
    throw new CliError(
      'secrets_missing',
      `The secrets of the store are neither beside the backup nor set here; set ${missingSecrets(config).join(', ')}, or name a folder with its secrets.json.`,
    )
  const { serve } = await import('../serve.ts')
  const ignore = () => undefined
  const log = { ...commandLog(), info: ignore, warn: ignore }
  const service = await serve(config, { log, work: false })
  const seconds = (): number => Math.round((performance.now() - begun) / 100) / 10
  try {
    const ready = await fetch(`http://127.0.0.1:${service.port}/readyz`)
    const started_after = seconds()
    const { deps } = service.composition
    const held = await findHeld(deps)
    const open = await deps.sessions.notEnded(1)
    const missing = [
      ...(ready.status === 200 ? [] : [`/readyz answers ${ready.status}`]),
      ...(held === undefined ? ['nothing is held, since the backup has no mark'] : []),
      ...(open.length === 0 ? [] : ['sessions are still open']),
    ]
    await service.close()
    const report = await withTrail(config, (trail) => checkTrail(trail))
    if (report.found > 0) missing.push('its audit trail is broken')
    const { pending = 0, approved = 0 } = held ?? {}
    const value = {
      ok: missing.length === 0,
      started_after,
      seconds: seconds(),
      pending,
      approved,
      documents: report.documents,
    }
    if (missing.length > 0) {
      const message = `The drill failed: ${missing.join('; ')}. Keep the backup made before this one, and run: countersign backup verify <path>`
      return { value, text: message, failure: { error: 'drill_failed', message } }
    }
    const text = `The drill succeeded. A service was ready on the restored copy after ${started_after} s; it holds ${pending} pending requests and ${approved} unused approvals, and its audit trail is intact (${value.seconds} s in all). Nothing of it is left.`
    return { value, text }
  } finally {
    await service.close()
  }
}

/** Returns the answer about a damaged backup; undefined for one that is whole. */
async function brokenBy(path: string, dataDir: string): Promise<CommandResult | undefined> {
  const damage = await findDamage(dataDir)
  if (damage === undefined) return undefined
  return broken('backup_damaged', `${path} is damaged: ${damage}. Keep an earlier backup.`)
}

function broken(error: string, message: string): CommandResult {
  return { value: { ok: false }, text: message, failure: { error, message } }
}

function describe(
  path: string,
  mark: Restore | undefined,
  { records, documents, head }: TrailReport,
  secrets: { open: boolean | null; why?: string },
): CommandResult {
  const value = {
    ok: secrets.why === undefined,
    copied_at: mark?.copied_at.toISOString() ?? null,
    copied_on: mark?.copied_on ?? null,
    records,
    documents,
    head: headText(head),
    secrets_open: secrets.open,
  }
  const lines = [
    `${path} is whole: every document can be read, and its audit trail is intact.`,
    mark === undefined
      ? '  Copied     not by "countersign backup": after a restore nothing would be held'
      : `  Copied     ${value.copied_at} by ${mark.copied_on}`,
    `  Records    ${records}`,
    `  Documents  ${documents}`,
    `  Head       ${value.head}`,
    `  Secrets    ${SECRETS[String(secrets.open)]}`,
  ]
  if (secrets.why === undefined) return { value, text: lines.join('\n') }
  const message = `no service would start from it with the secrets set here: ${secrets.why}`
  return { value, text: [...lines, message].join('\n'), failure: { error: 'secrets_wrong', message } }
}

const SECRETS: Record<string, string> = {
  true: 'they open its signing keys',
  false: 'they do not open its signing keys',
  null: 'not tried: they are neither beside it nor set here',
}

function hasSecrets(config: Config): boolean {
  return existsSync(join(config.dataDir, 'secrets.json')) || missingSecrets(config).length === 0
}

async function secretsOf(config: Config): Promise<{ open: boolean | null; why?: string }> {
  if (!hasSecrets(config)) {
    commandLog().warn(
      {},
      'the secrets of the store are needed with it, and are neither beside it nor set here',
    )
    return { open: null }
  }
  return trySecrets(config)
}

/** Lets the work open a copy of the backup, since opening writes. @throws CliError when there is none */
async function onCopyOf<Result>(path: string, work: (dataDir: string) => Promise<Result>): Promise<Result> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory()
  const database = isFolder ? join(path, 'store.db') : path
  if (isFolder === undefined || !existsSync(database))
    throw new CliError('no_backup', `There is no backup at ${path}: name its folder, or its file.`)
  return inTemporaryFolder(async (folder) => {
    for (const name of isFolder ? FILES : ['store.db']) {
      const from = isFolder ? join(path, name) : path
      if (existsSync(from)) await copyFile(from, join(folder, name), constants.COPYFILE_FICLONE)
    }
    return work(folder)
  })
}

async function inTemporaryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-copy-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
