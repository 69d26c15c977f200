import { findRunningStore } from 'embedded-mongo'
import { inspectHold, inspectLog, HELD_LISTED as LISTED } from '../compose/inspect-store.ts'
import { given } from '../domain/given.ts'
import { parseJson } from '../domain/parse-json.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { SetAside } from '../domain/restore.ts'
import { isRolledBack } from '../flow/audit/log.ts'
import type { LogState, WitnessOfLog } from '../flow/audit/read-log.ts'
import { renewLog } from '../flow/audit/renew-log.ts'
import {
  type Confirmed,
  confirmRequests,
  findHeld,
  type Held,
  liftHold,
  withdrawHeld,
} from '../flow/restore/restored-store.ts'
import { parseProof } from '../signing/log/checkpoint.ts'
import { NoteError, parseVkey } from '../signing/log/note.ts'
import { drawCopyMark } from './copy-mark.ts'
import { readInput } from './read-input.ts'
import { CliError, type CommandResult, oneLine, table, usageError } from './terminal.ts'
import { loadForStore, withService } from './with-service.ts'

const NOTHING = 'Nothing is held: this store was not restored from a copy, or its hold was lifted.'

const CLI = { kind: 'cli' } as const

/** `countersign restore status`: lists what is held after a restore, or what the first start on a copy will hold. Changes nothing. */
export async function runRestoreStatus(): Promise<CommandResult> {
  const config = loadForStore()
  const held = await inspectHold(config)
  if (held === undefined) return { value: { held: false }, text: NOTHING }
  const { id, copied_at, copied_by, copied_on, restored_at } = held.restore
  const value = {
    held: true,
    restore: { id, copied_at, copied_by, copied_on, restored_at: restored_at ?? null },
    pending: held.pending,
    approved: held.approved,
    set_aside: held.set_aside,
    requests: held.requests.map(presentHeld),
  }
  const copy = `a copy of ${copied_at.toISOString()} (${copied_by}, ${copied_on})`
  const lines = [
    ...(restored_at === undefined
      ? [`This store is ${copy} that was not started yet.`, `The first start will hold: ${counts(held)}.`]
      : [
          `Restored on ${restored_at.toISOString()} from ${copy}.`,
          `Held until you confirm: ${counts(held)}.`,
          `Set aside, since they may have been sent after the copy: ${setAside(held.set_aside)}. They are not sent by themselves.`,
        ]),
    ...(value.requests.length === 0
      ? []
      : ['', table(['REQUEST', 'STATE', 'EXPIRES', 'ACTION'], value.requests.map(row))]),
    ...(held.pending > LISTED || held.approved > LISTED ? [`The first ${LISTED} of each are shown.`] : []),
    '',
    'See what they did since the copy, then: countersign restore confirm [<request id> …] [--withdraw-open]',
    ...stoppedLog(await inspectLog(config)),
  ]
  return { value, text: lines.join('\n') }
}

function presentHeld({ id, status, expires_at, action }: ApprovalRequest) {
  return { id, status, expires_at: expires_at.toISOString(), action }
}

function row({ id, status, expires_at, action }: ReturnType<typeof presentHeld>): string[] {
  const state = status === 'pending' ? 'pending' : 'approved, unused'
  return [
    id,
    state,
    status === 'pending' ? expires_at : '',
    action.length > 60 ? `${action.slice(0, 59)}…` : action,
  ]
}

function counts({ pending, approved }: Held): string {
  return `${of(pending, 'pending request')} and ${of(approved, 'unused approval')}`
}

/** Says what was set aside, as `doctor` does. */
export function setAside({ callbacks, pushes, cards }: SetAside): string {
  return `${of(callbacks, 'callback')}, ${of(pushes, 'notification')} and ${of(cards, 'card')}`
}

function of(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

export interface ConfirmOptions {
  withdrawOpen?: boolean
}

/**
 * `countersign restore confirm [<req_id> …] [--withdraw-open]`: lifts the hold after a restore, as a whole or on these requests.
 * @throws CliError `nothing_held`
 */
export function runConfirmRestore(options: ConfirmOptions, ids: readonly string[]): Promise<CommandResult> {
  const withdrawOpen = options.withdrawOpen ?? false
  return withService(async (deps) => {
    const held = await findHeld(deps)
    if (held === undefined) throw new CliError('nothing_held', NOTHING)
    if (ids.length > 0)
      return describeConfirmed(await confirmRequests(deps, held, ids, { withdrawOpen, actor: CLI }))
    const withdrawn = withdrawOpen ? await withdrawHeld(deps, held, CLI) : 0
    const { approved, pending } = (await findHeld(deps)) ?? held
    await liftHold(deps, held, CLI)
    const log = await deps.logs.current()
    const lines = [
      `The hold is lifted. ${withdrawn > 0 ? `${of(withdrawn, 'pending request')} withdrawn; ` : ''}${counts({ ...held, pending, approved })} can be decided and used as before the copy.`,
      ...(pending > 0
        ? [
            'A request that was decided after the copy can now get a second, different receipt; “verify” adds a caution to it.',
          ]
        : []),
      ...(approved > 0 ? ['An approval that was used after the copy can be used once more.'] : []),
      ...stoppedLog(log && { origin: log.origin, rolled_back: isRolledBack(deps, log) }),
    ]
    return { value: { lifted: true, withdrawn, pending, approved }, text: lines.join('\n') }
  })
}

function describeConfirmed(confirmed: Confirmed): CommandResult {
  const { withdrawn, released, not_held } = confirmed
  const lines = [
    ...withdrawn.map((id) => `${id}: withdrawn`),
    ...released.map((id) => `${id}: can be decided or used as before the copy`),
    ...not_held.map((id) => `${id}: not held`),
  ]
  if (not_held.length === 0) return { value: confirmed, text: lines.join('\n') }
  const message = `not held: ${not_held.join(', ')}`
  return { value: confirmed, text: lines.join('\n'), failure: { error: 'not_held', message } }
}

/**
 * `countersign restore mark --copied-at <time>`: says that this store is a copy that another tool made, such as mongodump. The next
 * start then holds what is open in it.
 * @throws CliError `service_running`
 */
export async function runMarkCopy({ copiedAt = '' }: { copiedAt?: string }): Promise<CommandResult> {
  const at = new Date(copiedAt)
  if (!/^\d{4}-\d\d-\d\dT/.test(copiedAt) || Number.isNaN(at.getTime()) || at.getTime() > Date.now())
    throw usageError('--copied-at must be a past time such as 2026-03-04T09:30:00Z: when the copy was begun.')
  const config = loadForStore()
  const running = config.mongodbUri === undefined ? await findRunningStore(config.dataDir) : undefined
  if (running !== undefined)
    throw new CliError('service_running', `Process ${running.pid} uses this store; stop it first.`)
  const mark = drawCopyMark('operator', at)
  await withService((deps) => deps.restores.mark(mark), { reads: true })
  return {
    value: { id: mark.id, copied_at: mark.copied_at },
    text: 'Marked as a copy. The next start ends all sessions and links, and holds what is open in it: countersign restore status',
  }
}

/** `countersign log status`: how much of the audit trail is in the log. Changes nothing. */
export async function runLogStatus(): Promise<CommandResult> {
  const state = await inspectLog(loadForStore())
  if (state === undefined)
    return { value: { log: null }, text: 'There is no log yet; the next start begins one.' }
  const { origin, size, behind, signed_at, rolled_back } = state
  const witnesses = state.witnesses.map(({ cosigned_at, failing, ...witness }) => ({
    ...witness,
    cosigned_at: cosigned_at?.toISOString() ?? null,
    failing: failing === undefined ? null : { since: failing.since.toISOString(), why: failing.why },
  }))
  const value = { origin, size, behind, signed_at: signed_at?.toISOString() ?? null, rolled_back, witnesses }
  return { value: { log: value }, text: describe(state) }
}

/** Says what a witness last did, as `doctor` does. */
export function describeWitness({ size, cosigned_at, failing }: WitnessOfLog): string {
  const last =
    cosigned_at === undefined
      ? 'nothing cosigned yet'
      : `last cosigned ${cosigned_at.toISOString()}, ${size} records`
  return failing === undefined
    ? last
    : `${last}; failing since ${failing.since.toISOString()}, at first: ${failing.why}`
}

function describe({ origin, size, behind, signed_at, rolled_back, witnesses }: LogState): string {
  const when = signed_at === undefined ? 'none yet' : signed_at.toISOString()
  return [
    `Log ${origin}`,
    `Records: ${size}, and ${behind} of the audit trail that are not in it yet.`,
    `Last checkpoint: ${when}.`,
    ...witnesses.map((witness) => `Witness ${witness.name}: ${describeWitness(witness)}.`),
    ...stoppedLog({ origin, rolled_back }),
  ].join('\n')
}

/** Says that the log signs nothing more, and what to do; nothing of one that does. */
function stoppedLog(log: Pick<LogState, 'origin' | 'rolled_back'> | undefined): string[] {
  return log?.rolled_back ? [`The log was rolled back and signs nothing more. ${howToRenew(log)}`] : []
}

/** Says how a log that was rolled back goes on: a renewal after an older checkpoint than others hold cannot be taken back. */
export function howToRenew({ origin }: Pick<LogState, 'origin'>): string {
  return `Ask witnesses and monitors for their last checkpoint of ${origin}. Then: countersign log renew --after <its file>, or --after none if nobody has one (docs/proof.md)`
}

/** In place of the file of `--after`: the checkpoint in the store counts. */
const NONE = 'none'

export interface RenewOptions {
  after?: string
  vkey?: string
}

/**
 * `countersign log renew`: goes on under a new name after a restore, with the last known checkpoint as the first entry. The file is
 * one that a witness, a monitor or a bundle has; `none` must be said, since others would keep a checkpoint that nobody can continue.
 * @throws CliError `log_not_rolled_back`, `usage`
 */
export async function runRenewLog({ after, vkey }: RenewOptions): Promise<CommandResult> {
  if (after === undefined)
    throw usageError(
      'Name the last checkpoint that a witness, a monitor or a bundle has: --after <file>. Ask them first, since a renewal cannot be undone; if nobody has one: --after none.',
    )
  if (vkey !== undefined && after === NONE)
    throw usageError('--vkey is the key of the checkpoint of --after; name that file, too.')
  const text = after === NONE ? undefined : await readInput(after)
  const key = vkey === undefined ? undefined : await readable('--vkey', () => parseVkey(vkey))
  return withService(async (deps) => {
    const next = await readable(after, async () =>
      renewLog(deps, CLI, text === undefined ? undefined : { note: noteIn(text), ...given({ key }) }),
    )
    if (next === undefined)
      throw new CliError('log_not_rolled_back', 'The log was not rolled back, so it goes on under its name.')
    return {
      value: { ok: true, origin: next.origin, number: next.number },
      text: `The log goes on as ${next.origin}, under a new key. Give verifiers, witnesses and monitors the vkey of /.well-known/countersign-log; they add it and keep the old line.`,
    }
  })
}

/** Finds the checkpoint in what a monitor or a bundle has. @throws NoteError */
function noteIn(text: string): string {
  const { checkpoint, log } = Object(parseJson(text))
  const { proof } = Object(log)
  if (typeof proof === 'string') return parseProof(proof).checkpoint
  return typeof checkpoint === 'string' ? checkpoint : text
}

async function readable<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof NoteError) throw usageError(oneLine(`${what} cannot be used: ${error.message}.`))
    throw error
  }
}
