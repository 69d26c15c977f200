import { count, flag, list, moment, object, text } from '../../webauthn-page/kit/api/shape.ts'

export const sessionsShape = object({
  data: list(
    object({
      id: text,
      current: flag,
      created_at: moment,
      last_seen_at: moment,
      expires_at: moment,
      user_agent: text,
    }),
  ),
})
export const endedShape = object({ ended: count })

/** A browser in which the person is signed in. */
export type SessionEntry = ReturnType<typeof sessionsShape>['data'][number]
