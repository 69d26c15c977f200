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

const requestRowShape = object({
  id: text,
  status: oneOf('pending', 'approved', 'rejected', 'expired'),
  cancelled: optional(flag),
  action: text,
  high_impact: flag,
  sandbox: optional(flag),
  requested_by: object({ key_name: text, account_name: text }),
  created_at: moment,
  expires_at: moment,
  decided_at: optional(nullable(moment)),
  decision: optional(
    object({
      id: text,
      decision: oneOf('approved', 'rejected'),
      method: text,
      approver: text,
      delegate: optional(text),
    }),
  ),
  quorum: object({ needed: count, approved: count }),
})

/** A request as the history lists it. */
export type RequestRow = ReturnType<typeof requestRowShape>

/** `GET /account/requests`. */
export const requestPageShape = object({ data: list(requestRowShape), next_cursor: nullable(text) })

/** `GET /account/api-keys`, as far as the filters need it. */
export const keyNamesShape = object({ data: list(object({ id: text, name: text, key_prefix: text })) })
