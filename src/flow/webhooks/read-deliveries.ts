import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { Delivery } from '../../domain/webhook.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller, ListPosition } from '../ports.ts'
import { findOwnRequest } from '../read-request.ts'
import { findOwnWebhook } from './own-webhook.ts'

type LogDeps = Pick<FlowDeps, 'deliveries' | 'webhooks' | 'requests'>

/** A page of a delivery log, newest first; `more` tells whether another follows. */
export interface DeliveryPage {
  deliveries: Delivery[]
  more: boolean
}

export interface PageQuery {
  limit: number
  before?: ListPosition
}

/** The log of a webhook, also after its deletion. @throws Refusal `not_found` */
export async function readWebhookLog(
  deps: LogDeps,
  accountId: string,
  id: string,
  page: PageQuery,
): Promise<DeliveryPage> {
  await findOwnWebhook(deps, accountId, id)
  return readPage(deps, { account_id: accountId, webhook_id: id }, page)
}

/** For the account's owner: everything that was told about a request, to its callback and to webhooks. @throws Refusal `not_found` */
export async function readRequestLog(
  deps: LogDeps,
  accountId: string,
  id: string,
  page: PageQuery,
): Promise<DeliveryPage> {
  const request = isId('req', id) ? await deps.requests.find(id) : undefined
  if (request?.account_id !== accountId) throw refusal('not_found')
  return readPage(deps, { account_id: accountId, request_id: id }, page)
}

/**
 * For the key that made the request: its callback. Webhooks are the owner's business.
 * @throws Refusal `not_found`
 */
export async function readCallbackLog(deps: LogDeps, caller: Caller, id: string): Promise<DeliveryPage> {
  const { callback } = await findOwnRequest(deps, caller, id)
  const delivery = callback && (await deps.deliveries.find(callback.delivery_id))
  return { deliveries: delivery === undefined ? [] : [delivery], more: false }
}

async function readPage(
  deps: Pick<LogDeps, 'deliveries'>,
  which: { account_id: string; webhook_id?: string; request_id?: string },
  { limit, before }: PageQuery,
): Promise<DeliveryPage> {
  const query = { ...which, limit: limit + 1, ...(before && { before }) }
  const found = await deps.deliveries.list(query)
  return { deliveries: found.slice(0, limit), more: found.length > limit }
}
