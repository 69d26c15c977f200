import { type Account, type AccountChannel, hasChannel, MAX_CHANNELS } from '../../domain/account.ts'
import type { AuditEntry, AuditType } from '../../domain/audit.ts'
import { type ChatChannel, identityKey } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import type { FlowDeps } from '../deps.ts'
import { personAudit } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { proveFactor } from '../people/step-up.ts'
import { useUp } from './chat-links.ts'
import type { LinkUse } from './link-identity.ts'

/**
 * Has every request of the account shown in a channel, after a fresh proof of its owner for this very link. Only the person
 * who asked for the link uses it: another owner could be lured into telling a stranger's channel.
 * @throws Refusal `chat_link_not_yours`, `channel_limit`, `chat_link_invalid`, and those of `proveFactor`
 */
export async function addChannel(
  deps: FlowDeps,
  who: SignedIn,
  { link, proof, address }: LinkUse,
): Promise<AccountChannel> {
  if (link.channel === undefined) throw refusal('chat_link_invalid')
  if (link.user_id !== who.user.id) throw refusal('chat_link_not_yours')
  const account = await ownAccount(deps, who)
  const full = account.channels.length >= MAX_CHANNELS
  if (full && !hasChannel(account, link.channel)) throw refusal('channel_limit')
  await proveFactor(deps, who, { operation: 'chat.channel', target: link.id }, proof, address)
  await useUp(deps, link)
  const { channel: name, workspace } = link.shown_as
  const channel = { ...link.channel, ...(name === undefined ? {} : { name }), workspace }
  const detail = { identity: identityKey(link.identity) }
  const entry = channelAudit(deps, who, { type: 'channel.added', channel, address, detail })
  const added = await deps.accounts.addChannel(account.id, channel, MAX_CHANNELS, entry)
  if (added === 'full') throw refusal('channel_limit')
  if (added === 'added') deps.log.info({ account_id: account.id, ...link.channel }, 'channel added')
  return channel
}

/**
 * The channel gets no further request; its cards of earlier ones stay and are kept up to date.
 * @throws Refusal `not_found`
 */
export async function removeChannel(
  deps: FlowDeps,
  who: SignedIn,
  channel: ChatChannel,
  address: string,
): Promise<void> {
  const account = await ownAccount(deps, who)
  const entry = channelAudit(deps, who, { type: 'channel.removed', channel, address })
  if (!(await deps.accounts.removeChannel(account.id, channel, entry))) throw refusal('not_found')
  deps.log.info({ account_id: account.id, ...channel }, 'channel removed')
}

/** The account this person owns. @throws Refusal `not_found` */
export async function ownAccount({ accounts }: Pick<FlowDeps, 'accounts'>, who: SignedIn): Promise<Account> {
  const account = await accounts.find(who.user.account_id)
  if (account === undefined || account.owner_id !== who.user.id) throw refusal('not_found')
  return account
}

function channelAudit(
  deps: FlowDeps,
  { user }: SignedIn,
  about: {
    type: AuditType
    channel: ChatChannel
    address: string
    detail?: NonNullable<AuditEntry['detail']>
  },
): AuditEntry {
  const { platform, tenant, channel } = about.channel
  return personAudit(deps, about.type, user, {
    address: about.address,
    subject: user.account_id,
    detail: { platform, tenant, channel, ...about.detail },
  })
}
