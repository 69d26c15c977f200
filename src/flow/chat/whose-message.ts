import type { Card, ChatPlatform, MessageRef } from '../../domain/chat.ts'
import type { User } from '../../domain/user.ts'

/**
 * Is a posted message in the chat of the person whose card it is? It may have been addressed by e-mail to somebody else, or
 * to an identity that they unlinked since: such a message is told nothing more (T37). Who is linked is where they say; who is
 * not, where the e-mail address led.
 * @param tenants workspaces that serve the card's account
 */
export function isTheirs(
  { recipient }: Pick<Card, 'recipient'>,
  platform: ChatPlatform,
  message: MessageRef,
  person: User | undefined,
  tenants: readonly string[],
): boolean {
  if (recipient.kind === 'channel' || message.user === undefined) return true
  // A workspace that is not known now, or gone, can be told nothing anyway.
  if (!tenants.includes(message.tenant)) return true
  const linked = (person?.chat ?? []).filter(
    (identity) => identity.platform === platform && tenants.includes(identity.tenant),
  )
  if (linked.length === 0) return message.by_email === true
  return linked.some(({ tenant, user }) => tenant === message.tenant && user === message.user)
}
