import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { CallbackOutbox } from '../domain/request.ts'
import type { OutcomeClass } from '../domain/retry.ts'
import type { Attempt, Delivery, Webhook } from '../domain/webhook.ts'
import type { ListPosition } from '../store/filters.ts'

/** What a document's writes left to be carried on: told to webhooks, copied to the audit trail. */
export interface Trace {
  /** Id of the document. */
  id: string
  /** Changes with every write that adds to the trace. */
  token: string
  account_id?: string
  events: OutboxEvent[]
  audit: AuditEntry[]
  /** Requests: the callback that the deciding write left. */
  callback?: CallbackOutbox & { request_id: string; api_key_id: string }
}

/** A collection whose documents carry traces. */
export interface TraceSource {
  name: string
  /** In the order of their tokens. `after`: only greater tokens, so that what cannot be settled does not come again. */
  due(limit: number, after?: string): Promise<Trace[]>
  /** Empties each trace to which nothing was added since it was read; the others stay due. */
  settle(traces: readonly Trace[]): Promise<void>
}

/** How an attempt ends in the store. */
export interface DeliveryResult {
  state: Delivery['state']
  next_at: Date
  tries: number
  attempts: Attempt[]
  events: OutboxEvent[]
  audit: AuditEntry[]
}

export interface DeliveryStore {
  /** Those whose {event, target} exists already are left out. */
  insertNew(deliveries: readonly Delivery[]): Promise<void>
  find(id: string): Promise<Delivery | undefined>
  /**
   * Takes the delivery that is due longest, or whose lease ended, until `leaseEnds`. `interrupted` tells that an earlier
   * attempt never reported back.
   */
  claim(query: {
    now: Date
    leaseEnds: Date
    /** Hosts that have enough attempts under way. */
    busyHosts: readonly string[]
    /** Accounts that have enough attempts under way. */
    busyAccounts: readonly string[]
  }): Promise<{ delivery: Delivery; interrupted: boolean } | undefined>
  /** Takes this one, if it is due. */
  claimOne(id: string, now: Date, leaseEnds: Date): Promise<Delivery | undefined>
  /** Writes what became of the claimed attempt. @returns false when the claim is no longer the newest. */
  finish(id: string, claim: number, result: DeliveryResult): Promise<boolean>
  /** Starts a new round of a delivery that rests. @returns undefined when it is under way or not of that account. */
  replay(id: string, accountId: string, at: Date, audit: AuditEntry): Promise<Delivery | undefined>
  /**
   * Deletes some that came to rest before that time; never one whose trace still waits.
   * @returns how many, at most `limit`
   */
  deleteRested(before: Date, limit: number): Promise<number>
  /** When the next delivery is due or its lease ends. */
  nextDue(): Promise<Date | undefined>
  /** Newest first. */
  list(query: {
    account_id: string
    webhook_id?: string
    request_id?: string
    /** Only those that were given up, and no tests: a test has one try and is not sent again. */
    given_up?: true
    limit: number
    before?: ListPosition
  }): Promise<Delivery[]>
}

export interface WebhookStore {
  insert(webhook: Webhook): Promise<void>
  find(id: string): Promise<Webhook | undefined>
  /** Not deleted ones, oldest first. */
  list(accountId: string): Promise<Webhook[]>
  countLive(accountId: string): Promise<number>
  /** Active ones of these accounts. */
  activeOf(accountIds: readonly string[]): Promise<Webhook[]>
  /** @returns undefined when there is no such, or it is deleted. */
  rotate(
    id: string,
    accountId: string,
    secret: { sealed_secret: string; previous_secret: NonNullable<Webhook['previous_secret']> },
    replaces: string,
    audit: AuditEntry,
  ): Promise<Webhook | undefined>
  /** active → disabled. @returns false when it was not active. */
  disable(id: string, at: Date, audit: AuditEntry): Promise<boolean>
  /** disabled → active. @returns undefined when it was not disabled, or is not of that account. */
  enable(id: string, accountId: string, audit: AuditEntry): Promise<Webhook | undefined>
  remove(id: string, accountId: string, audit: AuditEntry): Promise<Webhook | undefined>
  addAudit(id: string, audit: AuditEntry): Promise<void>
  /** Removes the secrets from before rotations that sign nothing any more at `now`. */
  forgetPreviousSecrets(now: Date): Promise<void>
}

/** What one attempt came to; the response's body is neither kept nor told (T7). */
export interface AttemptOutcome {
  outcome: OutcomeClass
  duration_ms: number
  /** Whole seconds, from the `Retry-After` header of an answer that is not 2xx. */
  retry_after?: number
  /** Resolves when the connection is gone: the receiver may hold it open after its answer. Absent when it is gone already. */
  closed?: Promise<void>
}

/** Sends webhooks behind the address guard (T1–T8). */
export interface WebhookSender {
  /** Exactly one attempt; never throws. The first secret is the current one. */
  send(message: {
    url: string
    eventId: string
    body: string
    at: Date
    secrets: readonly [string, ...string[]]
  }): Promise<AttemptOutcome>
  close(): void
}

/** Checks an address that a caller wants called, before anything is stored: pure, without DNS. */
export interface TargetUrls {
  /** `href`: the parsed form, the only one that is stored and used. `problem`: what is wrong, for `invalid_field`. */
  read(text: string): { href: string; host: string } | { problem: string }
}

/** Asks the scheduler to wake a sweep at that time. Losing it costs time, never a duty. */
export interface Wakeups {
  at(sweep: 'deliver', time: Date): void
}
