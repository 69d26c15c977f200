import type { AuditEntry, AuditType } from '../../src/domain/audit.ts'
import type { StoreConnection } from '../../src/store/mongo/connect.ts'
import type { TestService } from './service.ts'

/** As far as it is read here; `_id` is the place in the trail. */
interface TrailRecord {
  _id: number
  entry: AuditEntry
}

/** Which entries. */
export interface EntryFilter {
  type?: AuditType
  subject?: string
}

const SOURCES = [
  'requests',
  'api_keys',
  'accounts',
  'users',
  'signing_keys',
  'sessions',
  'webhooks',
  'deliveries',
  'bootstraps',
  'push_keys',
  'push_devices',
  'pushes',
  'audit_inbox',
]

/**
 * Audit entries, oldest first, whether they wait in their documents or are in the trail already: what moves from there to
 * here in between is seen once. Of one millisecond, those of the trail are in its order.
 */
export async function auditEntries(
  connection: StoreConnection,
  { type, subject }: EntryFilter = {},
): Promise<AuditEntry[]> {
  const entries = new Map<string, AuditEntry>()
  for (const name of SOURCES) {
    const found = await connection.collection<{ audit?: AuditEntry[] }>(name).find({}).toArray()
    for (const entry of found.flatMap(({ audit }) => audit ?? [])) entries.set(entry.eid, entry)
  }
  const trail = await connection.collection<TrailRecord>('audit_log').find({}).sort({ _id: 1 }).toArray()
  for (const { entry } of trail) entries.set(entry.eid, entry)
  return [...entries.values()]
    .filter((entry) => type === undefined || entry.type === type)
    .filter((entry) => subject === undefined || entry.subject === subject)
    .sort((a, b) => a.at.getTime() - b.at.getTime())
}

/** Those of a service; verifications that wait in memory are written first. */
export async function auditOf(service: TestService, filter: EntryFilter = {}): Promise<AuditEntry[]> {
  await service.composition.deps.verifications.flush()
  return auditEntries(service.composition.connection, filter)
}
