import { withTrail } from '../compose/inspect-store.ts'
import {
  AUDIT_TYPES,
  type AuditActor,
  type AuditEntry,
  type AuditRecord,
  type AuditType,
} from '../domain/audit.ts'
import type { TrailDeps } from '../flow/audit/check-states.ts'
import { usageError } from './cli-error.ts'
import { loadForStore } from './load-for-store.ts'
import { table } from './table.ts'
import type { CommandResult } from './tell.ts'

export interface AuditListOptions {
  account?: string
  type?: string
  subject?: string
  limit?: string
  json?: boolean
}

const DEFAULT_LIMIT = 50
const LONGEST = 10_000

/** A record, or an entry that still waits to become one. */
type Line = Partial<AuditRecord>

/** `countersign audit list`: what happened, newest first. */
export function runAuditList(options: AuditListOptions): Promise<CommandResult> {
  const limit = readLimit(options.limit)
  const filter = {
    ...(options.account === undefined ? {} : { account_id: options.account }),
    ...(options.type === undefined ? {} : { type: readType(options.type) }),
    ...(options.subject === undefined ? {} : { subject: options.subject }),
  }
  return withTrail(loadForStore(), async (deps) => {
    const waiting = await findWaiting(deps, filter)
    const records = await deps.trail.list({ ...filter, limit })
    const told = new Set(records.map(({ entry }) => entry?.eid))
    const lines = [...waiting.filter(({ entry }) => !told.has(entry?.eid)), ...records].slice(0, limit)
    return { value: lines.map(present), rows: true, text: describe(lines, filter) }
  })
}

/** Entries that no process has brought to the trail yet, as after a command while no service runs. */
async function findWaiting(
  { trail, survey }: TrailDeps,
  filter: Partial<Pick<AuditEntry, 'account_id' | 'type' | 'subject'>>,
): Promise<Line[]> {
  const found = await survey.waiting(LONGEST)
  const known = await trail.known(found.map(({ eid }) => eid))
  return found
    .filter((entry) => !known.has(entry.eid))
    .filter((entry) => filter.account_id === undefined || entry.account_id === filter.account_id)
    .filter((entry) => filter.type === undefined || entry.type === filter.type)
    .filter((entry) => filter.subject === undefined || entry.subject === filter.subject)
    .map((entry) => ({ entry }))
}

/** For programs: a record without its salt, which would let an erased entry be guessed. `seq` is null while it waits. */
function present({ seq, entry, content_sha256, hash }: Line) {
  const hashes = seq === undefined ? {} : { content_sha256, hash }
  if (entry === undefined) return { seq, erased: true, ...hashes }
  return {
    seq: seq ?? null,
    id: entry.eid,
    type: entry.type,
    at: entry.at.toISOString(),
    actor: entry.actor,
    account_id: entry.account_id ?? null,
    subject: entry.subject,
    detail: entry.detail ?? {},
    ...hashes,
  }
}

function describe(lines: readonly Line[], filter: object): string {
  if (lines.length > 0) return table(['NO.', 'TIME', 'WHAT', 'BY', 'ABOUT', 'DETAIL'], lines.map(row))
  return Object.keys(filter).length === 0
    ? 'Nothing has happened yet.'
    : 'Nothing in the trail fits; leave out --account, --type or --subject to see more.'
}

function row({ seq, entry }: Line): string[] {
  const place = seq === undefined ? 'waits' : String(seq)
  if (entry === undefined) return [place, '', 'erased', '', '', '']
  const detail = Object.entries(entry.detail ?? {}).map(([key, value]) => `${key}=${value}`)
  return [place, entry.at.toISOString(), entry.type, actor(entry.actor), entry.subject, detail.join(' ')]
}

const UNNAMED: Partial<Record<AuditActor['kind'], string>> = { cli: 'command line', public: 'anybody' }

function actor(by: AuditActor): string {
  const name = 'id' in by ? by.id : (UNNAMED[by.kind] ?? by.kind)
  return 'address' in by && by.address !== undefined ? `${name} from ${by.address}` : name
}

function readType(text: string): AuditType {
  const type = AUDIT_TYPES.find((known) => known === text)
  if (type === undefined)
    throw usageError(`${JSON.stringify(text)} is no type; choose among ${AUDIT_TYPES.join(', ')}.`)
  return type
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > LONGEST) throw usageError(`--limit takes a whole number from 1 to ${LONGEST}.`)
  return limit
}
