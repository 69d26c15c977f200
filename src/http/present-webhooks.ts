import type { Delivery, Webhook } from '../domain/webhook.ts'
import type { ListedWebhook } from '../flow/webhooks/delivery-log.ts'
import { SUBSCRIBABLE } from './schemas/webhooks.ts'

/** A webhook: never its secrets. @param now decides whether the secret before the last rotation still signs */
export function presentWebhook(webhook: Webhook, now: Date) {
  const until = webhook.previous_secret?.until
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events.length === 0 ? SUBSCRIBABLE : webhook.events,
    state: webhook.state,
    created_at: webhook.created_at.toISOString(),
    disabled_at: webhook.disabled_at?.toISOString() ?? null,
    previous_secret_valid_until: until !== undefined && until > now ? until.toISOString() : null,
  }
}

/** As `presentWebhook`, with what became of the newest delivery. */
export function presentListed({ webhook, last }: ListedWebhook, now: Date) {
  return { ...presentWebhook(webhook, now), last_delivery: last === undefined ? null : presentDelivery(last) }
}

/** A delivery: never its body, and of its attempts only coarse classes (T7). */
export function presentDelivery(delivery: Delivery) {
  const { target, request_id } = delivery
  return {
    id: delivery.id,
    target: target.kind,
    ...(target.kind === 'webhook' ? { webhook_id: target.webhook_id } : {}),
    ...(request_id === undefined ? {} : { request_id }),
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    url: delivery.url,
    state: delivery.state === 'leased' ? 'sending' : delivery.state,
    next_attempt_at: delivery.state === 'due' ? delivery.next_at.toISOString() : null,
    attempts: delivery.attempts.map(({ at, outcome, duration_ms }) => ({
      at: at.toISOString(),
      outcome,
      duration_ms: Math.round(duration_ms),
    })),
    created_at: delivery.created_at.toISOString(),
  }
}
