import { z } from 'zod'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { given } from '../../src/domain/given.ts'
import { parseJson } from '../../src/domain/parse-json.ts'
import { normaliseEmail } from '../../src/domain/user.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatOutcome } from '../../src/flow/ports.ts'
import type { ChatConversation, ChatConversationStores } from '../../src/store/chat-conversations.ts'
import type { BotAddress, BotCalls, BotConversation, BotSource } from './bot-port.ts'
import { firstService } from './service-address.ts'

/** The conversations in which we reach people and channels of the tenant, as far as Teams has named them. */
export type Conversations = ReturnType<typeof createConversations>

const PLATFORM = 'teams'
/** Most characters of a name; names are shown to people, and real ones are not longer. */
const LONGEST_NAME = 200

/** Most people for whom one look-up of an address asks the directory again. */
const ASKED_AT_ONCE = 32
/** Most times the directory is asked about one person: for some it may never have an answer. */
const ASKED_TIMES = 30
/** Milliseconds for which a directory that failed is not asked again. */
const REST_MS = 10_000
const NO_PLACE = { ok: false, outcome: 'unreachable', code: 'unreadable', duration_ms: 0 } as const
const MORE_TO_ASK = { ok: false, outcome: 'failed', code: 'not_asked_yet', duration_ms: 0 } as const

/** Manages the stored conversations of one tenant. Throws only the store's errors. */
export function createConversations(
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
  stores: ChatConversationStores,
  clock: FlowDeps['clock'],
) {
  const { tenantId: tenant } = settings
  const store = stores(PLATFORM, tenant)
  const put = async (
    who: string,
    conversation: BotConversation,
    newName?: string,
    member?: string,
  ): Promise<ChatConversation> => {
    const kind = conversation.kind === 'person' ? 'person' : 'channel'
    const reference = writeConversation(conversation)
    const known = await store.find(who)
    const name = (newName ?? known?.name)?.slice(0, LONGEST_NAME)
    const met = { platform: PLATFORM, tenant, who, kind, reference, seen_at: clock.now() } as const
    const unasked = known?.email === undefined ? (member ?? known?.unasked) : undefined
    const told = given({ name, email: known?.email, unasked })
    await store.put({ ...met, ...told })
    return { ...met, ...told }
  }
  const serviceUrl = async (): Promise<string> => {
    const newest = await store.newest()
    return (newest && readConversation(newest.reference)?.service_url) ?? firstService(settings)
  }
  const conversationOf = async (who: string): Promise<BotConversation | undefined> => {
    const known = await store.find(who)
    return known && readConversation(known.reference)
  }
  return {
    /** Stores the conversation from which an activity came. */
    async meet(source: BotSource): Promise<ChatConversation | undefined> {
      const who = whoOf(source)
      if (who === undefined) return undefined
      const { kind } = source.conversation
      const name = kind === 'person' ? source.user_name : source.channel_name
      // Our messages to a channel start their own threads, whichever thread the activity came from.
      const thread = kind === 'person' ? {} : { conversation_id: who }
      const member = kind === 'person' ? (source.member ?? who) : undefined
      return put(who, { ...source.conversation, ...thread }, name, member)
    },
    ...createDirectory(store, clock),
    async leave(source: BotSource): Promise<void> {
      const who = whoOf(source)
      if (who !== undefined) await store.remove(who)
    },
    /** Stores a person's own conversation that was just opened. */
    async opened(user: string, conversation: BotConversation): Promise<void> {
      await put(user, conversation)
    },
    async ofPerson(user: string): Promise<BotAddress> {
      const known = await conversationOf(user)
      return known?.kind === 'person' ? known : { kind: 'unmet', service_url: await serviceUrl(), user }
    },
    async ofChannel(channel: string): Promise<BotAddress> {
      const known = await conversationOf(channel)
      if (known?.kind === 'group') return known
      return { kind: 'thread', service_url: known?.service_url ?? (await serviceUrl()), channel }
    },
    /** Returns the team that a channel belongs to. */
    teamOf: async (channel: string) => (await conversationOf(channel))?.team,
    findByEmail: async (email: string) => (await store.findByEmail(email))?.who,
    /** Returns the last known name of a channel. */
    nameOf: async (channel: string) => (await store.find(channel))?.name,
  }
}

type Failed = ChatOutcome<never> & { ok: false }
type Asking = Pick<BotCalls, 'resolveUser'>

/** The tenant's directory. It is asked once for each person, and again only if it had no answer. */
function createDirectory(store: ReturnType<ChatConversationStores>, clock: FlowDeps['clock']) {
  /** Asks the directory for a person's address and stores it. @returns the normalised address */
  const ask = async (met: ChatConversation, calls: Asking): Promise<ChatOutcome<string | undefined>> => {
    const conversation = readConversation(met.reference)
    const answer =
      conversation === undefined ? NO_PLACE : await calls.resolveUser(conversation, met.unasked ?? met.who)
    if (!answer.ok && answer.outcome !== 'unreachable') {
      await store.noteUnanswered(met.who)
      return answer
    }
    const { email, name } = answer.ok ? answer.value : {}
    const normalised = email === undefined ? undefined : normaliseEmail(email)
    const about = given({ email: normalised, name: name?.slice(0, LONGEST_NAME) })
    // If the person removed the app meanwhile, `describe` does not bring the conversation back; only the person can.
    await store.describe(met.who, about)
    return answer.ok ? { ...answer, value: normalised } : answer
  }
  let trouble: { failed: Failed; until: Date } | undefined
  return {
    ask,
    /**
     * Asks again about people for whom the directory had no answer when we met them.
     * @returns why the address of one of them is still unknown
     */
    async askAgain(calls: Asking): Promise<Failed | undefined> {
      if (trouble !== undefined && clock.now() < trouble.until) return trouble.failed
      const met = await store.unasked({ limit: ASKED_AT_ONCE, times: ASKED_TIMES })
      const answers = await Promise.all(met.map((one) => ask(one, calls)))
      const refused = answers.find((answer) => !answer.ok && answer.outcome !== 'unreachable')
      const more = met.length < ASKED_AT_ONCE ? undefined : MORE_TO_ASK
      const failed = refused !== undefined && !refused.ok ? refused : more
      trouble =
        failed === refused && failed !== undefined
          ? { failed, until: new Date(clock.now().getTime() + REST_MS) }
          : undefined
      return failed
    },
  }
}

function whoOf({ conversation, user, channel }: BotSource): string | undefined {
  return conversation.kind === 'person' ? user : channel
}

const conversationSchema = z.object({
  kind: z.enum(['person', 'group', 'channel']),
  service_url: z.string(),
  conversation_id: z.string(),
  team: z.string().optional(),
})

/** Writes a conversation as JSON text, for the store. */
export function writeConversation({ kind, service_url, conversation_id, team }: BotConversation): string {
  return JSON.stringify({ kind, service_url, conversation_id, team })
}

/** Reads a stored conversation. @returns undefined for text that this version did not write */
export function readConversation(text: string): BotConversation | undefined {
  return conversationSchema.safeParse(parseJson(text)).data
}
