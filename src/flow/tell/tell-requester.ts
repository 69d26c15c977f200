import { type Account, hasChannel, roleIn } from '../../domain/account.ts'
import type { Card, CardRecipient, ChatPlatform } from '../../domain/chat.ts'
import { tells, volumesOf } from '../../domain/hearing.ts'
import { isTarget } from '../../domain/notify.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { servedTo, serves } from '../requests/notify-target.ts'

/**
 * Lists the cards that tell the outcome of a request where its caller wants it told. Where one stands already because its
 * recipient is asked, or its channel notified, that one tells the outcome: a request has one card per recipient.
 */
export async function cardsThatTell(
  { chats, users }: FlowDeps,
  { status, notify }: ApprovalRequest,
): Promise<{ platform: ChatPlatform; recipient: CardRecipient }[]> {
  if (notify === undefined || status === 'pending') return []
  const isSetUp = (platform: ChatPlatform) => chats.some((chat) => chat.platform === platform)
  if (notify.kind === 'channel') {
    const { platform, tenant, channel } = notify
    return isSetUp(platform) ? [{ platform, recipient: { kind: 'channel', tenant, channel } }] : []
  }
  const { user_id } = notify
  const identities = (await users.find(user_id))?.chat ?? []
  const platforms = [...new Set(identities.map(({ platform }) => platform))].filter(isSetUp)
  return platforms.map((platform) => ({ platform, recipient: { kind: 'approver', user_id } }))
}

/**
 * Checks whether the card tells the outcome aloud, and is posted for that if it was not before. The state of the account counts
 * as it is now: a channel that was disconnected, or a member who left, unlinked their identities or wants to hear nothing in chat,
 * is told nothing (T89).
 */
export async function tellsOutcome(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  { status, notify, high_impact }: ApprovalRequest,
  { account, person }: { account: Account | undefined; person: User | undefined },
): Promise<boolean> {
  if (status === 'pending' || account === undefined || !isTarget(notify, card)) return false
  const { platform, recipient } = card
  if (recipient.kind === 'channel') return hasChannel(account, { platform, ...recipient })
  if (person === undefined || roleIn(account, person.id) === undefined) return false
  if (tells(volumesOf(person, account).chat, { high_impact }) === 'never') return false
  const served = await servedTo(deps, account.id)
  return person.chat.some((one) => one.platform === platform && serves(served, platform, one.tenant))
}
