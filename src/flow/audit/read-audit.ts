import { type Account, may, roleIn } from '../../domain/account.ts'
import {
  type AuditEntry,
  type AuditPosition,
  type AuditRecord,
  type AuditType,
  isByTime,
} from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import {
  type AuditFilter,
  auditTest,
  foldText,
  LONGEST_LOOK_MS,
  MOST_LOOKED_AT,
} from '../../domain/search.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo, exportGuard } from '../people/accounts.ts'
import { idsByName } from '../people/names.ts'
import type { SignedIn } from '../people/sessions.ts'

/** Which part of the trail. */
interface AuditQuery extends AuditFilter {
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
interface AuditBatch {
  /** Those the person may see and asked for. */
  records: AuditRecord[]
  looked: number
  /** Up to where it was looked; undefined: there is nothing older. */
  next: AuditPosition | undefined
  /** When the oldest of them was. */
  oldest: Date | undefined
}

/**
 * A page of the entries of an account, newest first. It can hold fewer than `limit` and not be the last one: a search
 * looks at so many records, and for so long, only: `searchedTo` tells how far back.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts
 */
export async function readAudit(
  deps: FlowDeps,
  person: User,
  query: AuditQuery & { limit: number },
): Promise<{ records: AuditRecord[]; next: AuditPosition | undefined; searchedTo?: Date }> {
  const { limit } = query
  const end = deps.clock.now().getTime() + LONGEST_LOOK_MS
  const found: AuditRecord[] = []
  let looked = 0
  let next: AuditPosition | undefined
  let oldest: Date | undefined
  // One more than asked for tells whether there is a next page.
  for await (const batch of walkAudit(deps, person, query, limit + 1)) {
    found.push(...batch.records)
    looked += batch.looked
    next = batch.next
    oldest = batch.oldest
    if (found.length > limit || looked >= MOST_LOOKED_AT || deps.clock.now().getTime() >= end) break
  }
  const records = found.slice(0, limit)
  if (found.length > limit) return { records, next: positionOf(records.at(-1), query) }
  return { records, next, ...(next && oldest && { searchedTo: oldest }) }
}

/** Records read at once: what is held in memory, whatever the length of the trail. */
const BATCH = 500

/**
 * All entries of an account that fit, newest first, one batch after the other as they are consumed. Before each
 * batch it is checked again whether the person may.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts, `not_signed_in` when the session ended meanwhile,
 * `unavailable` when the service stops
 */
export async function* exportAudit(
  deps: FlowDeps,
  who: SignedIn,
  query: AuditQuery,
): AsyncGenerator<AuditRecord[], void, undefined> {
  const goOn = await exportGuard(deps, who, query.account)
  for await (const { records } of walkAudit(deps, who.user, query, BATCH)) {
    if (records.length > 0) yield records
    await goOn()
  }
}

/** Records looked at in one go, when some of them may have to be left out. */
const LOOK = 500

/**
 * The trail of an account, newest first, batch by batch as it is consumed: for owners and auditors all of it, for approvers
 * the entries about requests that name them or on which they voted, and those about and by themselves; from where others
 * did what they did is not for them.
 * @param limit records wanted at first, if all that are found are wanted
 * @throws Refusal `not_found` at the first step for malformed, unknown and foreign accounts
 */
async function* walkAudit(
  deps: FlowDeps,
  person: User,
  query: AuditQuery,
  limit: number,
): AsyncGenerator<AuditBatch, void, undefined> {
  const { account, role } = await accessTo(deps, person, 'read_own', query.account)
  const seesAll = may(role, 'read_all')
  const named = await withNames(deps, account, query)
  const { type, subject, from, to } = named
  const wanted = auditTest(named)
  const size = seesAll && wanted === undefined ? limit : LOOK
  let before = query.before
  for (;;) {
    const place = { account_id: account.id, ...given({ before }), limit: size }
    const found = await deps.trail.list({ ...given({ type, subject, from, to }), ...place })
    const legible = seesAll ? found : found.map((record) => withoutPlace(record, person))
    const asked = legible.filter(({ entry }) => entry !== undefined && (wanted?.(entry) ?? true))
    const records = seesAll ? asked : await concerning(deps, person, asked)
    before = found.length < size ? undefined : positionOf(found.at(-1), query)
    yield { records, looked: found.length, next: before, oldest: found.at(-1)?.entry?.at }
    if (before === undefined) return
  }
}

/**
 * The query with the ids of the people and keys whose names it says: the trail keeps ids alone. A subject that no id can be
 * is judged entry by entry.
 */
async function withNames(deps: FlowDeps, account: Account, query: AuditQuery): Promise<AuditQuery> {
  const { actor, subject, q } = query
  const byName = (text: string | undefined, fits: (name: string, text: string) => boolean) => {
    const wanted = foldText((text ?? '').trim())
    const isName = wanted !== '' && !/^[a-z]{3}_[0-9a-z]{26}$/.test(wanted)
    return isName ? idsByName(deps, account, (name) => fits(name, wanted)) : undefined
  }
  const [actors, subjects, named] = await Promise.all([
    byName(actor, (name, wanted) => name === wanted),
    byName(subject, (name, wanted) => name === wanted),
    byName(q, (name, wanted) => name.includes(wanted)),
  ])
  const { subject: _name, ...rest } = query
  return {
    ...(subjects !== undefined && subjects.size > 0 ? { ...rest, subjects } : query),
    ...(actors && { actors }),
    ...(named && { named }),
  }
}

/** The place of a record in the order that the query asks for. */
function positionOf(record: AuditRecord | undefined, query: AuditQuery): AuditPosition | undefined {
  if (record?.entry === undefined) return undefined
  return isByTime(query) ? { seq: record.seq, at: record.entry.at } : { seq: record.seq }
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

/**
 * Details that hold an id, or several with spaces between. Nothing else is looked up: a text that a person chose could be the
 * id of a stranger.
 */
const ID_DETAILS = ['user_id', 'recipient', 'delegate', 'on_behalf_of', 'key_id', 'approvers']

/**
 * What the people and API keys in these records are called now, by id. Names are no part of the trail, which keeps what
 * was, so they are looked up for the person who may read the records. Keys of other accounts stay without one, and so do
 * people who are not in the account: their own name shows once they accept. An invited person has the name the owner gave.
 */
export async function nameParties(
  deps: FlowDeps,
  { account_id }: Pick<User, 'account_id'>,
  records: readonly AuditRecord[],
  accountId: string = account_id,
): Promise<Record<string, string>> {
  const ids = new Set(records.flatMap(idsIn))
  const account = [...ids].some((id) => isId('usr', id)) ? await deps.accounts.find(accountId) : undefined
  const inside = account === undefined ? [] : [...ids].filter((id) => roleIn(account, id) !== undefined)
  const invited = (account?.members ?? []).flatMap(({ user_id, state, name }) =>
    state === 'invited' && ids.has(user_id) && name !== undefined ? [{ id: user_id, name }] : [],
  )
  const someKey = [...ids].some((id) => isId('key', id))
  const [users, keys] = await Promise.all([
    deps.users.findMany(inside),
    someKey ? deps.apiKeys.list(accountId) : [],
  ])
  const named = [...users, ...invited, ...keys.filter(({ id }) => ids.has(id))]
  return Object.fromEntries(named.map(({ id, name }) => [id, name]))
}

function idsIn({ entry }: AuditRecord): string[] {
  if (entry === undefined) return []
  const { actor, subject, detail = {} } = entry
  const facts = ID_DETAILS.flatMap((name) => {
    const value = detail[name]
    return typeof value === 'string' ? value.split(' ') : []
  })
  return ['id' in actor ? actor.id : '', subject, ...facts]
}
