import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { CallbackOutbox } from '../domain/request.ts'
import type { OutcomeClass } from '../domain/retry.ts'

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
