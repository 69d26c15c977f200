import { inspectSchema } from '../compose/inspect-store.ts'
import type { CommandResult } from './terminal.ts'
import { loadForStore, withService } from './with-service.ts'

/**
 * `countersign migrate`: brings the store to this version, as the first start of it would; with `dryRun` only says what that
 * changes. It can be stopped and run again at any point. @throws CliError `no_store`, UnsuitableStoreError
 */
export async function runMigrate({ dryRun = false }: { dryRun?: boolean }): Promise<CommandResult> {
  const { from, to, pending } = await inspectSchema(loadForStore())
  const migrated = !dryRun && from !== to
  if (migrated) await withService(async () => undefined)
  const value = { schema_version: migrated ? to : from, this_version: to, pending: migrated ? [] : pending }
  if (from >= to) return { value, text: `The store has schema version ${from}; nothing is to do.` }
  const steps = pending.map(({ title, documents }) => `- ${title} (${documents} documents)`)
  const lines = [
    migrated
      ? `The store now has schema version ${to} (before: ${from}).`
      : `The store has schema version ${from}; this version of Countersign changes it to ${to}:`,
    ...steps,
    migrated ? '- made the indexes that were missing' : '- makes the indexes that are missing',
    ...(migrated ? [] : ['Nothing was changed. Back up, then run: countersign migrate']),
  ]
  return { value, text: lines.join('\n') }
}
