import type { PushDevice } from '../domain/push.ts'

/** A browser as its person sees it: never the subscription, whose three parts are its secrets. */
export function presentPushDevice({ id, name, created_at, last_sent_at }: PushDevice) {
  return {
    id,
    name,
    created_at: created_at.toISOString(),
    last_sent_at: last_sent_at?.toISOString() ?? null,
  }
}
