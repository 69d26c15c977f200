import { type AuditActor, type AuditEntry, type AuditRecord, drawEntry } from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import { subjectOf } from '../../signing/audit-chain.ts'
import { createAppender } from '../audit/append-to-trail.ts'
import { KEPT_TYPES } from '../audit/erasures.ts'
import type { FlowDeps } from '../deps.ts'

/** Whose records. */
export interface RecordsOf {
  id: string
  account_id: string
  /** Identities (`identityKey`) that the person had linked, also long ago. */
  chat: readonly string[]
  /** Requests whose hash of what was asked covers the name by which the caller had the outcome sent to the person. */
  notified: readonly string[]
}

/** Records read, and erased, at once. */
const PAGE = 500

type Doomed = Pick<AuditRecord, 'seq'> & { subject_sha256: string } & Pick<
    AuditEntry,
    'type' | 'subject' | 'account_id'
  >

/**
 * Finds the records in the trail by or about a person, or of the account that was theirs alone, except those that say what was
 * erased. @returns them, and the numbers of those about which an earlier call has said that they are erased
 */
export async function findRecords({ trail }: FlowDeps, person: RecordsOf) {
  const isTheirs = recogniser(person)
  const found: Doomed[] = []
  const told = new Set<number>()
  for (let from = 1; ; ) {
    const page = await trail.scan(from, PAGE)
    for (const record of page) {
      const { seq, entry } = record
      if (entry === undefined) continue
      const { type, subject, account_id, detail } = entry
      if (type === 'audit.erased' && detail?.person === person.id) told.add(Number(detail.seq))
      if (!KEPT_TYPES.includes(type) && isTheirs(entry))
        found.push({ seq, subject_sha256: subjectOf(record), type, subject, ...given({ account_id }) })
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return { found, told }
    from = last.seq + 1
  }
}

/**
 * Returns the chat identities (`identityKey`) that the person once linked, as the trail knows them until it is erased, except those
 * that are another person's by now.
 */
export async function pastIdentities({ trail, users }: FlowDeps, id: string): Promise<string[]> {
  const types = ['chat.linked', 'chat.unlinked'] as const
  const found = await Promise.all(types.map((type) => trail.list({ type, subject: id, limit: PAGE })))
  const keys = new Set<string>()
  for (const { entry } of found.flat()) {
    const identity = entry?.detail?.identity
    if (typeof identity === 'string') keys.add(identity)
  }
  const holders = await Promise.all([...keys].map((key) => users.findByIdentity(key)))
  return [...keys].filter((_key, index) => [undefined, id].includes(holders[index]?.id))
}

function recogniser({ id, account_id, chat, notified }: RecordsOf): (entry: AuditEntry) => boolean {
  const identities = new Set<unknown>(chat)
  const asked = new Set(notified)
  return ({ type, actor, subject, detail = {}, ...entry }) => {
    const about = entry.account_id === account_id || subject === id
    const by = 'id' in actor && (actor.id === id || identities.has(actor.id))
    return (
      about || by || identities.has(detail.identity) || (type === 'approval.created' && asked.has(subject))
    )
  }
}

/**
 * Erases the contents of these records; their hashes stay, so the chain holds. For each, an entry under the same subject says so
 * before: a crash in between leaves records that the next call erases.
 * @returns how many records of the person are erased in all
 */
export async function eraseRecords(deps: FlowDeps, person: RecordsOf, actor: AuditActor): Promise<number> {
  const { found, told } = await findRecords(deps, person)
  const append = createAppender(deps)
  const at = deps.clock.now()
  for (let start = 0; start < found.length; start += PAGE) {
    const some = found.slice(start, start + PAGE)
    const entries = some
      .filter(({ seq }) => !told.has(seq))
      .map(({ seq, type: of, subject, account_id }) => {
        const detail = { seq, of, person: person.id }
        return drawEntry(deps, { type: 'audit.erased', at, actor, account_id, subject, detail })
      })
    await append(entries)
    await deps.trail.erase(some.map(({ seq, subject_sha256 }) => ({ seq, subject_sha256 })))
  }
  return new Set([...told, ...found.map(({ seq }) => seq)]).size
}
