import { type RefusalCode, refusal } from '../../src/domain/errors.ts'
import type { ChatChannel, ChatIdentity, ChatLink, Platform } from '../../webauthn-page/kit/api/contract.ts'

/** The token of the one link that exists. */
export const LINK_TOKEN = 'k3Yb_9Qe-7'.repeat(4).concat('xyz')

/** What the server says about chat; tests set it. */
export interface PageChat {
  /** Undefined once it is used, or for a link that never was. */
  link: ChatLink | undefined
  /** Refuses to use the link, whatever comes with it. */
  refuse: RefusalCode | undefined
  identities: ChatIdentity[]
  channels: ChatChannel[]
  /** Platforms that the service is connected with; another area may say more of them. */
  platforms: Platform[]
}

/** A link as somebody in a workspace gets it. */
export function sampleLink(changes: Partial<ChatLink> = {}): ChatLink {
  return {
    id: 'cln_7K2M9Q4R8S1T6W5X0YZABCDEFG',
    kind: 'link',
    platform: 'slack',
    person: 'Ana P.',
    workspace: 'Example Ltd',
    channel: undefined,
    expires_at: new Date(Date.now() + 540_000).toISOString(),
    ...changes,
  }
}

export const SAMPLE_IDENTITY: ChatIdentity = {
  key: 'slack:T024BE7LD:U023BECGF',
  platform: 'slack',
  tenant: 'T024BE7LD',
  person: 'Ana P.',
  workspace: 'Example Ltd',
  linked_at: '2026-11-02T08:00:00.000Z',
}

export const SAMPLE_CHANNEL: ChatChannel = {
  platform: 'slack',
  tenant: 'T024BE7LD',
  channel: 'C024BE91L',
  name: 'deploys',
  workspace: 'Example Ltd',
}

/** One link, nothing linked yet. */
export function freshChat(): PageChat {
  return {
    link: sampleLink(),
    refuse: undefined,
    identities: [],
    channels: [],
    platforms: ['slack', 'teams'],
  }
}

interface Call {
  body: Record<string, unknown>
  signedIn: boolean
}

/** The chat part of the API, as `METHOD path`. @throws Refusal */
export function chatAnswers(chat: PageChat, { body, signedIn }: Call): Record<string, () => unknown> {
  const configured = (platform: Platform) => chat.platforms.includes(platform)
  return {
    'GET /account/chat-apps': () => ({
      slack: { configured: configured('slack'), mode: null, installations: [] },
      teams: { configured: configured('teams'), tenants: [] },
    }),
    'POST /chat-links/look': () => openLink(chat, body),
    'POST /chat-links/use': () => {
      const { kind } = openLink(chat, body)
      const { refuse } = chat
      if (kind !== 'browser') {
        if (!signedIn) throw refusal('not_signed_in')
        if (refuse !== undefined && refuse !== 'channel_unreachable') throw refusal(refuse)
        checkProof(body.proof)
      }
      if (refuse !== undefined) throw refusal(refuse, { reason: 'not_in_channel' })
      chat.link = undefined
      if (kind === 'link') chat.identities = [SAMPLE_IDENTITY]
      if (kind === 'channel') chat.channels = [SAMPLE_CHANNEL]
      return { ok: true }
    },
    'GET /me/chat': () => ({ identities: chat.identities }),
    'POST /me/chat/remove': () => {
      chat.identities = chat.identities.filter(({ key }) => key !== body.key)
      return { ok: true }
    },
    'GET /account/channels': () => ({ data: chat.channels, next_cursor: null }),
    'POST /account/channels/remove': () => {
      const named = ({ platform, tenant, channel }: ChatChannel): boolean =>
        platform === body.platform && tenant === body.tenant && channel === body.channel
      chat.channels = chat.channels.filter((channel) => !named(channel))
      return { ok: true }
    },
  }
}

function openLink({ link }: PageChat, { token }: Record<string, unknown>): ChatLink {
  if (link === undefined || token !== LINK_TOKEN) throw refusal('chat_link_invalid')
  return link
}

/** Passkeys are tested against the real service; here any will do. */
function checkProof(proof: unknown): void {
  if (typeof proof !== 'object' || proof === null) throw refusal('proof_required')
  if ('totp' in proof && proof.totp !== '123456') throw refusal('totp_refused')
}
