import { isDeepStrictEqual } from 'node:util'
import type { AuditActor, AuditEntry } from '../domain/audit.ts'
import { canonicalize } from './canonical.ts'
import { sha256Hex } from './encoding.ts'

/**
 * The one form in which an entry goes into the trail: known fields only, well-formed text, finite numbers. What a caller
 * made us write down — an odd address, half a surrogate pair — must neither stop the trail nor come back from the store as
 * something else than was hashed.
 */
export function plainEntry(entry: AuditEntry): AuditEntry {
  return {
    eid: entry.eid.toWellFormed(),
    type: entry.type,
    at: new Date(entry.at),
    actor: plainActor(entry.actor),
    ...(typeof entry.account_id === 'string' ? { account_id: entry.account_id.toWellFormed() } : {}),
    subject: entry.subject.toWellFormed(),
    ...(entry.detail === undefined ? {} : { detail: plainDetail(entry.detail) }),
  }
}

/**
 * Hex SHA-256 over the UTF-8 of the RFC 8785 text `{"entry":{…},"salt":"<64 hex>"}`, `at` as ISO 8601 text with
 * milliseconds. The leaves of a Merkle tree (RFC 6962) can be built on it.
 * @throws CanonicalError for an entry that is not in its plain form
 */
export function contentHash(entry: AuditEntry, salt: string): string {
  return sha256Hex(canonicalize({ entry: { ...entry, at: entry.at.toISOString() }, salt }))
}

/** Is the entry in its plain form? One that came from the store and is not was altered there. */
export function isPlainEntry(entry: AuditEntry): boolean {
  try {
    return isDeepStrictEqual(plainEntry(entry), entry)
  } catch {
    return false
  }
}

function plainActor(actor: AuditActor): AuditActor {
  const address =
    'address' in actor && typeof actor.address === 'string' ? { address: actor.address.toWellFormed() } : {}
  switch (actor.kind) {
    case 'cli':
    case 'service':
      return { kind: actor.kind }
    case 'public':
      return { kind: actor.kind, ...address }
    default:
      return { kind: actor.kind, id: actor.id.toWellFormed(), ...address }
  }
}

function plainDetail(detail: NonNullable<AuditEntry['detail']>): NonNullable<AuditEntry['detail']> {
  return Object.fromEntries(Object.entries(detail).map(([key, value]) => [plainKey(key), plainValue(value)]))
}

/** Names that mean something to BSON, the driver or JavaScript (`$set`, `a.b`, `_bsontype`, `__proto__`) become words. */
function plainKey(key: string): string {
  return key.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '') || 'unnamed'
}

function plainValue(value: string | number | boolean): string | number | boolean {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value
  return String(value).toWellFormed()
}
