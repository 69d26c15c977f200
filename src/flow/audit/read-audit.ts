import { type Account, may, roleIn } from '../../domain/account.ts'
import {
  type AuditEntry,
  type AuditPosition,
  type AuditRecord,
  type AuditType,
  isByTime,
} from '../../domain/audit.ts'
import { cutText } from '../../domain/cut-text.ts'
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

/** The part of the trail that is asked for. */
interface AuditQuery extends AuditFilter {
  /** The account's id; without it, the person's own account. */
  account?: string
  type?: AuditType
  /** The whole id of what the entries are about, or the name of people and keys. */
  subject?: string
  /** Id or name of an API key: entries about it and about the requests that it made. */
  key?: string
  /** Not before that time. */
  from?: Date
  /** Before that time. */
  to?: Date
  /** Exclusive: only older records. */
  before?: AuditPosition
}

/** Records that were looked at together. */
interface AuditBatch {
  /** The records that the person may see and asked for. */
  records: AuditRecord[]
  looked: number
  /** The position that the search has reached; undefined: there is nothing older. */
  next: AuditPosition | undefined
  /** The time of the oldest record looked at. */
  oldest: Date | undefined
}

/**
 * Returns a page of an account's entries, newest first. A page with fewer than `limit` is not always the last: a search
 * looks at a limited number of records, for a limited time; `searchedTo` tells how far back it got.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts
 */
export async function readAudit(
  deps: FlowDeps,
  person: User,
  query: AuditQuery & { limit: number },
): Promise<{ records: AuditRecord[]; next: AuditPosition | undefined; searchedTo?: Date }> {
  const { limit } = query
  const end = deps.clock.steady() + LONGEST_LOOK_MS
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
    if (found.length > limit || looked >= MOST_LOOKED_AT || deps.clock.steady() >= end) break
  }
  const records = found.slice(0, limit)
  if (found.length > limit) return { records, next: positionOf(records.at(-1), query) }
  return { records, next, ...(next && oldest && { searchedTo: oldest }) }
}

/** Records read at once; no more are held in memory, however long the trail is. */
const BATCH = 500

/**
 * Yields all matching entries of an account, newest first, in batches as they are consumed. Before each batch it
 * checks again whether the person may read them.
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

/** Records looked at together when some of them may have to be left out. */
const LOOK = 500

/**
 * Walks the trail of an account, newest first, in batches as it is consumed. Owners and auditors see all of it. Approvers see
 * the entries about requests that name them or on which they voted, and those about or by themselves, without the network
 * addresses of others.
 * @param limit size of a batch if every record found is wanted
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
  const { subject, manyOf, ...named } = await withNames(deps, account, query)
  const { type, from, to } = query
  const wanted = auditTest(named)
  const size = seesAll && wanted === undefined && manyOf === undefined ? limit : LOOK
  // Who has no account of their own would else not see their own entries anywhere.
  const places = !seesAll && person.no_account ? [account.id, person.account_id] : [account.id]
  const newestFirst = (a: AuditRecord, b: AuditRecord): number =>
    (isByTime(query) ? Number(b.entry?.at) - Number(a.entry?.at) : 0) || b.seq - a.seq
  let before = query.before
  for (;;) {
    const listed = { ...given({ type, subject, from, to, before }), limit: size }
    const lists = await Promise.all(places.map((account_id) => deps.trail.list({ ...listed, account_id })))
    const found = lists.flat().sort(newestFirst).slice(0, size)
    const legible = seesAll ? found : found.map((record) => withoutPlace(record, person))
    const asked = legible.filter(({ entry }) => entry !== undefined && (wanted?.(entry) ?? true))
    const ofKeys = manyOf === undefined ? asked : await ofRequestsBy(deps, manyOf, asked)
    const records = seesAll ? ofKeys : await concerning(deps, person, ofKeys)
    before = found.length < size ? undefined : positionOf(found.at(-1), query)
    yield { records, looked: found.length, next: before, oldest: found.at(-1)?.entry?.at }
    if (before === undefined) return
  }
}

/** The query with the ids of the people and keys that it names: the trail holds ids only. */
interface NamedQuery extends AuditFilter {
  subject?: string | readonly string[]
  /** Keys with too many requests to name each: the entries of these are looked for among all. */
  manyOf?: readonly string[]
}

/** The most requests of a key that the trail is asked for by their ids; of more, about every entry looked at is one. */
const MOST_NAMED = 1_000

async function withNames(
  deps: FlowDeps,
  account: Account,
  { actor, subject, key, q }: AuditQuery,
): Promise<NamedQuery> {
  const byName = (text: string | undefined, fits: (name: string, text: string) => boolean) => {
    const wanted = foldText((text ?? '').trim())
    const isName = wanted !== '' && !/^[a-z]{3}_[0-9a-z]{26}$/.test(wanted)
    return isName ? idsByName(deps, account, (name) => fits(name, wanted)) : undefined
  }
  const whole = (name: string, wanted: string): boolean => name === wanted
  const [actors, subjects, keys, named] = await Promise.all([
    byName(actor, whole),
    byName(subject, whole),
    byName(key, whole),
    byName(q, (name, wanted) => name.includes(wanted)),
  ])
  const about = subjects === undefined || subjects.size === 0 ? subject : [...subjects]
  const ids = keys === undefined ? [key ?? ''] : [...keys].filter((id) => isId('key', id))
  const ofKey = key !== undefined && (await aboutKeys(deps, account, ids, about))
  return given({ actor, actors, q, named, subject: about, ...(ofKey || {}) })
}

/** Narrows the query to entries about keys and about the requests that they made, as far as the service still has these. */
async function aboutKeys(
  { history }: FlowDeps,
  { id: account_id }: Account,
  keys: readonly string[],
  subject: NamedQuery['subject'],
): Promise<Pick<NamedQuery, 'subject' | 'manyOf'>> {
  const most = { account_id, limit: MOST_NAMED + 1 }
  const made = subject === undefined ? await history.madeWith(keys, most) : []
  return subject !== undefined || made.length > MOST_NAMED
    ? { manyOf: keys }
    : { subject: [...keys, ...made] }
}

async function ofRequestsBy(
  { history }: FlowDeps,
  keys: readonly string[],
  records: readonly AuditRecord[],
): Promise<AuditRecord[]> {
  const made = await history.madeWith(keys, { among: requestsIn(records) })
  const wanted = new Set([...keys, ...made])
  return records.filter(({ entry }) => entry !== undefined && wanted.has(entry.subject))
}

function requestsIn(records: readonly AuditRecord[]): string[] {
  const subjects = records.flatMap(({ entry }) => entry?.subject ?? [])
  return [...new Set(subjects.filter((subject) => subject.startsWith('req_')))]
}

/** Returns the position of a record in the order that the query asks for. */
function positionOf(record: AuditRecord | undefined, query: AuditQuery): AuditPosition | undefined {
  if (record?.entry === undefined) return undefined
  return isByTime(query) ? { seq: record.seq, at: record.entry.at } : { seq: record.seq }
}

async function concerning(
  { history }: FlowDeps,
  person: User,
  records: readonly AuditRecord[],
): Promise<AuditRecord[]> {
  const requests = requestsIn(records)
  const named = requests.length === 0 ? new Set() : await history.concerning(requests, person.id)
  return records.filter(
    ({ entry }) => entry !== undefined && (isOwn(entry, person) || named.has(entry.subject)),
  )
}

/** Removes another actor's network address, before the search: else searches for parts of an address could guess it. */
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
 * Details that hold one id, or several separated by spaces. No other detail is looked up: a text that a person chose could be
 * the id of a stranger.
 */
const ID_DETAILS = ['user_id', 'recipient', 'delegate', 'on_behalf_of', 'key_id', 'approvers']

/**
 * Returns the current names of the people and API keys in these records, by id. The trail keeps what was, without names,
 * so they are looked up for the person who may read the records. Keys of other accounts get no name, nor do people outside
 * the account. An invited person has the name that the owner gave; their own name shows once they accept.
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

/** The most characters of an action in a list of entries. */
const ACTION_LENGTH = 200

/** Returns the beginnings of the actions of the requests that these records are about, by id, as far as the person may read them. */
export async function actionsIn(
  deps: FlowDeps,
  person: User,
  records: readonly AuditRecord[],
  accountId?: string,
): Promise<Record<string, string>> {
  const subjects = records.map(({ entry }) => entry?.subject)
  const ids = new Set(subjects.filter((subject) => isId('req', subject)))
  if (ids.size === 0) return {}
  const { account, role } = await accessTo(deps, person, 'read_own', accountId)
  const whose = may(role, 'read_all') ? { account_id: account.id } : { person_id: person.id }
  const actions = await deps.history.actionsOf([...ids], whose)
  return Object.fromEntries([...actions].map(([id, action]) => [id, cutText(action, ACTION_LENGTH).text]))
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
