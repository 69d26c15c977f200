import { EVENT_TYPES, type EventType } from '../../src/domain/event.ts'

/** What a webhook can be told of; the test comes when somebody asks for it. */
export const EVENTS = EVENT_TYPES.filter(
  (type): type is Exclude<EventType, 'webhook.test'> => type !== 'webhook.test',
)

const WORDS: Record<EventType, string> = {
  'approval.created': 'Somebody asks for an approval',
  'approval.approved': 'A request is approved',
  'approval.rejected': 'A request is rejected',
  'approval.expired': 'Nobody decided in time, or the request was withdrawn',
  'approval.reminded': 'Approvers were reminded',
  'bootstrap.requested': 'An agent asks for an API key',
  'bootstrap.approved': 'The owner consented to such a key',
  'key.created': 'An API key is made',
  'key.revoked': 'An API key is revoked',
  'delivery.exhausted': 'A callback or webhook was given up',
  'webhook.test': 'A test',
}

/** When a type of event happens, in words. */
export function eventWords(type: EventType): string {
  return WORDS[type]
}

/** "All events", or which. */
export function eventsOf(events: readonly string[]): string {
  return EVENTS.every((type) => events.includes(type)) ? 'all events' : events.join(', ')
}
