import { noticesIn } from '../../domain/factor-notice.ts'
import type { Trace } from '../delivery-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { newCard } from './address-cards.ts'

type FollowDeps = Pick<FlowDeps, 'users' | 'cards' | 'chats' | 'clock' | 'random'>

/**
 * Has every chat identity of a person told of changes of their factors and rights (T34): whoever took over one of them, or
 * the session, cannot keep it from the others. May be repeated and interrupted anywhere: a message is unique per entry and
 * identity. Identities that were linked later are told nothing of what was before them.
 * @returns whether there may be something to send
 */
export async function followNotices(
  deps: FollowDeps,
  traces: readonly Pick<Trace, 'audit'>[],
): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const notices = traces.flatMap(({ audit }) => noticesIn(audit))
  if (notices.length === 0) return false
  const platforms = new Set(deps.chats.map(({ platform }) => platform))
  const found = await deps.users.findMany([...new Set(notices.map(({ user_id }) => user_id))])
  const people = new Map(found.map((person) => [person.id, person]))
  const cards = notices.flatMap(({ user_id, event_id, notice }) => {
    const person = people.get(user_id)
    if (person === undefined) return []
    const told = person.chat.filter(
      ({ platform, linked_at }) => platforms.has(platform) && linked_at <= notice.at,
    )
    const about = { id: event_id, account_id: person.account_id, version: 1 }
    return told.map(({ platform, tenant, user }) => ({
      ...newCard(deps, about, platform, { kind: 'identity', user_id, tenant, user }),
      notice,
    }))
  })
  await deps.cards.insertNew(cards)
  return cards.length > 0
}
