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
import { headText } from './audit.ts'
import { trySecrets } from './backup.ts'
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
    const damage = await findDamage(dataDir)
    if (damage !== undefined)
      return broken('backup_damaged', `${path} is damaged: ${damage}. Keep an earlier backup.`)
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

async function secretsOf(config: Config): Promise<{ open: boolean | null; why?: string }> {
  const held = existsSync(join(config.dataDir, 'secrets.json'))
  if (!held && missingSecrets(config).length > 0) {
    commandLog().warn(
      {},
      'the secrets of the store are needed with it, and are neither beside it nor set here',
    )
    return { open: null }
  }
  return trySecrets(config)
}

/** Lets the work open a copy of the backup, since opening writes. @throws CliError when there is none */
export async function onCopyOf<Result>(
  path: string,
  work: (dataDir: string) => Promise<Result>,
): Promise<Result> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory()
  const database = isFolder ? join(path, 'store.db') : path
  if (isFolder === undefined || !existsSync(database))
    throw new CliError('no_backup', `There is no backup at ${path}: name its folder, or its file.`)
  const folder = await mkdtemp(join(tmpdir(), 'countersign-copy-'))
  try {
    for (const name of isFolder ? FILES : ['store.db']) {
      const from = isFolder ? join(path, name) : path
      if (existsSync(from)) await copyFile(from, join(folder, name), constants.COPYFILE_FICLONE)
    }
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
