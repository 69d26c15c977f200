import { readFile } from 'node:fs/promises'
import { inspectLog } from '../compose/inspect-store.ts'
import { renewLog } from '../flow/audit/log.ts'
import type { LogState } from '../flow/audit/read-log.ts'
import { type Checkpoint, parseCheckpointText } from '../signing/log/checkpoint.ts'
import { parseNote } from '../signing/log/note.ts'
import { CliError, type CommandResult, usageError } from './terminal.ts'
import { loadForStore, withService } from './with-service.ts'

/** `countersign log status`: how much of the audit trail is in the log. Changes nothing. */
export async function runLogStatus(): Promise<CommandResult> {
  const state = await inspectLog(loadForStore())
  if (state === undefined)
    return { value: { log: null }, text: 'There is no log yet; the next start begins one.' }
  const { origin, size, behind, signed_at, rolled_back } = state
  const value = { origin, size, behind, signed_at: signed_at?.toISOString() ?? null, rolled_back }
  return { value: { log: value }, text: describe(state) }
}

function describe({ origin, size, behind, signed_at, rolled_back }: LogState): string {
  const when = signed_at === undefined ? 'none yet' : signed_at.toISOString()
  return [
    `Log ${origin}`,
    `Records: ${size}, and ${behind} of the audit trail that are not in it yet.`,
    `Last checkpoint: ${when}.`,
    ...(rolled_back ? ['Rolled back: it signs nothing more. Go on with: countersign log renew'] : []),
  ].join('\n')
}

/**
 * `countersign log renew`: goes on under a new name after a restore, with the last known checkpoint as the first entry. The file is
 * one that a witness, a monitor or a bundle has; without it, the one in the store counts.
 */
export async function runRenewLog(options: { after?: string }): Promise<CommandResult> {
  const follows = options.after === undefined ? undefined : await readCheckpoint(options.after)
  return withService(async (deps) => {
    const before = await deps.logs.current()
    if (follows !== undefined && follows.origin !== before?.origin)
      throw usageError(
        `The checkpoint is of the log ${follows.origin}, not of ${before?.origin ?? 'any log here'}.`,
      )
    const next = await renewLog(deps, { kind: 'cli' }, follows?.note)
    if (next === undefined)
      throw new CliError('log_not_rolled_back', 'The log was not rolled back, so it goes on under its name.')
    return {
      value: { ok: true, origin: next.origin, number: next.number },
      text: `The log goes on as ${next.origin}, under a new key. Give verifiers, witnesses and monitors what /.well-known/countersign-log says now.`,
    }
  })
}

async function readCheckpoint(path: string): Promise<Checkpoint & { note: string }> {
  try {
    const note = await readFile(path, 'utf8')
    return { note, ...parseCheckpointText(parseNote(note).text) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(`${path} holds no checkpoint: ${reason}`)
  }
}
