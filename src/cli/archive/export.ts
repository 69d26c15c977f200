import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { inspectKeys } from '../../compose/inspect-store.ts'
import { isOwnStore, refuseUnreadable } from '../../compose/open-store.ts'
import { type Config, SECRET_NAMES } from '../../config/config.ts'
import { buildInfo } from '../../config/package-path.ts'
import { missingSecrets, writtenSecrets } from '../../config/secrets.ts'
import { given } from '../../domain/given.ts'
import type { Manifest } from '../../store/archive/archive-format.ts'
import { type Source, surveyStore, writeArchive } from '../../store/archive/write-archive.ts'
import { readHello } from '../../store/clock.ts'
import type { Server } from '../../store/mongo/server.ts'
import { headText } from '../audit.ts'
import { drawCopyMark } from '../copy-mark.ts'
import { CliError, type CommandResult, commandLog, oneLine, usageError } from '../terminal.ts'
import { loadForStore } from '../with-service.ts'
import { wrongSecrets } from '../wrong-secrets.ts'
import { writeArchiveFile } from './archive-file.ts'
import { type Frozen, withFrozenStore, withRescuedStore } from './archive-store.ts'
import { chooseEncryption, type EncryptOptions } from './encryption.ts'
import { withProgress } from './progress.ts'

export interface ExportOptions extends EncryptOptions {
  salvage?: boolean
}

/**
 * `countersign export <file>`: writes everything of the store at one moment into an archive, which `countersign import` loads into a
 * store of either kind. Encrypted, it also holds the secrets, and so all that a service needs. @throws CliError, StoreFileError
 */
export async function runExport(file: string, options: ExportOptions): Promise<CommandResult> {
  if (file === '') throw usageError('Name the file to write.')
  const encrypt = await chooseEncryption(options)
  const config = loadForStore()
  const embedded = await isOwnStore(config)
  if (embedded) refuseUnreadable(config.dataDir)
  const path = resolve(file)
  // Of before the copy: what is later may be missing in it.
  const { copied_at, ...mark } = drawCopyMark('export')
  const copy = { ...mark, copied_by: 'export', copied_at: copied_at.toISOString() } as const
  const held = await writtenSecrets(config)
  const secrets = encrypt === undefined ? {} : { secrets: held }
  const manifest = await withProgress(({ show }) => {
    const write = async (source: Frozen, lost?: Manifest['lost']): Promise<Manifest> => {
      const { server, stopped } = source
      const about = { copy, stopped, ...buildInfo(), kind: server.kind, ...given({ lost }), ...secrets }
      const survey = await surveyStore(source, about)
      const lines = writeArchive(source, survey, show('Exporting'))
      await writeArchiveFile(path, checkedAtEnd(lines, source.check), encrypt)
      return survey
    }
    if (options.salvage) return withRescuedStore(refuseOther(config, embedded), write)
    return withFrozenStore(config, embedded, commandLog(), async (source) => {
      await refuseWrongSecrets(config, source)
      return write(source)
    })
  })
  const { size: bytes } = await stat(path)
  const missing = missingSecrets({ secrets: held })
  return present({ path, bytes, encrypted: encrypt !== undefined, missing }, manifest)
}

/** @throws CliError */
function refuseOther(config: Config, embedded: boolean): Config {
  if (embedded) return config
  throw new CliError(
    'not_embedded',
    '--salvage is for a damaged embedded store; MONGODB_URI names another one.',
  )
}

/** Lets a file get its name only if nothing wrote to the store meanwhile. */
async function* checkedAtEnd(lines: AsyncIterable<Uint8Array>, check: () => Promise<void>) {
  yield* lines
  await check()
}

/** @throws CliError if an archive could be used only with other secrets than are set here */
async function refuseWrongSecrets(
  config: Config,
  { connection }: Source & { server: Server },
): Promise<void> {
  const held = await writtenSecrets(config)
  if (missingSecrets({ secrets: held }).length > 0) return
  const { skewMs } = await readHello(connection)
  const wrong = wrongSecrets(await inspectKeys(config, connection, skewMs))
  if (wrong.length === 0) return
  throw new CliError(
    'secrets_wrong',
    `No service would start from this store with the secrets set here: ${wrong.join(' ')}`,
  )
}

interface Written {
  path: string
  bytes: number
  encrypted: boolean
  missing: string[]
}

function present({ path, bytes, encrypted, missing }: Written, manifest: Manifest): CommandResult {
  const { copy, stopped, store, audit_head, collections, lost } = manifest
  const documents = collections.reduce((sum, one) => sum + one.documents, 0)
  const secrets = encrypted && missing.length === 0
  const size = bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.ceil(bytes / 1e6)} MB`
  const needed = encrypted ? missing : SECRET_NAMES
  return {
    value: {
      file: path,
      bytes,
      documents,
      collections: Object.fromEntries(collections.map(({ name, documents: many }) => [name, many])),
      copied_at: copy.copied_at,
      stopped,
      store,
      audit_head: audit_head === null ? null : headText(audit_head),
      encrypted,
      secrets,
      secrets_missing: encrypted ? missing : [],
      lost,
    },
    text: [
      `${path} contains the store (${documents.toLocaleString('en')} documents, ${size})${secrets ? ', encrypted, with its secrets' : encrypted ? ', encrypted' : ''}.`,
      ...(secrets
        ? []
        : [
            `It does not hold ${needed.join(', ')}: the service needs them, as they are now, after an import.`,
          ]),
      ...(encrypted ? [] : ['It is not encrypted: keep it where nobody else can read it.']),
      ...(lost === undefined ? [] : tellLost(lost)),
      'To load it into an empty store: countersign import <file>',
    ].join('\n'),
  }
}

function tellLost(lost: NonNullable<Manifest['lost']>): string[] {
  if (lost.length === 0) return ['Every document in the store is whole; its newest writes may be missing.']
  return [
    'Not whole in the store, and missing in the archive (indexes are made anew by the import):',
    ...lost.map(({ collection, what, documents }) => {
      const many = documents > 1 ? `, ${documents} documents` : ''
      return `  ${oneLine(`${collection}: ${what}${many}`)}`
    }),
  ]
}
