import type { AuditEntry, AuditType } from '../../domain/audit.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { WITH_OUTBOX } from '../mongo/outbox.ts'
import { findSound, isDamaged } from '../mongo/sound-reads.ts'
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

/** The fields of a request that its voters signed, or that the service signed for them. */
type VotedOn = Pick<
  ApprovalRequest,
  'id' | 'status' | 'sandbox' | 'action' | 'context_json' | 'context_sha256' | 'votes' | 'decision'
>

const SIGNED_FIELDS = ['status', 'sandbox', 'action', 'context_json', 'context_sha256', 'votes', 'decision']

/**
 * Reads the collections beside the trail, on the driver and past the models, so that foreign documents are seen unchanged.
 * Damaged documents are left out; `isDamaged` tells them from missing ones.
 */
export function createStateSurvey(connection: StoreConnection) {
  return {
    /** Returns documents in order of their ids, from after that id. A missing collection has none. */
    async page(
      collection: string,
      fields: readonly string[],
      after: string | undefined,
      limit: number,
    ): Promise<StateDocument[]> {
      const projection = Object.fromEntries(['audit', ...fields].map((field) => [field, 1]))
      const filter = { _id: { $gt: after ?? '' } }
      const documents = connection.collection<OutboxDocument>(collection)
      const found = await findSound(documents, filter, { projection, limit, sort: { _id: 1 } })
      return found.map(({ _id, audit, ...facts }) => ({ id: _id, facts, waiting: audit ?? [] }))
    },
    ...atLarge(connection),
    isDamaged: (collection: string, id: string) =>
      isDamaged(() => connection.collection<{ _id: string }>(collection).findOne({ _id: id })),
    /** Returns what audit entries of that type say about these subjects. */
    async told(
      type: AuditType,
      subjects: readonly string[],
    ): Promise<Map<string, { seq: number; detail: AuditEntry['detail'] }>> {
      const collection = connection.collection<{ _id: number; entry: AuditEntry }>('audit_log')
      const about = { 'entry.subject': { $in: [...subjects] }, 'entry.type': type }
      const found = await findSound(collection, about, {})
      return new Map(found.map(({ _id: seq, entry: { subject, detail } }) => [subject, { seq, detail }]))
    },
    /** Returns requests with votes in order of their ids, from after that id. A request tampered with may have another form. */
    async votedOn(after: string, limit: number): Promise<VotedOn[]> {
      const filter = { _id: { $gt: after }, 'votes.0': { $exists: true } }
      const projection = Object.fromEntries(SIGNED_FIELDS.map((field) => [field, 1]))
      const collection = connection.collection<Omit<VotedOn, 'id'> & { _id: string }>('requests')
      const found = await findSound(collection, filter, { projection, limit, sort: { _id: 1 } })
      return found.map(({ _id, ...request }) => ({ ...request, id: _id }))
    },
    /** Returns the public halves of the signing keys. */
    async publicKeys(): Promise<(Omit<SealedKey, 'kid' | 'sealed_seed' | 'audit'> & { _id: string })[]> {
      const collection = connection.collection<Omit<SealedKey, 'kid'> & { _id: string }>('signing_keys')
      return findSound(collection, {}, { projection: { sealed_seed: 0, audit: 0 } })
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
        const found = await findSound(collection, filter, { projection: { audit: 1 }, limit })
        entries.push(...found.flatMap(({ audit }) => audit ?? []))
      }
      return entries.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, limit)
    },
    /** Returns, as text for people, ids in the trail's collection that no record can have: their documents came from outside. */
    async strays(limit: number): Promise<string[]> {
      // `$gte` matches numbers from 1 on; NaN, smaller numbers and all other types are strays.
      const filter = { _id: { $not: { $gte: 1 } } }
      const collection = connection.collection<{ _id: number }>('audit_log')
      const found = await findSound(collection, filter, { projection: { _id: 1 }, limit })
      return found.map(({ _id }) => String(_id))
    },
  }
}
