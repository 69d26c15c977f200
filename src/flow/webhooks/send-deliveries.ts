import { type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { drawEvent, type OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { isDelivered, type NextStep, nextStep } from '../../domain/retry.ts'
import { ATTEMPTS_KEPT, type Attempt, type Delivery, type Webhook } from '../../domain/webhook.ts'
import type { AttemptOutcome } from '../../ports/ports.ts'
import type { Busy, DeliveryResult } from '../../store/delivery/deliveries.ts'
import type { FlowDeps } from '../deps.ts'
import { createSendLoop, holding, isTooLate, type SendLoop } from '../queue/send-loop.ts'
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
 * Makes exactly one attempt at a delivery that this process has claimed, and records its result in one write. A process that
 * has lost the claim meanwhile writes nothing (T82). A crash after the receiver's 2xx and before that write repeats the
 * delivery under the same `webhook-id`: the documented and only duplicate.
 * @param interrupted the previous attempt never reported back; it is logged and does not count as a try
 * @returns the time at which it is due again, if it is
 */
export async function attemptDelivery(
  deps: FlowDeps,
  delivery: Delivery,
  interrupted = false,
): Promise<Date | undefined> {
  const at = deps.clock.now()
  const before = interrupted ? lostAttempts(delivery, at) : []
  const receiver = await receiverOf(deps, delivery, at)
  if (receiver === undefined) {
    const dropped = [audit(deps, delivery, 'delivery.dropped', at)]
    await deps.deliveries.finish(delivery, {
      ...resultIn(delivery, 'dropped', at),
      attempts: before,
      audit: dropped,
    })
    return undefined
  }
  if (isTooLate(deps, delivery)) return undefined
  const result = await send(deps, delivery, at, receiver)
  const attempt: Attempt = { at, outcome: result.outcome, duration_ms: result.duration_ms }
  if (result.outcome === 'interrupted') return giveBack(deps, delivery, [...before, attempt])
  const step = stepAfter(delivery, result)
  const written = resultOf(deps, delivery, step, attempt)
  const kept = await deps.deliveries.finish(delivery, { ...written, attempts: [...before, attempt] })
  if (kept && step.state === 'dead') {
    const about = { delivery_id: delivery.id, host: delivery.host, outcome: result.outcome }
    if (tellsExhaustion(delivery)) deps.log.warn(about, 'a delivery was given up; it can be replayed')
    if (step.gone) await disable(deps, delivery, at)
  }
  return written.state === 'due' ? written.next_at : undefined
}

/** Returns the attempts that the log lacks: each claim is an attempt, and several processes may have died during theirs. */
function lostAttempts({ fence, attempts }: Delivery, at: Date): Attempt[] {
  const lost = attempts.length < ATTEMPTS_KEPT ? fence - 1 - attempts.length : 1
  return Array.from({ length: Math.max(1, lost) }, () => ({ at, outcome: 'interrupted', duration_ms: 0 }))
}

/** Sends it. A secret that cannot be opened counts as a failed attempt: the owner sees it in the log, and retries end. */
async function send(
  deps: FlowDeps,
  { id, url, event_id: eventId, body }: Delivery,
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
  return deps.sender.send({ url, eventId, body, at, secrets })
}

/** Gives the delivery back when the service stops mid-attempt: another process may take it at once, and no try is counted. */
async function giveBack(deps: FlowDeps, delivery: Delivery, attempts: Attempt[]): Promise<Date> {
  const due = { ...resultIn(delivery, 'due', deps.clock.now()), attempts, audit: [] }
  await deps.deliveries.finish(delivery, due)
  return due.next_at
}

/** Returns the next step. A test is tried once and disables nothing: the person who fired it sees the outcome. */
function stepAfter(delivery: Delivery, result: AttemptOutcome): NextStep {
  if (delivery.event_type === 'webhook.test')
    return isDelivered(result.outcome) ? { state: 'delivered' } : { state: 'dead', gone: false }
  return nextStep(delivery.target.kind, delivery.tries + 1, result.outcome, result.retry_after)
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

type Written = Omit<DeliveryResult, 'attempts'>

function resultOf(deps: FlowDeps, delivery: Delivery, step: NextStep, attempt: Attempt): Written {
  const tries = delivery.tries + 1
  const now = deps.clock.now()
  const detail = { outcome: attempt.outcome, attempt: tries, duration_ms: Math.round(attempt.duration_ms) }
  if (step.state === 'delivered')
    return {
      ...resultIn(delivery, 'delivered', now),
      tries,
      audit: [audit(deps, delivery, 'delivery.delivered', now, detail)],
    }
  const failed = audit(deps, delivery, 'delivery.failed', now, detail)
  if (step.state === 'due') {
    const next_at = new Date(now.getTime() + step.delay_ms)
    return { ...resultIn(delivery, 'due', next_at), tries, audit: [failed] }
  }
  const exhausted = audit(deps, delivery, 'delivery.exhausted', now)
  const events = tellsExhaustion(delivery) ? [exhaustedEvent(deps, delivery, tries, attempt, now)] : []
  return { ...resultIn(delivery, 'dead', now), tries, events, audit: [failed, exhausted] }
}

function resultIn(delivery: Delivery, state: Delivery['state'], next_at: Date) {
  return { state, next_at, tries: delivery.tries, events: [] as OutboxEvent[] }
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
