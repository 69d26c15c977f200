import type { AuditEntry } from '../domain/audit.ts'
import type { StateSurvey } from '../flow/audit-ports.ts'
import type { StoreConnection } from './connect.ts'

/** Every collection whose documents carry traces. */
const TRACED = [
  'requests',
  'api_keys',
  'accounts',
  'users',
  'signing_keys',
  'sessions',
  'webhooks',
  'deliveries',
  'cards',
  'push_keys',
  'push_devices',
  'pushes',
  'bootstraps',
  'audit_inbox',
]

interface TracedDocument {
  _id: string
  audit?: AuditEntry[]
  [field: string]: unknown
}

/** The survey on the driver: past the models, so that whatever somebody put there is seen as it is. */
export function createStateSurvey(connection: StoreConnection): StateSurvey {
  return {
    async page(collection, fields, after, limit) {
      const projection = Object.fromEntries(['audit', ...fields].map((field) => [field, 1]))
      const found = await connection
        .collection<TracedDocument>(collection)
        .find({ _id: { $gt: after ?? '' } }, { projection })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray()
      return found.map(({ _id, audit, ...facts }) => ({ id: _id, facts, waiting: audit ?? [] }))
    },
    async waiting(limit) {
      const filter = { relay: { $gt: '' } }
      const entries: AuditEntry[] = []
      for (const name of TRACED) {
        const collection = connection.collection<TracedDocument>(name)
        const found = await collection.find(filter, { projection: { audit: 1 }, limit }).toArray()
        entries.push(...found.flatMap(({ audit }) => audit ?? []))
      }
      return entries.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, limit)
    },
    async strays(limit) {
      // Numbers from 1 on match; NaN, smaller ones and every other type do not.
      const filter = { _id: { $not: { $gte: 1 } } }
      const collection = connection.collection<{ _id: number }>('audit_log')
      const found = await collection.find(filter, { projection: { _id: 1 }, limit }).toArray()
      return found.map(({ _id }) => String(_id))
    },
  }
}
