import type { OutboxSource } from '../flow/ports.ts'
import { inboxSource } from './audit-inbox.ts'
import type { StoreConnection } from './connect.ts'
import { createOutboxSource } from './outbox.ts'
import type { RequestDocument } from './request-schema.ts'

/** Collections whose outbox is events and audit entries alone. */
const PLAIN = [
  'ApiKey',
  'Account',
  'Bootstrap',
  'User',
  'SigningKey',
  'Session',
  'Webhook',
  'Delivery',
  'Card',
  'PushKey',
  'PushDevice',
  'Push',
] as const

/** Every collection whose documents have an outbox, requests first: callers wait for them. Their models must exist. */
export function createOutboxSources(connection: StoreConnection): readonly OutboxSource[] {
  return [
    requestSource(connection),
    ...PLAIN.map((name) => createOutboxSource(connection, name)),
    inboxSource(connection),
  ]
}

/** Once a callback has become a delivery, the request keeps only the ids: the bytes are where they are sent from. */
function requestSource(connection: StoreConnection): OutboxSource {
  return createOutboxSource<RequestDocument>(connection, 'Request', {
    fields: ['callback', 'api_key_id'],
    read: ({ _id, callback, api_key_id }) =>
      callback === undefined ? {} : { callback: { ...callback, request_id: _id, api_key_id } },
    settled: ({ callback }) =>
      callback?.state === 'due'
        ? { $set: { 'callback.state': 'handed' }, $unset: { 'callback.body': 1 } }
        : {},
  })
}
