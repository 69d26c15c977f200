import { isDelivered, MAX_TRIES } from '../../src/domain/retry.ts'
import type { Ledger } from './chaos-ledger.ts'
import type { Received } from './receiver.ts'

type StoredDelivery = Ledger['deliveries'][number]

/** Outcomes after which a sender cannot know whether the receiver took the delivery. */
const UNKNOWABLE: ReadonlySet<string> = new Set(['connect_failed', 'timeout', 'interrupted'])

/** What arrived, by receiver path and `webhook-id`. */
export function byIdentity(received: readonly Received[]): Map<string, Received[]> {
  const groups = new Map<string, Received[]>()
  for (const entry of received) {
    const key = `${entry.path} ${entry.eventId}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [entry])
    else group.push(entry)
  }
  return groups
}

const keyOf = ({ url, event_id }: StoredDelivery): string => `${new URL(url).pathname} ${event_id}`

/** Decided requests whose callback neither arrived nor ended as a dead letter with all its attempts (T81). */
export function lostCallbacks({ requests, deliveries }: Ledger, received: readonly Received[]): string[] {
  const arrivals = byIdentity(received)
  return requests
    .filter(({ decision, callback_url }) => decision !== undefined && callback_url !== undefined)
    .flatMap((request) => {
      const own = deliveries.filter(
        ({ target }) => target.kind === 'callback' && target.request_id === request._id,
      )
      const [delivery] = own
      if (own.length !== 1 || delivery === undefined) return [`${request._id}: ${own.length} deliveries`]
      if (delivery._id !== request.callback?.delivery_id || delivery.event_id !== request.callback.event_id)
        return [`${request._id}: not the ids of the deciding write`]
      const taken = arrivals.get(keyOf(delivery))?.some((arrival) => arrival.taken) ?? false
      if (delivery.state === 'delivered' && taken) return []
      if (delivery.state === 'dead' && delivery.tries === MAX_TRIES) return []
      return [`${request._id}: ${delivery.state} after ${delivery.tries} tries, taken: ${taken}`]
    })
}

/** Rejections that some webhook was not told of; all webhooks of the store must want them. */
export function lostNews(
  { requests, deliveries, webhooks }: Ledger,
  received: readonly Received[],
): string[] {
  const arrivals = byIdentity(received)
  const told = new Set(
    deliveries
      .filter((delivery) => arrivals.get(keyOf(delivery))?.some((arrival) => arrival.taken))
      .flatMap(({ target, request_id, event_type }) =>
        target.kind === 'webhook' ? [`${target.webhook_id} ${event_type} ${request_id}`] : [],
      ),
  )
  return requests
    .filter(({ status }) => status === 'rejected')
    .flatMap((request) => webhooks.map(({ _id }) => `${_id} approval.rejected ${request._id}`))
    .filter((news) => !told.has(news))
}

/** News that came under two ids, or under an id that no delivery has. */
export function doubleIdentities({ deliveries }: Ledger, received: readonly Received[]): string[] {
  const known = new Set(deliveries.map(keyOf))
  const ids = new Map<string, Set<string>>()
  const problems: string[] = []
  for (const { path, eventId, body } of received) {
    if (!known.has(`${path} ${eventId}`)) problems.push(`${path}: ${eventId} belongs to no delivery`)
    const told = JSON.parse(body.toString('utf8'))
    const about = told.request_id ?? told.data.request_id ?? JSON.stringify(told.data)
    const news = `${path} ${told.type ?? 'callback'} ${about}`
    ids.set(news, (ids.get(news) ?? new Set()).add(eventId))
  }
  for (const [news, seen] of ids) if (seen.size !== 1) problems.push(`${news}: ${[...seen].join(', ')}`)
  return problems
}

/** Attempts whose bytes differ from the stored ones, or that either signature scheme refuses. */
export function spoiltAttempts({ deliveries }: Ledger, received: readonly Received[]): string[] {
  const bodies = new Map(deliveries.map((delivery) => [keyOf(delivery), Buffer.from(delivery.body)]))
  return received.flatMap(({ path, eventId, attempt, body, signed }) => {
    const same = bodies.get(`${path} ${eventId}`)?.equals(body) ?? false
    if (same && signed.service && signed.standard) return []
    return [`${path} ${eventId} attempt ${attempt}: ${JSON.stringify({ same, ...signed })}`]
  })
}

/** Deliveries whose log does not account for every claim and every arrival, or that repeat what was known to be taken. */
export function unaccountedAttempts({ deliveries }: Ledger, received: readonly Received[]): string[] {
  const arrivals = byIdentity(received)
  return deliveries.flatMap((delivery) => {
    const came = arrivals.get(keyOf(delivery)) ?? []
    const taken = came.filter((arrival) => arrival.taken).length
    const outcomes = delivery.attempts.map(({ outcome }) => outcome)
    const good = outcomes.filter(isDelivered).length
    const unknowable = outcomes.filter((outcome) => UNKNOWABLE.has(outcome)).length
    const right =
      delivery.fence === outcomes.length &&
      came.length <= delivery.fence &&
      good === (delivery.state === 'delivered' ? 1 : 0) &&
      taken <= good + unknowable
    const facts = { state: delivery.state, fence: delivery.fence, outcomes, came: came.length, taken }
    return right ? [] : [`${keyOf(delivery)}: ${JSON.stringify(facts)}`]
  })
}

/** How many deliveries were taken again after they had been taken. */
export function countRepeats(received: readonly Received[]): number {
  let repeats = 0
  for (const group of byIdentity(received).values())
    repeats += Math.max(0, group.filter((arrival) => arrival.taken).length - 1)
  return repeats
}
