import { z } from 'zod'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { given } from '../../src/domain/given.ts'
import { parseJson } from '../../src/domain/parse-json.ts'
import { normaliseEmail } from '../../src/domain/user.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatOutcome } from '../../src/ports/ports.ts'
import type { ChatConversation, ChatConversationStores } from '../../src/store/chat/chat-conversations.ts'
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
/** Milliseconds for which an address may address cards: people are renamed, and addresses pass to others. */
const FRESH_MS = 24 * 3_600_000
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
    const known = await store.find(who)
    const name = (newName ?? known?.name)?.slice(0, LONGEST_NAME)
    // Not every activity from a channel names its team.
    const team = conversation.team ?? (known && readConversation(known.reference)?.team)
    const reference = writeConversation({ ...conversation, team })
    const met = { platform: PLATFORM, tenant, who, kind, reference, seen_at: clock.now() } as const
    const { email, told_at, member: formerly } = known ?? {}
    const unasked = email === undefined ? (member ?? known?.unasked) : undefined
    const told = given({ name, email, told_at, member: member ?? formerly, unasked })
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
    /** Returns the last known name of a channel. */
    nameOf: async (channel: string) => (await store.find(channel))?.name,
  }
}

type Failed = ChatOutcome<never> & { ok: false }
type Asking = Pick<BotCalls, 'resolveUser'>

/** The tenant's directory. It is asked about a person again if it had no answer, or if the answer is a day old. */
function createDirectory(store: ReturnType<ChatConversationStores>, clock: FlowDeps['clock']) {
  /** Asks the directory for a person's address and stores it. @returns the normalised address */
  const ask = async (met: ChatConversation, calls: Asking): Promise<ChatOutcome<string | undefined>> => {
    const conversation = readConversation(met.reference)
    const answer =
      conversation === undefined ? NO_PLACE : await calls.resolveUser(conversation, met.member ?? met.who)
    if (!answer.ok) {
      // Also for 403 and 404: Teams answers so for moments after an installation.
      await store.noteUnanswered(met.who)
      return answer
    }
    const { email, name } = answer.value
    const normalised = email === undefined ? undefined : normaliseEmail(email)
    const about = given({ email: normalised, name: name?.slice(0, LONGEST_NAME) })
    // If the person removed the app meanwhile, `describe` does not bring the conversation back; only the person can.
    await store.describe(met.who, { ...about, told_at: clock.now() })
    return { ...answer, value: normalised }
  }
  const isFresh = ({ told_at }: ChatConversation): boolean =>
    told_at !== undefined && clock.now().getTime() - told_at.getTime() <= FRESH_MS
  /** @returns the first failure of the directory itself; one that concerns the person alone is none */
  const askAll = async (met: readonly ChatConversation[], calls: Asking): Promise<Failed | undefined> => {
    const answers = await Promise.all(met.map((one) => ask(one, calls)))
    return answers.flatMap((answer) => (answer.ok || answer.outcome === 'unreachable' ? [] : answer))[0]
  }
  let trouble: { failed: Failed; until: number } | undefined
  /**
   * Asks again about people for whom the directory had no answer when we met them.
   * @returns why the address of one of them is still unknown
   */
  const askAgain = async (calls: Asking): Promise<Failed | undefined> => {
    if (trouble !== undefined && clock.steady() < trouble.until) return trouble.failed
    const met = await store.unasked({ limit: ASKED_AT_ONCE, times: ASKED_TIMES })
    const failed = await askAll(met, calls)
    trouble = failed && { failed, until: clock.steady() + REST_MS }
    // The least asked come first: if the last one was asked before, so was everyone.
    const more = met.length === ASKED_AT_ONCE && met.at(-1)?.unanswered === undefined
    return failed ?? (more ? MORE_TO_ASK : undefined)
  }
  return {
    ask,
    askAgain,
    /** Checks whether the directory must be asked for the person's address before it addresses a card. */
    isDue: (met: ChatConversation) => met.email === undefined || !isFresh(met),
    /** @returns the only person with that address; none when several have it: no card is addressed by a guess */
    async findByEmail(email: string, calls: Asking): Promise<ChatOutcome<string | undefined>> {
      const known = await store.holders(email)
      const old = known.filter((one) => !isFresh(one))
      const failed = await askAll(old, calls)
      if (failed !== undefined) return failed
      // Those about whom the directory answers no longer do not count.
      const find = async () => (await store.holders(email)).filter(isFresh)
      let found = old.length === 0 ? known : await find()
      if (found.length === 0) {
        const unknown = await askAgain(calls)
        found = await find()
        if (found.length === 0 && unknown !== undefined) return unknown
      }
      return { ok: true, value: found.length === 1 ? found[0]?.who : undefined, duration_ms: 0 }
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
