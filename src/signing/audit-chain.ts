import { createHash } from 'node:crypto'
import type { AuditEntry, AuditRecord } from '../domain/audit.ts'
import { contentHash, isPlainEntry, plainEntry } from './audit-content.ts'
import { sha256Hex } from './encoding.ts'

/** Where a trail has got to: the number and the hash of its last record. */
export interface ChainHead {
  seq: number
  hash: string
}

/** The head of a trail without records. */
export const GENESIS: ChainHead = { seq: 0, hash: sha256Hex('countersign/audit-trail/v1') }

/** What can be wrong with the next record of a trail. */
export type ChainFlaw =
  /** Its number leaves one or more out. */
  | 'gap'
  /** Its number is none, or one that was there already. */
  | 'misnumbered'
  /** Entry, salt or content hash are not those that were written. */
  | 'changed'
  /** Its hash does not follow from the record before it: exchanged, moved, inserted, or its hash was changed. */
  | 'unlinked'

/**
 * Puts an entry behind the head. The 72 bytes that `hash` is the SHA-256 of:
 * hash of the record before (32) ‖ `seq` (8, unsigned, big-endian) ‖ `content_sha256` (32).
 * @param salt 32 random bytes in hex, drawn for this record
 */
export function linkEntry(head: ChainHead, entry: AuditEntry, salt: string): AuditRecord {
  const plain = plainEntry(entry)
  const seq = head.seq + 1
  const content_sha256 = contentHash(plain, salt)
  return { seq, entry: plain, salt, content_sha256, hash: linkHash(head.hash, seq, content_sha256) }
}

/** Is this record, as the store has it, the one that was written behind the head? An erased entry does not break the chain. */
export function flawOf(head: ChainHead, record: AuditRecord): ChainFlaw | undefined {
  if (!Number.isSafeInteger(record.seq) || record.seq <= head.seq) return 'misnumbered'
  if (record.seq !== head.seq + 1) return 'gap'
  if (!isHash(record.content_sha256) || !contentHolds(record)) return 'changed'
  return record.hash === linkHash(head.hash, record.seq, record.content_sha256) ? undefined : 'unlinked'
}

/** Only a record that lost entry and salt together counts as erased. */
export function isErased(record: AuditRecord): boolean {
  return record.entry === undefined && record.salt === undefined
}

function contentHolds(record: AuditRecord): boolean {
  if (!Object.keys(record).every((name) => FIELDS.has(name))) return false
  if (isErased(record)) return true
  const { entry, salt, content_sha256 } = record
  if (entry === undefined || !isHash(salt) || !isPlainEntry(entry)) return false
  try {
    return contentHash(entry, salt) === content_sha256
  } catch {
    // Nothing that was written is without a canonical form.
    return false
  }
}

const FIELDS: ReadonlySet<string> = new Set(['seq', 'entry', 'salt', 'content_sha256', 'hash'])

function linkHash(previous: string, seq: number, content: string): string {
  const bytes = Buffer.alloc(72)
  bytes.write(previous, 0, 32, 'hex')
  bytes.writeBigUInt64BE(BigInt(seq), 32)
  bytes.write(content, 40, 32, 'hex')
  return createHash('sha256').update(bytes).digest('hex')
}

function isHash(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)
}
