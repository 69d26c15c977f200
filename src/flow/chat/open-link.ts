import { identityKey } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import type { ChatLink } from '../chat-ports.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * Finds the one-time link of a token, and changes nothing. Whoever unlinked the identity since took back what was asked for
 * with it.
 * @throws Refusal `chat_link_invalid`: unknown, used, replaced, expired and taken back answer alike
 */
export async function openChatLink(
  deps: Pick<FlowDeps, 'chatLinks' | 'users' | 'vault'>,
  token: string,
): Promise<ChatLink> {
  const link = await deps.chatLinks.find(deps.vault.hash('chat-link', token))
  if (link === undefined) throw refusal('chat_link_invalid')
  if (link.kind === 'link') return link
  const holder = await deps.users.findByIdentity(identityKey(link.identity))
  if (holder === undefined || holder.id !== link.user_id) throw refusal('chat_link_invalid')
  return link
}

/** Uses the link up; nothing must be able to refuse after that but a lost race. @throws Refusal `chat_link_invalid` */
export async function useUp(deps: Pick<FlowDeps, 'chatLinks'>, link: ChatLink): Promise<void> {
  if (!(await deps.chatLinks.consume(link.id))) throw refusal('chat_link_invalid')
}
