import type { AuditEntry } from '../domain/audit.ts'
import type { Bootstrap, Consent } from '../domain/bootstrap.ts'
import type { OutboxEvent } from '../domain/event.ts'

/** What the owner's consent changes; `key_id` and `collect_by` come with an approval. */
export interface ConsentChange {
  consent: Consent
  key_id?: string
  collect_by?: Date
  events: OutboxEvent[]
  audit: AuditEntry[]
}

/** Agents' requests for keys. Every write is one conditional single-document write; the database's clock judges expiry. */
export interface BootstrapStore {
  /** @returns false when its slot is taken. */
  insert(bootstrap: Bootstrap): Promise<boolean>
  find(id: string): Promise<Bootstrap | undefined>
  findBySecret(hash: string): Promise<Bootstrap | undefined>
  /** Who holds these slots, the oldest first. */
  holders(slots: readonly string[]): Promise<Bootstrap[]>
  /** Pending and unexpired, for this account, the oldest first. */
  waitingFor(accountId: string): Promise<Bootstrap[]>
  /** Pending and unexpired → approved or rejected. @returns undefined when not so. */
  settle(id: string, change: ConsentChange): Promise<Bootstrap | undefined>
  /**
   * Counts a wrong matching code after `before` others; with `rejection` this one rejects.
   * @returns undefined when somebody else counted meanwhile, or it is no longer pending and unexpired
   */
  countWrongCode(id: string, before: number, rejection?: AuditEntry): Promise<Bootstrap | undefined>
  /** Pending and past its time → expired. @returns undefined when not so. */
  expire(id: string, audit: AuditEntry): Promise<Bootstrap | undefined>
  /** Pending → expired before its time: a newer request takes its place. @returns undefined when not so. */
  giveUp(id: string, audit: AuditEntry): Promise<Bootstrap | undefined>
  /** Takes a poll. @returns false when the last one was later than `before`. */
  poll(id: string, before: Date, at: Date): Promise<boolean>
  /** Approved and not noted as collected → noted. @returns undefined when not so. */
  noteCollected(
    id: string,
    collected: NonNullable<Bootstrap['collected']>,
    audit: AuditEntry,
  ): Promise<Bootstrap | undefined>
  /** Approved after `since`, and not noted as collected. */
  uncollected(since: Date, limit: number): Promise<Bootstrap[]>
  /** Pending and past their time, the longest lapsed first; `now` narrows the search only. */
  lapsed(now: Date, limit: number): Promise<Bootstrap[]>
  /** When the time of the next pending one is up. */
  nextExpiry(): Promise<Date | undefined>
  /** Deletes settled ones that ended before then and whose traces were carried on. @returns how many */
  deleteOld(before: Date, limit: number): Promise<number>
}
