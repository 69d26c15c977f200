import type { ChatIdentity } from '../../domain/chat.ts'
import type { ChatOutcome, ChatPort } from '../chat-ports.ts'
import type { Clock } from '../ports.ts'

/** Looks people up by e-mail through a memory: platforms allow few such questions a minute. */
export interface Lookup {
  find(chat: ChatPort, tenant: string, email: string): Promise<ChatOutcome<ChatIdentity | undefined>>
  /** A message to this identity found nobody: ask again next time. */
  forget(identity: ChatIdentity): void
}

const FOUND_MS = 24 * 3_600_000
/** Somebody who is invited to the workspace need not wait for a day. */
const NOT_FOUND_MS = 10 * 60_000
const MOST = 10_000

interface Remembered {
  identity: ChatIdentity | undefined
  until: number
}

/**
 * One memory of this process: 24 hours for whom it found, ten minutes for whom it did not, failures never; and nothing of
 * platforms whose people we know ourselves: who has just added the app gets the next card.
 */
export function createLookup(clock: Clock): Lookup {
  const known = new Map<string, Remembered>()
  return {
    async find(chat, tenant, email) {
      if (chat.lookupIsLocal) return chat.lookup(tenant, email)
      const key = JSON.stringify([chat.platform, tenant, email])
      const now = clock.now().getTime()
      const remembered = known.get(key)
      if (remembered !== undefined && remembered.until > now)
        return { ok: true, value: remembered.identity, duration_ms: 0 }
      const answer = await chat.lookup(tenant, email)
      if (!answer.ok) return answer
      const until = now + (answer.value === undefined ? NOT_FOUND_MS : FOUND_MS)
      known.delete(key)
      const oldest = known.size < MOST ? undefined : known.keys().next().value
      if (oldest !== undefined) known.delete(oldest)
      known.set(key, { identity: answer.value, until })
      return answer
    },
    forget({ platform, tenant, user }) {
      for (const [key, { identity }] of known) {
        const same = identity?.platform === platform && identity.tenant === tenant && identity.user === user
        if (same) known.delete(key)
      }
    },
  }
}
