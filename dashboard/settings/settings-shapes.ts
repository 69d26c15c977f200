import {
  count,
  flag,
  list,
  moment,
  object,
  type Shape,
  ShapeError,
  text,
} from '../../webauthn-page/kit/api/shape.ts'

const fraction: Shape<number> = (value, path) => {
  if (typeof value !== 'number' || !(value > 0 && value < 1)) throw new ShapeError(path, 'a fraction')
  return value
}

export const policyShape = object({
  approvers: list(
    object({
      user_id: text,
      email: text,
      name: text,
      has_passkey: flag,
      has_totp: flag,
      eligible: flag,
    }),
  ),
  quorum: count,
  passkey_only: flag,
  high_impact: flag,
  reminders: list(fraction),
  reachable: flag,
})

/** The rules for who decides. */
export type Policy = ReturnType<typeof policyShape>

export const accountShape = object({
  id: text,
  name: text,
  created_at: moment,
  quota: object({ limit: count, used: count, month: text, resets_at: moment }),
})

export type Account = ReturnType<typeof accountShape>
