import { type Card, type ChatPlatform, identityKey, type MessageRef } from './chat.ts'
import type { User } from './user.ts'

/**
 * Checks whether a posted message is in the chat of the person whose card it is. It may have gone by e-mail address to another
 * person, or to an identity that was unlinked since: such a message gets no more news (T37). A linked person is at the
 * identities they linked; any other person is where the e-mail address led.
 * @param tenants the workspaces that serve the card's account
 */
export function isTheirs(
  { recipient }: Pick<Card, 'recipient'>,
  platform: ChatPlatform,
  message: MessageRef,
  person: User | undefined,
  tenants: readonly string[],
): boolean {
  if (recipient.kind === 'channel' || message.user === undefined) return true
  // A workspace that is gone or not known now cannot be reached anyway.
  if (!tenants.includes(message.tenant)) return true
  const linked = (person?.chat ?? []).filter(
    (identity) => identity.platform === platform && tenants.includes(identity.tenant),
  )
  const { instead_of = [] } = message
  // Still so while nothing was linked that works.
  if (linked.every((identity) => instead_of.includes(identityKey(identity)))) return message.by_email === true
  return linked.some(({ tenant, user }) => tenant === message.tenant && user === message.user)
}
