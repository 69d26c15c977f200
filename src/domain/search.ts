import type { AuditEntry } from './audit.ts'

/** Length of the longest text that can be searched for, in UTF-16 units. */
export const LONGEST_SEARCH = 200

/**
 * The most that one page of a search may cost, in entries read and in time. The search for a rare word must not read a whole
 * account, nor keep the store busy for long.
 */
export const MOST_LOOKED_AT = 10_000
export const LONGEST_LOOK_MS = 100

/** Gives texts that differ only in case one spelling. The result is never used as a pattern: no character in it is special. */
export function foldText(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/** Checks whether a text contains the searched text, which is already folded. */
export function holdsText(text: string, folded: string): boolean {
  return foldText(text).includes(folded)
}

/** Conditions tested on each entry, beyond those in the store's query. */
export interface AuditFilter {
  /** The actor's whole id, or its kind. */
  actor?: string
  /** Ids of the people and keys whose name is `actor`. */
  actors?: ReadonlySet<string>
  /** Ids of the people and keys whose names contain `q`. */
  named?: ReadonlySet<string>
  /** Part of any text that the entry shows, in upper or lower case. */
  q?: string
}

/** Makes the test for a filter; undefined when the filter lets every entry through. */
export function auditTest(filter: AuditFilter): ((entry: AuditEntry) => boolean) | undefined {
  const { actor, named = new Set(), q = '' } = filter
  const wanted = foldText(q.trim())
  if (actor === undefined && wanted === '') return undefined
  const holds = (text: string): boolean =>
    holdsText(text, wanted) || text.split(' ').some((word) => named.has(word))
  return (entry) =>
    (actor === undefined || isActor(entry, actor, filter.actors)) &&
    (wanted === '' || textsOf(entry).some(holds))
}

function isActor({ actor }: AuditEntry, wanted: string, ids: ReadonlySet<string> = new Set()): boolean {
  return actor.kind === wanted || ('id' in actor && (actor.id === wanted || ids.has(actor.id)))
}

function textsOf({ type, subject, actor, detail }: AuditEntry): string[] {
  const id = 'id' in actor ? actor.id : ''
  const address = 'address' in actor ? (actor.address ?? '') : ''
  const facts = Object.entries(detail ?? {}).map(([key, value]) => `${key}: ${value}`)
  return [type, subject, actor.kind, id, address, ...facts]
}
