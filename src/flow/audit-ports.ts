import type { AuditEntry } from '../domain/audit.ts'
import type { AuditTrail } from './delivery-ports.ts'

/** A document as the trail must tell of it. */
export interface StateDocument {
  id: string
  /** The fields that were asked for. */
  facts: Record<string, unknown>
  /** Entries that the document holds for the relay. */
  waiting: AuditEntry[]
}

/** Reads the collections beside the trail; writes nothing. */
export interface StateSurvey {
  /** Documents in the order of their ids, after that id. A collection that is not there has none. */
  page(
    collection: string,
    fields: readonly string[],
    after: string | undefined,
    limit: number,
  ): Promise<StateDocument[]>
  /** Entries that wait in any document, newest first; some of them may be in the trail already. */
  waiting(limit: number): Promise<AuditEntry[]>
  /** Documents that somebody put into the trail's collection under an id no record can have; as text, for people. */
  strays(limit: number): Promise<string[]>
}

/** The trail and what it is checked against. */
export interface TrailDeps {
  trail: AuditTrail
  survey: StateSurvey
}
