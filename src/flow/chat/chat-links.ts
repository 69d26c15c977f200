import { hasChannel, MAX_CHANNELS } from '../../domain/account.ts'
import {
  type ChatChannel,
  type ChatIdentity,
  type ChatLink,
  identityKey,
  type ShownIdentity,
  UNKNOWN_TENANT,
} from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { visibleLine } from '../../domain/text.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { FlowDeps } from '../deps.ts'
import { changeFresh, personAudit } from '../people/person.ts'
import { drawDevice, withDevice } from '../people/sign-in.ts'
import { type ChatAnswer, type ChatSpeaker, notices } from './chat-answer.ts'

const LINK_MS = 10 * 60_000

/** Answers `link`: a one-time link with which a signed-in person confirms that this identity is theirs. */
export async function askToLink(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  person: User | undefined,
): Promise<ChatAnswer> {
  if (person !== undefined) return notices.alreadyLinked(speaker.identity.platform)
  return drawLink(deps, speaker, { kind: 'link' })
}

/** Answers `browser`: a one-time link that makes the browser that opens it a known one, so that codes sign in there (T15). */
export async function askForBrowser(deps: FlowDeps, speaker: ChatSpeaker, person: User): Promise<ChatAnswer> {
  if (!factorsOf(person).has_totp) return notices.noCodes()
  return drawLink(deps, speaker, { kind: 'browser', user_id: person.id })
}

/** Answers `channel`: a one-time link with which the account's owner lets every request be shown in the channel. */
export async function askForChannel(deps: FlowDeps, speaker: ChatSpeaker, person: User): Promise<ChatAnswer> {
  const { channel, identity } = speaker
  if (channel === undefined) return notices.notInChannel(identity.platform)
  if (person.no_account) return notices.noAccount()
  if (!(await isServed(deps, channel, person))) return notices.notServed()
  const account = await deps.accounts.find(person.account_id)
  if (hasChannel(account, channel)) return notices.channelKnown()
  if (account !== undefined && account.channels.length >= MAX_CHANNELS) return notices.channelsFull()
  return drawLink(deps, speaker, { kind: 'channel', user_id: person.id, channel })
}

async function isServed(
  { chats }: FlowDeps,
  { platform, tenant }: ChatChannel,
  { account_id }: User,
): Promise<boolean> {
  const tenants = await chats.find((chat) => chat.platform === platform)?.tenantsOf(account_id)
  return tenants !== undefined && (tenants.includes(tenant) || tenants.includes(UNKNOWN_TENANT))
}

async function drawLink(
  deps: FlowDeps,
  { identity, shown_as }: ChatSpeaker,
  wanted: Pick<ChatLink, 'kind' | 'user_id' | 'channel'>,
): Promise<ChatAnswer> {
  const refused = await limitSpeaker(deps, identity, 'link')
  if (refused !== undefined) return refused
  const token = toBase64Url(deps.random.bytes(32))
  const now = deps.clock.now()
  const link: ChatLink = {
    id: drawId(deps, 'cln'),
    ...wanted,
    token_hash: deps.vault.hash('chat-link', token),
    identity: { platform: identity.platform, tenant: identity.tenant, user: identity.user },
    shown_as: {
      person: shownName(shown_as.person, identity.user),
      workspace: shownName(shown_as.workspace, identity.tenant),
      ...channelName(wanted, shown_as),
    },
    expires_at: new Date(now.getTime() + LINK_MS),
    created_at: now,
  }
  await deps.chatLinks.insert(link)
  const url = `${deps.settings.baseUrl}/link#${token}`
  return { kind: 'link', purpose: wanted.kind, url, expires_at: link.expires_at }
}

function channelName({ channel }: Pick<ChatLink, 'channel'>, { channel: name = '' }: ShownIdentity) {
  return channel === undefined ? {} : { channel: shownName(name, channel.channel) }
}

const LONGEST_NAME = 80

/** Returns a name as one line of visible text: the platform and its users choose names, which must not pass for our words. */
function shownName(name: string, fallback: string): string {
  const characters = [...visibleLine(name.trim())]
  if (characters.length === 0) return fallback
  if (characters.length <= LONGEST_NAME) return characters.join('')
  return `${characters.slice(0, LONGEST_NAME - 1).join('')}…`
}

/** How often one identity may look something up and get one-time links. */
const LIMITS = {
  look: { most: 30, seconds: 60 },
  link: { most: 10, seconds: 600 },
} as const

/**
 * Counts the commands of an identity, across all processes.
 * @returns the refusal when the limit is exceeded
 */
export async function limitSpeaker(
  { attempts }: FlowDeps,
  identity: ChatIdentity,
  kind: keyof typeof LIMITS,
): Promise<ChatAnswer | undefined> {
  const { allowed, retryAfter } = await attempts.take(`chat-${kind}:${identityKey(identity)}`, LIMITS[kind])
  return allowed ? undefined : notices.tooMany(Math.ceil(retryAfter / 60))
}

/**
 * Finds the one-time link of a token without changing anything. Unlinking the identity takes back the links that it asked for.
 * @throws Refusal `chat_link_invalid`: unknown, used, replaced, expired and taken back answer alike
 */
export async function openChatLink(deps: FlowDeps, token: string): Promise<ChatLink> {
  const link = await deps.chatLinks.find(deps.vault.hash('chat-link', token))
  if (link === undefined) throw refusal('chat_link_invalid')
  if (link.kind === 'link') return link
  const holder = await deps.users.findByIdentity(identityKey(link.identity))
  if (holder === undefined || holder.id !== link.user_id) throw refusal('chat_link_invalid')
  return link
}

/** Uses up the link; afterwards nothing but a lost race may refuse the operation. @throws Refusal `chat_link_invalid` */
export async function useUp(deps: FlowDeps, link: ChatLink): Promise<void> {
  if (!(await deps.chatLinks.consume(link.id))) throw refusal('chat_link_invalid')
}

/**
 * Makes the browser that presents the link a known one: from then on the person can sign in there with a code (T15). The code
 * is still needed, so the link alone opens nothing.
 * @returns the token of the device cookie
 * @throws Refusal `chat_link_invalid`
 */
export async function makeBrowserKnown(deps: FlowDeps, link: ChatLink, address: string): Promise<string> {
  const key = identityKey(link.identity)
  const { token, entry } = drawDevice(deps)
  const userId = link.user_id
  if (userId === undefined) throw refusal('chat_link_invalid')
  await useUp(deps, link)
  await changeFresh(deps.users, userId, (user) => {
    if (!user.chat.some((identity) => identityKey(identity) === key)) throw refusal('chat_link_invalid')
    const actor = { kind: 'chat', id: key, address } as const
    const audit = personAudit(deps, 'chat.browser_known', user, { actor })
    return { fields: { devices: withDevice(user.devices, entry) }, audit: [audit] }
  })
  deps.log.info({ user_id: userId, identity: key }, 'a browser was trusted from chat')
  return token
}
