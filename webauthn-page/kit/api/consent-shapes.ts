import { requestOptionsShape } from './contract.ts'
import {
  count,
  isRecord,
  list,
  moment,
  object,
  oneOf,
  optional,
  type Shape,
  ShapeError,
  text,
} from './shape.ts'

const waiting = {
  id: text,
  client_name: text,
  requester: object({ address: text, user_agent: text }),
  scopes: list(text),
  created_at: moment,
  expires_at: moment,
}

const waitingShape = object(waiting)
export type WaitingConsent = ReturnType<typeof waitingShape>
export const waitingConsentsShape = object({ data: list(waitingShape) })

const outcome = oneOf('approved', 'rejected')

/** One agent's request for a key. The matching code is not in it: the agent shows it. */
export const consentShape = object({
  ...waiting,
  status: oneOf('pending', 'approved', 'rejected', 'expired'),
  server_time: moment,
  tries_left: count,
  methods: list(oneOf('passkey', 'totp')),
  consent: optional(object({ decision: outcome, method: text, at: moment })),
  collected: optional(object({ at: moment, address: optional(text), key_id: optional(text) })),
})
export type Consent = ReturnType<typeof consentShape>

const anyIntent: Shape<Record<string, unknown>> = (value, path) => {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  return value
}

/** The intent stays untyped here: `checkIntent` compares it field by field, unknown fields included. */
export const consentOptionsShape: Shape<{
  intent: Record<string, unknown>
  options: ReturnType<typeof requestOptionsShape>['options']
}> = (value, path) => ({
  ...object({ intent: anyIntent })(value, path),
  ...requestOptionsShape(value, path),
})

export const consentedShape = object({ id: text, status: text })
