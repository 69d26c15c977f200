import { type Account, type AccountChannel, hasChannel, MAX_CHANNELS } from '../../domain/account.ts'
import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { type ChatChannel, type ChatPlatform, identityKey, UNKNOWN_TENANT } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { ID_BYTES, newId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { ChatApps, ChatSetup } from '../../domain/views.ts'
import type { ChatPort } from '../../ports/ports.ts'
import { toBase64Url } from '../../signing/base64.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { ChatInstallation } from '../../store/chat/chat-installations.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo, type Owner } from '../people/accounts.ts'
import { personAudit, undoIfReset } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { proveFactor } from '../people/step-up.ts'
import { beginTrouble, endTrouble, queueForAccount, standingIn } from '../tell/trouble.ts'
import { ownerAudit } from '../webhooks/manage-webhooks.ts'
import { useUp } from './chat-links.ts'
import type { LinkUse } from './link-identity.ts'

/**
 * Lets every request of the account be shown in a channel, after a fresh proof by its owner for this very link. Only the person
 * who asked for the link can use it: another owner could be lured into showing requests in a stranger's channel.
 * A first message there proves that the app can post; if it cannot, nothing is connected and the link stays valid.
 * @throws Refusal `chat_link_not_yours`, `channel_limit`, `channel_unreachable`, `chat_link_invalid`, `not_signed_in`, those of
 *   `proveFactor`
 */
export async function addChannel(
  deps: FlowDeps,
  who: SignedIn,
  { link, proof, address }: LinkUse,
): Promise<AccountChannel> {
  if (link.channel === undefined) throw refusal('chat_link_invalid')
  if (link.user_id !== who.user.id) throw refusal('chat_link_not_yours')
  const { account } = await accessTo(deps, who.user, 'manage')
  const full = account.channels.length >= MAX_CHANNELS
  if (full && !hasChannel(account, link.channel)) throw refusal('channel_limit')
  await proveFactor(deps, who, { operation: 'chat.channel', target: link.id }, proof, address)
  if (!hasChannel(account, link.channel)) await greet(deps, account, link.id, link.channel)
  await useUp(deps, link)
  const { channel: name, workspace } = link.shown_as
  const channel = { ...link.channel, ...given({ name }), workspace }
  const detail = { identity: identityKey(link.identity) }
  const entry = channelAudit(deps, who.user, { type: 'channel.added', channel, address, detail })
  const added = await deps.accounts.addChannel(account.id, channel, MAX_CHANNELS, entry)
  if (added === 'full') throw refusal('channel_limit')
  if (added !== 'added') return channel
  await undoIfReset(deps, who.user, () => {
    const removal = channelAudit(deps, who.user, {
      type: 'channel.removed',
      channel,
      actor: { kind: 'service' },
    })
    return deps.accounts.removeChannel(account.id, channel, removal)
  })
  deps.log.info({ account_id: account.id, ...link.channel }, 'channel added')
  return channel
}

async function greet(
  { chats, settings, log }: FlowDeps,
  { name: account }: Account,
  id: string,
  channel: ChatChannel,
): Promise<void> {
  const links = { details: `${settings.baseUrl}/integrations` }
  const greeting = { kind: 'greeting', request_id: id, version: 1, account, links } as const
  const port = chats.find(({ platform }) => platform === channel.platform)
  const posted = await port?.post(channel, greeting)
  if (posted?.ok) return
  const { code = 'not_set_up' } = posted ?? {}
  log.info({ ...channel, reason: code }, 'connecting a channel failed: the app cannot post there')
  throw refusal('channel_unreachable', { reason: code })
}

/**
 * Disconnects a channel: it gets no further requests; its earlier cards stay and are kept up to date.
 * @throws Refusal `not_found`
 */
export async function removeChannel(
  deps: FlowDeps,
  who: SignedIn,
  channel: ChatChannel,
  address: string,
): Promise<void> {
  const { account } = await accessTo(deps, who.user, 'manage')
  const entry = channelAudit(deps, who.user, { type: 'channel.removed', channel, address })
  if (!(await deps.accounts.removeChannel(account.id, channel, entry))) throw refusal('not_found')
  deps.log.info({ account_id: account.id, ...channel }, 'channel removed')
}

/** Makes an audit entry about a channel of the person's own account. */
export function channelAudit(
  deps: FlowDeps,
  person: Pick<User, 'id' | 'account_id'>,
  about: {
    type: AuditType
    channel: ChatChannel
    address?: string
    actor?: AuditActor
    detail?: NonNullable<AuditEntry['detail']>
  },
): AuditEntry {
  const { platform, tenant, channel } = about.channel
  return personAudit(deps, about.type, person, {
    ...given({ address: about.address, actor: about.actor }),
    subject: person.account_id,
    detail: { platform, tenant, channel, ...about.detail },
  })
}

/** A workspace with its sealed tokens, as the adapter hands it over. */
type NewInstallation = Pick<ChatInstallation, 'platform' | 'tenant' | 'workspace_name' | 'sealed'>

/**
 * Connects a workspace to the owner's account, beside accounts that have it already. Its name and tokens are replaced, and
 * waiting cards are posted there.
 * The trail is written first: an entry about an installation that then fails does no harm, an installation without one would.
 * @param person the person who connects it, as read when they were admitted
 * @throws Refusal `install_limit`, `not_signed_in`
 */
export async function addInstallation(
  deps: FlowDeps,
  owner: Owner,
  fresh: NewInstallation,
  person: User,
): Promise<void> {
  const at = deps.clock.now()
  await deps.audit.append(entryOf(deps, 'chat.installed', owner, fresh, at))
  const { accountId } = owner
  const known = await deps.installations.find(fresh.platform, fresh.tenant)
  const installed = { ...fresh, account_ids: [accountId], installed_at: at }
  if (!(await deps.installations.put(installed))) throw refusal('install_limit')
  if (!known?.account_ids.includes(accountId))
    await undoIfReset(deps, person, () =>
      leaveInstallation(deps, { accountId, actor: { kind: 'service' } }, fresh.platform, fresh.tenant),
    )
  try {
    await endTrouble(deps, fresh)
    await queueForAccount(deps, accountId, fresh.platform)
  } catch (error) {
    deps.log.warn({ error, account_id: accountId }, 'queueing the cards that wait for a workspace failed')
  }
}

/**
 * Forgets, for every account, a workspace from which the app was removed, together with its tokens. The trail is written first,
 * and an interrupted call may be repeated.
 * @returns false when it is not known, or no longer: platforms report one removal more than once
 */
export async function removeInstallation(
  deps: FlowDeps,
  platform: ChatPlatform,
  tenant: string,
): Promise<boolean> {
  const known = await deps.installations.find(platform, tenant)
  if (known === undefined) return false
  const at = deps.clock.now()
  const entries = known.account_ids.map((accountId) => {
    const entry = entryOf(deps, 'chat.uninstalled', { accountId, actor: { kind: 'service' } }, known, at)
    return { ...entry, eid: removalId(known, accountId) }
  })
  await deps.audit.append(...entries)
  // Before the installation is forgotten: a repeated call would not know any more whom to tell.
  for (const accountId of known.account_ids)
    await beginTrouble(deps, accountId, { platform, tenant, reason: 'app_removed' })
  if ((await deps.installations.remove(known)) !== undefined) return true
  // Installed again meanwhile, and over for those; or another process has handled the removal, and it is over for nobody.
  await endTrouble(deps, { platform, tenant })
  return false
}

/**
 * Disconnects a workspace from the account, whose people get no more cards there. When no account is left, the workspace and its
 * tokens are forgotten; the app itself stays in the workspace until it is removed there. The trail is written first.
 * Of a workspace that removed the app, which is disconnected already, the trouble ends.
 * @throws Refusal `not_found` when the account neither has it nor lost it
 */
export async function leaveInstallation(
  deps: FlowDeps,
  owner: Owner,
  platform: ChatPlatform,
  tenant: string,
): Promise<void> {
  const place = { platform, tenant }
  const known = await deps.installations.find(platform, tenant)
  const held = known?.account_ids.includes(owner.accountId) ?? false
  if (!held && (await standingIn(deps, owner.accountId, place)) !== 'lost') throw refusal('not_found')
  await deps.audit.append(
    entryOf(deps, 'chat.uninstalled', owner, known ?? { ...place, workspace_name: tenant }, deps.clock.now()),
  )
  // Before, and after, since a card may have been refused in between.
  await deps.accounts.endTrouble(owner.accountId, place)
  await deps.installations.leave(platform, tenant, owner.accountId)
  await deps.accounts.endTrouble(owner.accountId, place)
  deps.log.info({ account_id: owner.accountId, platform, tenant }, 'an account left a workspace')
}

/** Returns an id that is the same however often the platform reports this removal, so that the trail has it once. */
function removalId({ platform, tenant, installed_at }: ChatInstallation, accountId: string): string {
  const digest = sha256Hex(JSON.stringify([platform, tenant, installed_at, accountId]))
  return newId('evt', Buffer.from(digest, 'hex').subarray(0, ID_BYTES))
}

function entryOf(
  deps: FlowDeps,
  type: AuditType,
  owner: Owner,
  { platform, tenant, workspace_name }: Omit<NewInstallation, 'sealed'>,
  at: Date,
): AuditEntry {
  const entry = ownerAudit(deps, type, owner, `${platform}:${tenant}`, at)
  return { ...entry, detail: { platform, tenant, workspace: workspace_name } }
}

/** Milliseconds, as long as Slack's own codes are valid: an administrator may have to sign in there first. */
const STATE_MS = 10 * 60_000

/** The form of a `state` from `startInstall`; anything else is not looked up. */
const STATE = /^[\w-]{43}$/

/**
 * Draws the `state` of an OAuth installation (RFC 6749 §10.12): 32 random bytes in base64url. The store
 * keeps its hash together with the session that asked.
 */
export async function startInstall(deps: FlowDeps, sessionId: string): Promise<string> {
  const state = toBase64Url(deps.random.bytes(32))
  const expires_at = new Date(deps.clock.now().getTime() + STATE_MS)
  await deps.challenges.put({
    id: sha256Hex(state),
    purpose: 'chat.install',
    session_id: sessionId,
    expires_at,
  })
  return state
}

/**
 * Uses up the state, whichever process drew it. Only the session that started the installation may finish it: otherwise an
 * attacker could connect their own workspace to a victim's account by making the victim's browser open the last step.
 * @throws Refusal `install_state_invalid`
 */
export async function finishInstall(deps: FlowDeps, sessionId: string, state: string): Promise<void> {
  const taken = STATE.test(state) ? await deps.challenges.take(sha256Hex(state), 'chat.install') : undefined
  if (taken?.session_id !== sessionId) throw refusal('install_state_invalid')
}

/** Reads what an owner needs to know to get cards in chat. Never throws because of a platform. */
export async function readChatApps(deps: FlowDeps, accountId: string): Promise<ChatApps> {
  const setupOf = (platform: ChatPlatform): Promise<ChatSetup> | undefined => {
    const port = deps.chats.find((chat) => chat.platform === platform)
    return port && setupFor(port, accountId)
  }
  const [slack, teams] = await Promise.all([setupOf('slack'), setupOf('teams')])
  const { chat_troubles = [] } = (await deps.accounts.find(accountId)) ?? {}
  return { slack, teams, troubles: chat_troubles.filter(({ channel }) => channel === undefined) }
}

async function setupFor(port: ChatPort, accountId: string): Promise<ChatSetup> {
  if (port.setupFor !== undefined) return port.setupFor(accountId)
  const tenants = (await port.tenantsOf(accountId)).filter((tenant) => tenant !== UNKNOWN_TENANT)
  return { mode: 'one', workspaces: tenants.map((tenant) => ({ tenant })) }
}
