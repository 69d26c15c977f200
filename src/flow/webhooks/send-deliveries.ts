import { type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { drawEvent, type OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { isDelivered, type NextStep, nextStep } from '../../domain/retry.ts'
import type { Attempt, Delivery, Webhook } from '../../domain/webhook.ts'
import type { AttemptOutcome } from '../../ports/ports.ts'
import type { Busy } from '../../store/delivery/deliveries.ts'
import type { FlowDeps } from '../deps.ts'
import { attemptOnce } from '../queue/attempt-once.ts'
import { createSendLoop, holding, type SendLoop } from '../queue/send-loop.ts'
import { createSendSlots, type SendLimits } from '../queue/send-slots.ts'

/** Creates the loop that sends deliveries that are due. */
export function createDeliveryLoop(
  deps: FlowDeps,
  limits: SendLimits & { leaseMs: number },
): SendLoop<Delivery> {
  return createSendLoop<Delivery, Busy>(
    {
      name: { one: 'delivery', many: 'deliveries' },
      slots: createSendSlots(limits),
      leaseMs: limits.leaseMs,
      claim: (query) => deps.deliveries.claim(query),
      attempt: ({ record, interrupted }, sent) => {
        const sender = { ...deps.sender, send: holding(deps.sender, sent) }
        return attemptDelivery({ ...deps, sender }, record, interrupted)
      },
    },
    deps,
  )
}

/**
 * Makes exactly one attempt at a delivery that this process has claimed. A crash after the receiver's 2xx and before the result is
 * written repeats the delivery under the same `webhook-id`: the documented and only duplicate.
 * @param interrupted the previous attempt never reported back
 * @returns the time at which it is due again, if it is
 */
export async function attemptDelivery(
  deps: FlowDeps,
  delivery: Delivery,
  interrupted = false,
): Promise<Date | undefined> {
  const { next_at } = await attemptOnce<NextStep>(deps, delivery, interrupted, {
    async prepare(at) {
      const receiver = await receiverOf(deps, delivery, at)
      return receiver && (() => send(deps, delivery, at, receiver))
    },
    stepAfter: (result, tries) => stepAfter(delivery, tries, result),
    tell: (step, at, attempt) => tell(deps, delivery, step, at, attempt),
    finish: (result) => deps.deliveries.finish(delivery, result),
    async settled(step, { outcome }, at) {
      if (step.state !== 'dead') return
      const about = { delivery_id: delivery.id, host: delivery.host, outcome }
      if (tellsExhaustion(delivery)) deps.log.warn(about, 'a delivery was given up; it can be replayed')
      if (step.gone) await disable(deps, delivery, at)
    },
  })
  return next_at
}

/** Sends it. A secret that cannot be opened counts as a failed attempt: the owner sees it in the log, and retries end. */
async function send(
  deps: FlowDeps,
  { id, url, event_id: eventId, event_type, request_id, body, traceparent, tries }: Delivery,
  at: Date,
  { openSecrets }: { openSecrets: () => [string, ...string[]] },
): Promise<AttemptOutcome> {
  let secrets: [string, ...string[]]
  try {
    secrets = openSecrets()
  } catch (error) {
    deps.log.error({ error, delivery_id: id }, 'decrypting the secret of a webhook failed; rotate it')
    return { outcome: 'unsigned', duration_ms: 0 }
  }
  const about = { delivery_id: id, event_type, attempt: tries + 1, ...given({ approval_id: request_id }) }
  return deps.tracing.span(
    { name: 'deliver', attributes: about, traceparent, detached: true },
    () => deps.sender.send({ url, eventId, body, at, secrets, ...given({ traceparent }) }),
    ({ outcome }) => ({ outcome }),
  )
}

/** Returns the next step. A test is tried once and disables nothing: the person who fired it sees the outcome. */
function stepAfter(delivery: Delivery, tries: number, result: AttemptOutcome): NextStep {
  if (delivery.event_type === 'webhook.test')
    return isDelivered(result.outcome) ? { state: 'delivered' } : { state: 'dead', gone: false }
  return nextStep(delivery.target.kind, tries, result.outcome, result.retry_after)
}

/** Finds the secrets that sign the delivery. @returns undefined when its receiver no longer wants it */
async function receiverOf(
  deps: FlowDeps,
  { target, event_type }: Delivery,
  at: Date,
): Promise<{ openSecrets: () => [string, ...string[]] } | undefined> {
  if (target.kind === 'callback') {
    const { api_key_id, secret_version } = target
    return { openSecrets: () => [deps.vault.webhookSecret(api_key_id, secret_version)] }
  }
  const webhook = await deps.webhooks.find(target.webhook_id)
  // A test-fire may try a disabled webhook.
  const wanted =
    webhook?.state === 'active' || (webhook?.state === 'disabled' && event_type === 'webhook.test')
  if (webhook === undefined || !wanted) return undefined
  return { openSecrets: () => secretsOf(deps, webhook, at) }
}

function secretsOf(deps: FlowDeps, webhook: Webhook, at: Date): [string, ...string[]] {
  const open = (sealed: string) => Buffer.from(deps.vault.open(sealed, webhook.id)).toString('utf8')
  const { previous_secret: previous } = webhook
  const current = open(webhook.sealed_secret)
  return previous !== undefined && previous.until > at ? [current, open(previous.sealed)] : [current]
}

function tell(
  deps: FlowDeps,
  delivery: Delivery,
  { state }: NextStep | { state: 'dropped' },
  at: Date,
  attempt?: Attempt,
): { audit: AuditEntry[]; events?: OutboxEvent[] } {
  if (attempt === undefined) return { audit: [audit(deps, delivery, 'delivery.dropped', at)] }
  const tries = delivery.tries + 1
  const detail = { outcome: attempt.outcome, attempt: tries, duration_ms: Math.round(attempt.duration_ms) }
  if (state === 'delivered') return { audit: [audit(deps, delivery, 'delivery.delivered', at, detail)] }
  const failed = audit(deps, delivery, 'delivery.failed', at, detail)
  if (state === 'due') return { audit: [failed] }
  const exhausted = audit(deps, delivery, 'delivery.exhausted', at)
  const events = tellsExhaustion(delivery) ? [exhaustedEvent(deps, delivery, tries, attempt, at)] : []
  return { events, audit: [failed, exhausted] }
}

/** Checks whether giving up is an event: not for such an event itself, which would never end, nor for a test, which is watched. */
function tellsExhaustion({ event_type }: Delivery): boolean {
  return event_type !== 'delivery.exhausted' && event_type !== 'webhook.test'
}

function exhaustedEvent(
  deps: FlowDeps,
  delivery: Delivery,
  attempts: number,
  last: Attempt,
  at: Date,
): OutboxEvent {
  const { target, request_id } = delivery
  const data = {
    delivery_id: delivery.id,
    target: target.kind,
    ...(target.kind === 'webhook' ? { webhook_id: target.webhook_id } : {}),
    ...given({ request_id }),
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    attempts,
    last_outcome: last.outcome,
  }
  return drawEvent(deps, 'delivery.exhausted', at, data)
}

/** Disables the webhook after a 410: the receiver is gone for good; its other deliveries are dropped when they come up. */
async function disable(deps: FlowDeps, delivery: Delivery, at: Date): Promise<void> {
  const { target, account_id } = delivery
  if (target.kind !== 'webhook') return
  const { webhook_id: subject } = target
  const actor = { kind: 'service' } as const
  const disabled = drawEntry(deps, { type: 'webhook.disabled', at, actor, account_id, subject })
  await deps.webhooks.disable(subject, at, disabled)
}

function audit(
  deps: FlowDeps,
  delivery: Delivery,
  type: AuditType,
  at: Date,
  detail: NonNullable<AuditEntry['detail']> = {},
): AuditEntry {
  const { id, target, account_id, event_id, request_id } = delivery
  const about = {
    event_id,
    target: target.kind === 'callback' ? 'callback' : target.webhook_id,
    ...given({ request_id }),
  }
  const actor = { kind: 'service' } as const
  return drawEntry(deps, { type, at, actor, account_id, subject: id, detail: { ...about, ...detail } })
}
