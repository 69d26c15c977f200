import type { AuditEntry } from '../../domain/audit.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { WITH_OUTBOX } from '../mongo/outbox.ts'
import type { SealedKey } from '../signing-keys.ts'

/** The part of a document with which the audit trail must agree. */
export interface StateDocument {
  id: string
  /** The requested fields. */
  facts: Record<string, unknown>
  /** Audit entries that the document still holds for the relay. */
  waiting: AuditEntry[]
}

interface OutboxDocument {
  _id: string
  audit?: AuditEntry[]
  [field: string]: unknown
}

export type StateSurvey = ReturnType<typeof createStateSurvey>

/**
 * Reads the collections beside the trail, on the driver and past the models, so that foreign documents are seen unchanged.
 */
export function createStateSurvey(connection: StoreConnection) {
  const read = async (
    collection: string,
    fields: readonly string[],
    filter: { _id: object },
    limit: number,
  ): Promise<StateDocument[]> => {
    const projection = Object.fromEntries(['audit', ...fields].map((field) => [field, 1]))
    const documents = connection.collection<OutboxDocument>(collection)
    // One batch: the default of 101 would take two commands.
    const options = { projection, limit, batchSize: limit + 1, sort: { _id: 1 } } as const
    const found = await documents.find(filter, options).toArray()
    return found.map(({ _id, audit, ...facts }) => ({ id: _id, facts, waiting: audit ?? [] }))
  }
  return {
    /** Returns documents in order of their ids, from after that id. A missing collection has none. */
    async page(
      collection: string,
      fields: readonly string[],
      after: string | undefined,
      limit: number,
    ): Promise<StateDocument[]> {
      return read(collection, fields, { _id: { $gt: after ?? '' } }, limit)
    },
    /** Returns those of these documents that exist, in order of their ids. */
    some: (collection: string, fields: readonly string[], ids: readonly string[]): Promise<StateDocument[]> =>
      read(collection, fields, { _id: { $in: [...ids] } }, ids.length),
    ...atLarge(connection),
    /** Returns the public halves of the signing keys. */
    async publicKeys(): Promise<(Omit<SealedKey, 'kid' | 'sealed_seed' | 'audit'> & { _id: string })[]> {
      const collection = connection.collection<Omit<SealedKey, 'kid'> & { _id: string }>('signing_keys')
      return collection.find({}, { projection: { sealed_seed: 0, audit: 0 } }).toArray()
    },
  }
}

/** Reads outside of the paging. */
function atLarge(connection: StoreConnection) {
  return {
    /** Returns audit entries that wait in any document, newest first; some may be in the trail already. */
    async waiting(limit: number): Promise<AuditEntry[]> {
      const filter = { outbox_token: { $gt: '' } }
      const entries: AuditEntry[] = []
      for (const name of Object.keys(WITH_OUTBOX)) {
        const collection = connection.collection<OutboxDocument>(name)
        const found = await collection.find(filter, { projection: { audit: 1 }, limit }).toArray()
        entries.push(...found.flatMap(({ audit }) => audit ?? []))
      }
      return entries.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, limit)
    },
    /** Returns, as text for people, ids in the trail's collection that no record can have: their documents came from outside. */
    async strays(limit: number): Promise<string[]> {
      // `$gte` matches numbers from 1 on; NaN, smaller numbers and all other types are strays.
      const filter = { _id: { $not: { $gte: 1 } } }
      const collection = connection.collection<{ _id: number }>('audit_log')
      const found = await collection.find(filter, { projection: { _id: 1 }, limit }).toArray()
      return found.map(({ _id }) => String(_id))
    },
  }
}
