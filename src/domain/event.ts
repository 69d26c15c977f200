import { drawId } from './identifier.ts'

/**
 * Webhook events of an account (closed list). The per-request callback is not one of them: it has the interface's own body.
 * `webhook.test` is sent only by a test-fire, to the tested webhook.
 */
export const EVENT_TYPES = [
  'approval.created',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.reminded',
  'bootstrap.requested',
  'bootstrap.approved',
  'key.created',
  'key.revoked',
  'delivery.exhausted',
  'chat.unavailable',
  'chat.restored',
  'webhook.test',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** An event in the outbox of the document whose write caused it. `body` is final: it is never serialised again. */
export interface OutboxEvent {
  /** `evt_…`; the same for every delivery and every retry. */
  id: string
  type: EventType
  created_at: Date
  /** JSON text `{id, type, created_at, data}`. */
  body: string
}

/** Makes an event, with an id of its own, and serialises its body once. */
export function drawEvent(
  deps: Parameters<typeof drawId>[0],
  type: EventType,
  at: Date,
  data: Record<string, unknown>,
): OutboxEvent {
  const id = drawId(deps, 'evt')
  const body = JSON.stringify({ id, type, created_at: at.toISOString(), data })
  return { id, type, created_at: at, body }
}
