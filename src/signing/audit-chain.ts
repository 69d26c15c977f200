import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AuditActor, AuditEntry, AuditRecord } from '../domain/audit.ts'
import { canonicalize } from './canonical.ts'
import { sha256Hex } from './digest.ts'

/** The head of a trail: the number and the hash of its last record. */
export interface ChainHead {
  seq: number
  hash: string
}

/** The head of a trail without records. */
export const GENESIS: ChainHead = { seq: 0, hash: sha256Hex('countersign/audit-trail/v1') }

/** The faults that the next record of a trail can have. */
export type ChainFlaw =
  /** Its number skips one or more. */
  | 'gap'
  /** Its number is not a whole number, or was there already. */
  | 'misnumbered'
  /** Entry, salt or content hash differ from those written. */
  | 'changed'
  /** Its hash does not follow from the record before: the record was exchanged, moved or inserted, or its hash was changed. */
  | 'unlinked'

/**
 * Appends an entry to the head. `hash` is the SHA-256 of 72 bytes:
 * hash of the previous record (32) ‖ `seq` (8, unsigned, big-endian) ‖ `content_sha256` (32).
 * @param salt 32 random bytes in hex, drawn for this record
 */
export function linkEntry(head: ChainHead, entry: AuditEntry, salt: string): AuditRecord {
  const plain = plainEntry(entry)
  const seq = head.seq + 1
  const content_sha256 = contentHash(plain, salt)
  return { seq, entry: plain, salt, content_sha256, hash: linkHash(head.hash, seq, content_sha256) }
}

/** Checks whether the stored record is the one that was appended to the head. An erased entry does not break the chain. */
export function flawOf(head: ChainHead, record: AuditRecord): ChainFlaw | undefined {
  if (!Number.isSafeInteger(record.seq) || record.seq <= head.seq) return 'misnumbered'
  if (record.seq !== head.seq + 1) return 'gap'
  if (!isHash(record.content_sha256) || !contentHolds(record)) return 'changed'
  return record.hash === linkHash(head.hash, record.seq, record.content_sha256) ? undefined : 'unlinked'
}

/**
 * Hex SHA-256 of the subject that the log's leaf names: as the entry says it, such as the hash of a receipt; of an entry that says
 * none, SHA-256('none' ‖ salt), so that nobody sees in the log which entries say one.
 */
export function subjectOf({ entry, salt, subject_sha256 }: AuditRecord): string {
  const said = subject_sha256 ?? entry?.detail?.subject_sha256
  if (isHash(said)) return said
  // Erased before the log was made.
  const drawn = isHash(salt) ? Buffer.from(salt, 'hex') : Buffer.alloc(0)
  return createHash('sha256').update('none').update(drawn).digest('hex')
}

/** Only a record without both entry and salt counts as erased. */
export function isErased(record: AuditRecord): boolean {
  return record.entry === undefined && record.salt === undefined
}

function contentHolds(record: AuditRecord): boolean {
  if (!Object.keys(record).every((name) => FIELDS.has(name))) return false
  const { entry, salt, content_sha256, subject_sha256 } = record
  if (isErased(record)) return subject_sha256 === undefined || isHash(subject_sha256)
  if (subject_sha256 !== undefined || entry === undefined || !isHash(salt) || !isPlainEntry(entry))
    return false
  try {
    return contentHash(entry, salt) === content_sha256
  } catch {
    // Every entry had a canonical form when it was written.
    return false
  }
}

const FIELDS: ReadonlySet<string> = new Set([
  'seq',
  'entry',
  'salt',
  'content_sha256',
  'subject_sha256',
  'hash',
])

function linkHash(previous: string, seq: number, content: string): string {
  const bytes = Buffer.alloc(72)
  // The record before may have been altered to hold anything.
  bytes.write(String(previous), 0, 32, 'hex')
  bytes.writeBigUInt64BE(BigInt(seq), 32)
  bytes.write(content, 40, 32, 'hex')
  return createHash('sha256').update(bytes).digest('hex')
}

/** Checks for 64 hex digits. */
export function isHash(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)
}

/**
 * Returns the only form in which an entry enters the trail: known fields, well-formed text, finite numbers. Text that comes
 * from a caller — an odd address, half a surrogate pair — must neither stop the trail nor come back from the store different
 * from what was hashed.
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
function contentHash(entry: AuditEntry, salt: string): string {
  return sha256Hex(canonicalize({ entry: { ...entry, at: entry.at.toISOString() }, salt }))
}

/** Checks whether the entry is in its plain form. A stored entry that is not was altered in the store. */
function isPlainEntry(entry: AuditEntry): boolean {
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

/** Turns names with a meaning for BSON, the driver or JavaScript (`$set`, `a.b`, `_bsontype`, `__proto__`) into plain words. */
function plainKey(key: string): string {
  return key.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '') || 'unnamed'
}

function plainValue(value: string | number | boolean): string | number | boolean {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value
  return String(value).toWellFormed()
}
