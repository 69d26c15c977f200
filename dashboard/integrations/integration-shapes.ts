import {
  count,
  flag,
  list,
  moment,
  nullable,
  object,
  oneOf,
  optional,
  text,
} from '../../webauthn-page/kit/api/shape.ts'

export const deliveryShape = object({
  id: text,
  event_id: text,
  event_type: text,
  request_id: optional(text),
  url: text,
  state: text,
  next_attempt_at: nullable(moment),
  attempts: list(object({ at: moment, outcome: text, duration_ms: count })),
  created_at: moment,
})

/** One event on its way to a webhook, or at rest. */
export type Delivery = ReturnType<typeof deliveryShape>

export const deliveryPageShape = object({ data: list(deliveryShape), next_cursor: nullable(text) })

export const webhookShape = object({
  id: text,
  url: text,
  events: list(text),
  state: oneOf('active', 'disabled', 'deleted'),
  created_at: moment,
  disabled_at: nullable(moment),
  previous_secret_valid_until: nullable(moment),
  last_delivery: optional(nullable(deliveryShape)),
})

/** A webhook of the account. */
export type Webhook = ReturnType<typeof webhookShape>

export const webhooksShape = object({ data: list(webhookShape) })
export const newWebhookShape = object({ webhook: webhookShape, secret: text })
export const rotatedShape = object({ secret: text, previous_secret_valid_until: moment })

const workspaceShape = object({ tenant: text, name: nullable(text), installed_at: nullable(moment) })

/** A Slack workspace whose people get cards of the account. */
export type SlackWorkspace = ReturnType<typeof workspaceShape>

/** `GET /account/chat-apps` */
export const chatAppsShape = object({
  slack: object({
    configured: flag,
    mode: nullable(oneOf('one', 'many')),
    installations: list(workspaceShape),
  }),
  teams: object({ configured: flag, tenants: list(text) }),
})
export type ChatApps = ReturnType<typeof chatAppsShape>
