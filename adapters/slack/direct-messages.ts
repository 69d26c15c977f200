import { z } from 'zod'
import { type ChatIdentity, identityKey } from '../../src/domain/chat.ts'
import type { ChatAddress } from '../../src/flow/chat-ports.ts'
import type { WebCalls, WebOutcome } from './web-calls.ts'

/** People's direct messages with the app: `D…`. */
export interface DirectMessages {
  /** Opens it, or knows it. */
  open(calls: WebCalls, person: ChatIdentity): Promise<WebOutcome<string>>
  /** It was not there any more: opened again next time. */
  forget(address: ChatAddress): void
}

/** People remembered; it never changes for one, but costs a call. */
const MOST = 10_000

const opened = z.object({ channel: z.object({ id: z.string() }) })

export function createDirectMessages(): DirectMessages {
  const known = new Map<string, string>()
  return {
    async open(calls, person) {
      const key = identityKey(person)
      const before = known.get(key)
      if (before !== undefined) return { ok: true, value: before }
      const target = { tenant: person.tenant, method: 'conversations.open' }
      const answer = await calls.call(target, { users: person.user })
      if (!answer.ok) return answer
      const { success, data } = opened.safeParse(answer.value)
      if (!success) return { ok: false, outcome: 'failed', code: 'unreadable' }
      const oldest = known.size < MOST ? undefined : known.keys().next().value
      if (oldest !== undefined) known.delete(oldest)
      known.set(key, data.channel.id)
      return { ok: true, value: data.channel.id }
    },
    forget: (address) => void ('user' in address && known.delete(identityKey(address))),
  }
}
