import type { AuditEntry } from './audit.ts'

/** Longest text to search for, in UTF-16 units. */
export const LONGEST_SEARCH = 200

/**
 * What one page of a search may cost: so many entries looked at, for so long. A rare word must cost neither a whole account,
 * nor the store a long moment.
 */
export const MOST_LOOKED_AT = 10_000
export const LONGEST_LOOK_MS = 100

/** One spelling for texts that differ in case only. Never a pattern: what comes from outside has no special characters. */
export function foldText(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/** Does the text hold what is searched for (already folded)? */
export function holdsText(text: string, folded: string): boolean {
  return foldText(text).includes(folded)
}

/** What is asked of single entries, beyond what finds them. */
export interface AuditFilter {
  /** Whole id of who did it, or its kind. */
  actor?: string
  /** Of people and keys that `actor` names. */
  actors?: ReadonlySet<string>
  /** Of those that `subject` names: the entry is about one of them. */
  subjects?: ReadonlySet<string>
  /** Of those whose names hold `q`. */
  named?: ReadonlySet<string>
  /** A part of any text that is shown, in any case. */
  q?: string
}

/** Makes the test of one filter; undefined when it lets every entry through. */
export function auditTest(filter: AuditFilter): ((entry: AuditEntry) => boolean) | undefined {
  const { actor, subjects, named = new Set(), q = '' } = filter
  const wanted = foldText(q.trim())
  if (actor === undefined && subjects === undefined && wanted === '') return undefined
  const holds = (text: string): boolean =>
    holdsText(text, wanted) || text.split(' ').some((word) => named.has(word))
  return (entry) =>
    (actor === undefined || isActor(entry, actor, filter.actors)) &&
    (subjects === undefined || subjects.has(entry.subject)) &&
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
