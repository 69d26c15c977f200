import type { AuditEntry } from './audit.ts'
import { foldText, holdsText } from './search-text.ts'

/** What is asked of single entries, beyond what finds them. */
export interface AuditFilter {
  /** Whole id of who did it, or its kind. */
  actor?: string
  /** A part of anything that is told, in any case. */
  q?: string
}

/** Makes the test of one filter; undefined when it lets every entry through. */
export function auditTest({ actor, q = '' }: AuditFilter): ((entry: AuditEntry) => boolean) | undefined {
  const wanted = foldText(q.trim())
  if (actor === undefined && wanted === '') return undefined
  return (entry) =>
    (actor === undefined || isActor(entry, actor)) &&
    (wanted === '' || textsOf(entry).some((text) => holdsText(text, wanted)))
}

function isActor({ actor }: AuditEntry, wanted: string): boolean {
  return actor.kind === wanted || ('id' in actor && actor.id === wanted)
}

function textsOf({ type, subject, actor, detail }: AuditEntry): string[] {
  const id = 'id' in actor ? actor.id : ''
  const address = 'address' in actor ? (actor.address ?? '') : ''
  const facts = Object.entries(detail ?? {}).map(([key, value]) => `${key}: ${value}`)
  return [type, subject, actor.kind, id, address, ...facts]
}
