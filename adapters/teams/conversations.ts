import { z } from 'zod'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { normaliseEmail } from '../../src/domain/user.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatConversation, ChatConversationStore } from '../../src/store/chat-conversations.ts'
import type { BotAddress, BotPlace, BotSource, BotUser } from './bot-port.ts'
import { firstService } from './service-address.ts'

/** Where people and channels of the tenant are written to, as far as Teams has told. */
export interface Conversations {
  /** Keeps what an activity says about where it came from. */
  meet(source: BotSource): Promise<ChatConversation | undefined>
  /** Adds what the directory says about the person. */
  describe(met: ChatConversation, user: BotUser): Promise<void>
  leave(source: BotSource): Promise<void>
  /** A person's own conversation that was opened just now. */
  opened(user: string, place: BotPlace): Promise<void>
  ofPerson(user: string): Promise<BotAddress>
  ofChannel(channel: string): Promise<BotAddress>
  findByEmail(email: string): Promise<string | undefined>
  /** What a channel was called when it was last named. */
  nameOf(channel: string): Promise<string | undefined>
}

const PLATFORM = 'teams'
/** Names are shown to people; no longer ones are theirs. */
const LONGEST_NAME = 200

/** Over the store of conversations of one tenant. Throws only what the store throws. */
export function createConversations(
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
  store: ChatConversationStore,
  clock: FlowDeps['clock'],
): Conversations {
  const { tenantId: tenant } = settings
  const put = async (
    fresh: Pick<ChatConversation, 'who' | 'kind' | 'reference'> & { name?: string | undefined },
  ): Promise<ChatConversation> => {
    const { who, kind, reference } = fresh
    const known = await store.find(PLATFORM, tenant, who)
    const name = (fresh.name ?? known?.name)?.slice(0, LONGEST_NAME)
    const met = { platform: PLATFORM, tenant, who, kind, reference, seen_at: clock.now() } as const
    const told = {
      ...(name === undefined ? {} : { name }),
      ...(known?.email === undefined ? {} : { email: known.email }),
    }
    await store.put({ ...met, ...told })
    return { ...met, ...told }
  }
  const serviceUrl = async (): Promise<string> => {
    const newest = await store.newest(PLATFORM, tenant)
    return (newest && readPlace(newest.reference)?.service_url) ?? firstService(settings)
  }
  const placeOf = async (who: string): Promise<BotPlace | undefined> => {
    const known = await store.find(PLATFORM, tenant, who)
    return known && readPlace(known.reference)
  }
  return {
    async meet(source) {
      const who = whoOf(source)
      if (who === undefined) return undefined
      const { kind } = source.place
      const name = kind === 'person' ? source.user_name : source.channel_name
      // Messages to a channel begin threads of their own, whatever thread it was seen in.
      const place = kind === 'person' ? source.place : { ...source.place, conversation_id: who }
      return put({ who, kind: kind === 'person' ? 'person' : 'channel', reference: writePlace(place), name })
    },
    async describe(met, { email, name }) {
      const normalised = email === undefined ? undefined : normaliseEmail(email)
      // Perhaps gone again while the directory was asked: only they themselves bring it back.
      await store.describe(PLATFORM, tenant, met.who, {
        ...(normalised === undefined ? {} : { email: normalised }),
        ...(name === undefined ? {} : { name: name.slice(0, LONGEST_NAME) }),
      })
    },
    async leave(source) {
      const who = whoOf(source)
      if (who !== undefined) await store.remove(PLATFORM, tenant, who)
    },
    async opened(user, place) {
      await put({ who: user, kind: 'person', reference: writePlace(place) })
    },
    async ofPerson(user) {
      const place = await placeOf(user)
      return place?.kind === 'person' ? place : { kind: 'unmet', service_url: await serviceUrl(), user }
    },
    async ofChannel(channel) {
      const place = await placeOf(channel)
      if (place?.kind === 'group') return place
      return { kind: 'thread', service_url: place?.service_url ?? (await serviceUrl()), channel }
    },
    findByEmail: async (email) => (await store.findByEmail(PLATFORM, tenant, email))?.who,
    nameOf: async (channel) => (await store.find(PLATFORM, tenant, channel))?.name,
  }
}

function whoOf({ place, user, channel }: BotSource): string | undefined {
  return place.kind === 'person' ? user : channel
}

const placeSchema = z.object({
  kind: z.enum(['person', 'group', 'channel']),
  service_url: z.string(),
  conversation_id: z.string(),
})

/** A place as JSON text, for the store. */
export function writePlace({ kind, service_url, conversation_id }: BotPlace): string {
  return JSON.stringify({ kind, service_url, conversation_id })
}

/** @returns undefined for what this version did not write */
export function readPlace(text: string): BotPlace | undefined {
  try {
    const read = placeSchema.safeParse(JSON.parse(text))
    return read.success ? read.data : undefined
  } catch {
    return undefined
  }
}
