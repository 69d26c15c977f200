import type { Delivery } from '../../src/domain/webhook.ts'

/** A delivery that is due, as the relay inserts it. */
export function sampleDelivery(
  facts: Pick<Delivery, 'id' | 'account_id' | 'target' | 'event_id' | 'url' | 'next_at'> & Partial<Delivery>,
): Delivery {
  return {
    event_type: facts.target.kind === 'callback' ? 'callback' : 'approval.created',
    host: new URL(facts.url).hostname,
    body: '{}',
    state: 'due',
    tries: 0,
    fence: 0,
    attempts: [],
    created_at: facts.next_at,
    outbox: [],
    audit: [],
    ...facts,
  }
}
