import { inspectKeys, type StoreReport } from '../../compose/inspect-store.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import {
  keepSecrets,
  missingSecrets,
  otherSecrets,
  otherSetting,
  writtenSecrets,
} from '../../config/secrets.ts'
import { given } from '../../domain/given.ts'
import { checkTrail, type TrailReport } from '../../flow/audit/check-trail.ts'
import { ArchiveError } from '../../store/archive/archive-format.ts'
import { addMarks, compareLoaded, createLoader } from '../../store/archive/load-archive.ts'
import { type Archive, readArchive } from '../../store/archive/read-archive.ts'
import { readHello } from '../../store/clock.ts'
import { SCHEMA_VERSION } from '../../store/schema/migrations.ts'
import { headText } from '../audit.ts'
import { CliError, type CommandResult, commandLog, usageError } from '../terminal.ts'
import { wrongSecrets } from '../wrong-secrets.ts'
import { type ArchiveFile, openArchiveFile } from './archive-file.ts'
import { type ImportTarget, withImportTarget } from './archive-store.ts'
import { type Progress, withProgress } from './progress.ts'

export interface ImportOptions {
  identity?: string
  move?: boolean
}

const NOT_STOPPED =
  'A service worked on the store while this archive was made, so it may have decided something since: stop every process, export again, and import that with --move. Or import this one without --move: what is open in it is then held until you confirm it.'

/** A damaged log may have lost the newest writes as a whole: then nothing in the file says that they were there. */
const SALVAGED =
  'This archive was saved from a damaged store, whose newest writes may be missing: an approval may have been used, or a request decided, without a trace. Import it without --move: what is open in it is then held until you confirm it.'

const HELD =
  'Now start the service. It holds what was pending or approved and unused in the archive, until you run: countersign restore confirm (countersign restore status shows it).'

interface How {
  progress: Progress
  /** See `addMarks`. */
  move: boolean
}

/**
 * `countersign import <file>`: loads an archive into an empty store. The whole archive is checked before anything is written. An import
 * that was killed goes on when it is run again; until it has ended, no service starts on the store. @throws CliError, ArchiveError
 */
export async function runImport(file: string, options: ImportOptions): Promise<CommandResult> {
  if (file === '') throw usageError('Name the archive.')
  const config = loadConfig()
  return withProgress(async (progress) => {
    const source = await openArchiveFile(file, options.identity).catch(inFile(file))
    const archive = await checkArchive(source, progress).catch(inFile(file))
    return importArchive(config, { source, archive }, { progress, move: options.move ?? false })
  })
}

/** @throws CliError, ArchiveError */
async function importArchive(
  config: Config,
  { source, archive }: { source: ArchiveFile; archive: Archive },
  how: How,
): Promise<CommandResult> {
  const { secrets = {}, stopped } = archive.manifest
  if (how.move && archive.manifest.lost !== undefined) throw new CliError('salvaged', SALVAGED)
  if (how.move && !stopped) throw new CliError('not_stopped', NOT_STOPPED)
  const others = await otherSecrets(config, secrets)
  const all = { ...secrets, ...config.secrets }
  if (others.length > 0) throw new CliError('secrets_differ', others.map(otherSetting).join(' '))
  return withImportTarget(config, archive.sha256, commandLog(), async (target) => {
    await load(target, source, archive, how)
    const report = await checkAudit(target, archive, how.progress)
    if (missingSecrets(config).length > 0 && missingSecrets({ secrets: all }).length === 0)
      await keepSecrets(config.dataDir, all)
    const held = await writtenSecrets(config)
    const missing = missingSecrets({ secrets: held })
    const { skewMs } = await readHello(target.connection)
    const keys = missing.length > 0 ? undefined : await inspectKeys(config, target.connection, skewMs)
    return present(archive, { report, move: how.move, missing, keys })
  })
}

/** Names the file in an error about it. */
function inFile(file: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ArchiveError)) throw error
    throw new ArchiveError(`${file} cannot be imported: ${error.message}. Nothing was written.`, {
      cause: error,
    })
  }
}

/** Reads the whole archive without writing anything. @throws ArchiveError */
async function checkArchive(source: ArchiveFile, progress: Progress): Promise<Archive> {
  const show = progress.show('Checking')
  const archive = await readArchive(await source.read(), show)
  if (archive.manifest.schema_version > SCHEMA_VERSION)
    throw new ArchiveError('a newer version wrote it; import it with that version')
  return archive
}

async function load(
  { connection, hold, makeIndexes, prepare }: ImportTarget,
  source: ArchiveFile,
  { manifest, parts, sha256 }: Archive,
  { progress, move }: How,
): Promise<void> {
  if (hold.step === 'documents') {
    // Documents of an older version may not fit them yet.
    if (manifest.schema_version === SCHEMA_VERSION) await makeIndexes()
    const loader = createLoader(connection, hold, progress.show('Importing'))
    const again = await readArchive(await source.read(), loader.add)
    await loader.end()
    if (again.sha256 !== sha256) throw new ArchiveError('the archive changed while it was read')
    await compareLoaded(connection, parts, progress.show('Comparing'))
    await hold.loaded()
  }
  await addMarks(connection, manifest, move)
  await prepare()
}

/** Checks the trail of what was imported. */
function checkAudit(
  { audit }: ImportTarget,
  { manifest }: Archive,
  progress: Progress,
): Promise<TrailReport> {
  const show = progress.show('Checking')
  const { audit_head } = manifest
  return checkTrail(audit(), {
    ...(audit_head === null ? {} : { expect: audit_head }),
    onProgress: (done) =>
      'records' in done
        ? show({
            collection: 'the audit trail',
            documents: done.records,
            of: audit_head?.seq ?? done.records,
          })
        : show({ collection: 'the documents', documents: done.documents, of: done.documents + 1 }),
  })
}

interface Imported {
  report: TrailReport
  /** See `addMarks`. */
  move: boolean
  /** Secrets that are neither in the archive nor here. */
  missing: readonly string[]
  keys: Pick<StoreReport, 'keys' | 'changed'> | undefined
}

function present({ manifest, sha256 }: Archive, { report, move, missing, keys }: Imported): CommandResult {
  const { copy, collections, store } = manifest
  const documents = collections.reduce((sum, one) => sum + one.documents, 0)
  const wrong = keys === undefined ? [] : wrongSecrets(keys)
  const moved = keys?.changed.includes('BASE_URL') ? [`warning: ${otherSetting('BASE_URL')}`] : []
  const head = headText(report.head)
  return {
    value: {
      documents,
      copied_at: copy.copied_at,
      store,
      sha256,
      audit: { ok: report.found === 0, records: report.records, head },
      secrets_missing: missing,
      secrets_open: keys !== undefined && wrong.length === 0,
    },
    text: [
      `Imported ${documents.toLocaleString('en')} documents, as they were at ${copy.copied_at}: each was compared with the archive, and the indexes are made.`,
      `Head of the audit trail: ${head}`,
      ...moved,
      ...(missing.length === 0
        ? []
        : [
            `Before the service starts, set the secrets that the store was made with: ${missing.join(', ')}.`,
          ]),
      ...(failureOf(report, wrong) === undefined ? [move ? 'Now start the service.' : HELD] : []),
    ].join('\n'),
    ...given({ failure: failureOf(report, wrong) }),
  }
}

/** Everything is imported all the same: what is wrong was so before. */
function failureOf({ found }: TrailReport, wrong: readonly string[]): CommandResult['failure'] {
  if (found > 0)
    return {
      error: 'audit_trail_broken',
      message: `The audit trail does not hold (${found} findings), as it did not in the store that was exported. Run: countersign audit check`,
    }
  if (wrong.length > 0)
    return {
      error: 'secrets_wrong',
      message: `No service would start with the secrets set here: ${wrong.join(' ')}`,
    }
  return undefined
}
