import { get } from '../../webauthn-page/kit/api/request.ts'
import { deliveryPageShape } from './webhook-shapes.ts'

/** A page of the log of a webhook, newest first. */
export type DeliveryPage = ReturnType<typeof deliveryPageShape>

/** @throws RequestFailure, ShapeError */
export function loadDeliveries(id: string, cursor: string | undefined): Promise<DeliveryPage> {
  const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/account/webhooks/${encodeURIComponent(id)}/deliveries${query}`, deliveryPageShape)
}

/** What was given up, of the whole account. @throws RequestFailure, ShapeError */
export function loadDeadLetters(cursor?: string): Promise<DeliveryPage> {
  const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/account/dead-letters${query}`, deliveryPageShape)
}
