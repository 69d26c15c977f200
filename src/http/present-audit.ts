import type { AuditActor, AuditEntry, AuditRecord } from '../domain/audit.ts'

/** A record as the account's owner sees it, every field by name. The salt stays inside: it would let an erased entry be guessed. */
export function presentAudit({ seq, hash }: AuditRecord, entry: AuditEntry) {
  return {
    seq,
    id: entry.eid,
    type: entry.type,
    at: entry.at.toISOString(),
    actor: presentActor(entry.actor),
    subject: entry.subject,
    detail: entry.detail ?? {},
    hash,
  }
}

function presentActor(actor: AuditActor) {
  return {
    kind: actor.kind,
    ...('id' in actor ? { id: actor.id } : {}),
    ...('address' in actor && actor.address !== undefined ? { address: actor.address } : {}),
  }
}
