import { count, list, moment, nullable, object, optional, text } from '../../webauthn-page/kit/api/shape.ts'

const attempt = object({ at: moment, outcome: text, duration_ms: count })

const deliveryShape = object({
  id: text,
  target: text,
  webhook_id: optional(text),
  event_type: text,
  url: text,
  state: text,
  next_attempt_at: nullable(moment),
  attempts: list(attempt),
  created_at: moment,
})

/** One piece of news on its way to the callback or a webhook. */
export type Delivery = ReturnType<typeof deliveryShape>

const cardShape = object({
  id: text,
  platform: text,
  recipient: text,
  approver: optional(text),
  state: text,
  next_attempt_at: nullable(moment),
  attempts: list(object({ at: moment, what: text, outcome: text, duration_ms: count })),
  created_at: moment,
})

/** A message about the request on a chat platform. */
export type Card = ReturnType<typeof cardShape>

/** `GET /approvals/:id/deliveries`; every page names all cards. */
export const requestLogShape = object({
  data: list(deliveryShape),
  next_cursor: nullable(text),
  cards: list(cardShape),
  quiet: optional(list(object({ approver: text, until: moment }))),
})
export type RequestLog = ReturnType<typeof requestLogShape>
