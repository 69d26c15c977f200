import { may } from '../../domain/account.ts'
import type { AuditEntry, AuditRecord, AuditType } from '../../domain/audit.ts'
import { type AuditFilter, auditTest } from '../../domain/search.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo } from '../people/accounts.ts'

export type AuditDeps = Pick<FlowDeps, 'accounts' | 'trail' | 'history'>

/** Where in the trail. `at` only where a stretch of time is asked for: that is told in the order of time. */
export interface AuditPosition {
  seq: number
  at?: Date
}

/** Which part of the trail. */
export interface AuditQuery extends AuditFilter {
  /** Of the account, or the person's own. */
  account?: string
  type?: AuditType
  subject?: string
  /** Not before that time. */
  from?: Date
  /** Before that time. */
  to?: Date
  /** Exclusive: only older records. */
  before?: AuditPosition
}

/** Some records that were looked at together. */
export interface AuditBatch {
  /** Those the person may see and asked for. */
  records: AuditRecord[]
  looked: number
  /** Up to where it was looked; undefined: there is nothing older. */
  next: AuditPosition | undefined
}

/** Records looked at in one go, when some of them may have to be left out. */
const LOOK = 500

/** Does the query ask for a stretch of time? */
export function isByTime({ from, to }: Pick<AuditQuery, 'from' | 'to'>): boolean {
  return from !== undefined || to !== undefined
}

/**
 * The trail of an account, newest first, batch by batch as it is consumed: for owners and auditors all of it, for approvers
 * the entries about requests that name them or on which they voted, and those about and by themselves; from where others
 * did what they did is not for them.
 * @param limit records wanted at first, if all that are found are wanted
 * @throws Refusal `not_found` at the first step for malformed, unknown and foreign accounts
 */
export async function* walkAudit(
  deps: AuditDeps,
  person: User,
  query: AuditQuery,
  limit: number,
): AsyncGenerator<AuditBatch, void, undefined> {
  const { account, role } = await accessTo(deps, person, 'read_own', query.account)
  const seesAll = may(role, 'read_all')
  const wanted = auditTest(query)
  const size = seesAll && wanted === undefined ? limit : LOOK
  let before = query.before
  for (;;) {
    const found = await readBatch(deps, account.id, { ...query, ...(before && { before }) }, size)
    const legible = seesAll ? found : found.map((record) => withoutPlace(record, person))
    const asked = legible.filter(({ entry }) => entry !== undefined && (wanted?.(entry) ?? true))
    const records = seesAll ? asked : await concerning(deps, person, asked)
    before = found.length < size ? undefined : positionOf(found.at(-1), query)
    yield { records, looked: found.length, next: before }
    if (before === undefined) return
  }
}

/** The place of a record in the order that the query asks for. */
export function positionOf(record: AuditRecord | undefined, query: AuditQuery): AuditPosition | undefined {
  if (record?.entry === undefined) return undefined
  return isByTime(query) ? { seq: record.seq, at: record.entry.at } : { seq: record.seq }
}

function readBatch(
  { trail }: Pick<FlowDeps, 'trail'>,
  account_id: string,
  query: AuditQuery,
  limit: number,
): Promise<AuditRecord[]> {
  const { type, subject, from, to, before } = query
  const about = { account_id, limit, ...(type && { type }), ...(subject === undefined ? {} : { subject }) }
  if (!isByTime(query)) return trail.list({ ...about, ...(before && { before: before.seq }) })
  const position = before?.at === undefined ? {} : { before: { seq: before.seq, at: before.at } }
  return trail.listByTime({ ...about, ...(from && { from }), ...(to && { to }), ...position })
}

async function concerning(
  { history }: Pick<FlowDeps, 'history'>,
  person: User,
  records: readonly AuditRecord[],
): Promise<AuditRecord[]> {
  const subjects = records.flatMap(({ entry }) => entry?.subject ?? [])
  const requests = [...new Set(subjects.filter((subject) => subject.startsWith('req_')))]
  const named = requests.length === 0 ? new Set() : await history.concerning(requests, person.id)
  return records.filter(
    ({ entry }) => entry !== undefined && (isOwn(entry, person) || named.has(entry.subject)),
  )
}

/** Before the search, too: what is asked for in parts could be guessed by them. */
function withoutPlace(record: AuditRecord, { id }: User): AuditRecord {
  const { entry } = record
  if (entry === undefined || !('address' in entry.actor) || entry.actor.address === undefined) return record
  const { address: _place, ...actor } = entry.actor
  if (actor.kind === 'user' && actor.id === id) return record
  return { ...record, entry: { ...entry, actor } }
}

function isOwn({ actor, subject }: AuditEntry, { id }: User): boolean {
  return subject === id || (actor.kind === 'user' && actor.id === id)
}
