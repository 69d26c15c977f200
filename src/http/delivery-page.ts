import type { Request, Response } from 'express'
import type { DeliveryPage, PageQuery, RequestLog } from '../flow/webhooks/delivery-log.ts'
import { deliveryQuery, presentCard, presentDelivery } from './api/deliveries.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { parseBody } from './parse.ts'

/** Which page is asked for. @throws Refusal `invalid_field` */
export function readDeliveryPage(request: Request): PageQuery {
  const { limit, cursor } = parseBody(deliveryQuery, request.query)
  return { limit, ...(cursor === undefined ? {} : { before: decodeCursor(cursor, 'dlv') }) }
}

/** Answers with a page of a delivery log. */
export function sendDeliveries(response: Response, page: DeliveryPage): void {
  response.json(presentPage(page))
}

/** Answers with a page of the log of a request, and its cards. */
export function sendRequestLog(response: Response, log: RequestLog): void {
  response.json({
    ...presentPage(log),
    cards: log.cards.map(presentCard),
    quiet: log.quiet.map(({ approver, until }) => ({ approver, until: until.toISOString() })),
  })
}

function presentPage({ deliveries, more }: DeliveryPage) {
  const last = deliveries.at(-1)
  return {
    data: deliveries.map(presentDelivery),
    next_cursor: more && last ? encodeCursor(last) : null,
  }
}
