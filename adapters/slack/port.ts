import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isKind, type MovedView, type PostView } from '../../src/domain/card-view.ts'
import { type ChatIdentity, identityKey, type MessageRef } from '../../src/domain/chat.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatAddress, ChatPort, Log } from '../../src/ports/ports.ts'
import {
  plainBatch,
  plainCard,
  plainConsent,
  plainNotice,
  plainReply,
  renderBatch,
  renderCard,
  renderConsent,
  renderGreeting,
  renderMoved,
  renderNotice,
  renderReply,
} from './cards.ts'
import type { SlackMessage } from './rich-text.ts'
import {
  createHistory,
  createWebCalls,
  metadataOf,
  SLACK_RATES,
  type SlackRates,
  type WebCalls,
  type WebOutcome,
} from './web-calls.ts'
import { isBadMessage } from './web-client.ts'
import type { Workspaces } from './workspaces.ts'

export interface SlackPortParts {
  log: Log
  clock: FlowDeps['clock']
  /** How fast this process calls. Other values serve workspaces with other limits, and tests. */
  rates?: SlackRates
}

/** Creates the port that sends cards to Slack. Each of its methods ends within 15 s and never throws. */
export function createSlackPort(workspaces: Workspaces, parts: SlackPortParts): ChatPort {
  const { log, clock, rates = SLACK_RATES } = parts
  const { within } = createWebCalls(workspaces, { rates, log })
  const direct = createDirectMessages(clock)
  const history = createHistory()
  return {
    platform: 'slack',
    tenantsOf: workspaces.tenantsOf,
    setupFor: workspaces.setupFor,
    lookup: (tenant, email) => within((calls) => lookUp(calls, tenant, email)),
    post: (to, view, card) =>
      within(async (calls) => {
        const post = async () => {
          const opened = await conversationOf(calls, direct, to)
          return opened.ok ? postIn({ calls, log }, to.tenant, opened.value, view, card) : notPosted(opened)
        }
        const sent = await post()
        const gone = !sent.ok && sent.code === 'channel_not_found' && direct.forget(to)
        const posted = gone ? await post() : sent
        return posted.ok ? refOf(to.tenant, posted.value) : posted
      }),
    find: (to, card, since) =>
      within(async (calls) => {
        const opened = await conversationOf(calls, direct, to)
        return opened.ok ? history.find(calls, to.tenant, opened.value, card, since) : opened
      }),
    update: ({ tenant, conversation, message }, view) =>
      within(async (calls) => {
        const target = { tenant, method: 'chat.update', conversation }
        const base = { channel: conversation, ts: message, ...UNPARSED }
        return silent(await say({ calls, log }, target, base, ...drawn(view)))
      }),
    reply: ({ tenant, conversation, message }, view) =>
      within(async (calls) => {
        const target = { tenant, method: 'chat.postMessage', conversation }
        const base = { channel: conversation, thread_ts: message, ...QUIET }
        const said = await say({ calls, log }, target, base, renderReply(view), plainReply(view))
        return said.ok ? inThread(calls, target, said.value, message) : said
      }),
  }
}

type Calling = { calls: WebCalls; log: Log }

/** Posts a view. If Slack knows its id, from a message that is gone, posts without it: else nothing would ever go out. */
async function postIn(
  calling: Calling,
  tenant: string,
  conversation: string,
  view: PostView,
  card: Parameters<ChatPort['post']>[2],
): Promise<WebOutcome<unknown>> {
  const target = { tenant, method: 'chat.postMessage', conversation }
  const base = { channel: conversation, ...metadataOf(card?.id), ...QUIET }
  const id = messageId(view.request_id, view.version, tenant, conversation, card?.after?.getTime() ?? 0)
  const sent = await say(calling, target, { ...base, client_msg_id: id }, ...drawn(view))
  const again = !sent.ok && sent.code.startsWith('duplicate_')
  return again ? say(calling, target, base, ...drawn(view)) : sent
}

const replied = z.object({ ts: z.string(), message: z.object({ thread_ts: z.string().optional() }) })

/** Checks the thread of a reply. If its parent was deleted, Slack posts the reply outside any thread; that is taken back. */
async function inThread(
  calls: WebCalls,
  { tenant, conversation }: { tenant: string; conversation: string },
  answer: unknown,
  thread: string,
): Promise<WebOutcome<void>> {
  const { data } = replied.safeParse(answer)
  if (data === undefined || data.message.thread_ts === thread) return { ok: true, value: undefined }
  await calls.call({ tenant, method: 'chat.delete' }, { channel: conversation, ts: data.ts })
  return { ok: false, outcome: 'unreachable', code: 'not_in_thread', gone: true }
}

/** Draws a view, with the plain words that replace it if Slack refuses its blocks. */
function drawn(view: PostView | MovedView): [SlackMessage, string] {
  if (isKind(view, 'greeting')) return [renderGreeting(view), renderGreeting(view).text]
  if (isKind(view, 'moved')) return [renderMoved(view), renderMoved(view).text]
  if (isKind(view, 'batch')) return [renderBatch(view), plainBatch(view)]
  if (isKind(view, 'consent')) return [renderConsent(view), plainConsent(view)]
  if (isKind(view, 'notice')) return [renderNotice(view), plainNotice(view)]
  return [renderCard(view), plainCard(view)]
}

/** Nothing in the `text` becomes a mention or a link. */
const UNPARSED = { parse: 'none', link_names: false } as const
/** Additionally, no link preview fetches the approval page (T41). */
export const QUIET = { ...UNPARSED, unfurl_links: false, unfurl_media: false }

/** Sends blocks or, if Slack refuses them, plain words: a message that shows less is better than none. */
async function say(
  { calls, log }: Calling,
  target: Parameters<WebCalls['call']>[0],
  base: Record<string, unknown>,
  { blocks, text }: SlackMessage,
  plain: string,
): Promise<WebOutcome<unknown>> {
  const posts = target.method === 'chat.postMessage'
  const drawn = { ...base, blocks, text, ...(posts ? { mrkdwn: false } : {}) }
  const answer = await calls.call(target, drawn)
  if (answer.ok || !isBadMessage(answer)) return answer
  const { tenant, method } = target
  log.error(
    { platform: 'slack', tenant, method, reason: answer.code },
    'Slack refused a card; plain text was sent',
  )
  // An edit that sets no `blocks` would keep the old ones.
  return calls.call(target, { ...base, text: plain, ...(posts ? {} : { blocks: [] }) })
}

const account = z.object({
  user: z.object({
    id: z.string(),
    team_id: z.string().optional(),
    deleted: z.boolean().optional(),
    is_bot: z.boolean().optional(),
    is_stranger: z.boolean().optional(),
    enterprise_user: z
      .object({ enterprise_id: z.string().optional(), teams: z.array(z.string()).optional() })
      .optional(),
  }),
})

/** Finds a member of this very workspace; people from other workspaces get no card, whatever address they claim (T37). */
async function lookUp(
  calls: WebCalls,
  tenant: string,
  email: string,
): Promise<WebOutcome<ChatIdentity | undefined>> {
  const answer = await calls.call({ tenant, method: 'users.lookupByEmail' }, { email })
  if (!answer.ok) return answer.code === 'users_not_found' ? { ok: true, value: undefined } : answer
  const { success, data } = account.safeParse(answer.value)
  if (!success) return UNREADABLE
  const { id, team_id, deleted, is_bot, is_stranger, enterprise_user } = data.user
  const homes = [team_id, enterprise_user?.enterprise_id, ...(enterprise_user?.teams ?? [])]
  const serves = homes.includes(tenant) && !deleted && !is_bot && !is_stranger
  return { ok: true, value: serves ? { platform: 'slack', tenant, user: id } : undefined }
}

async function conversationOf(
  calls: WebCalls,
  direct: DirectMessages,
  to: ChatAddress,
): Promise<WebOutcome<string>> {
  return 'channel' in to ? { ok: true, value: to.channel } : direct.open(calls, to)
}

const posted = z.object({ channel: z.string(), ts: z.string() })

/** Reads where a message was posted, with Slack's id of the conversation: Slack refuses edits by a person's id. */
function refOf(tenant: string, answer: unknown): WebOutcome<MessageRef> {
  const { success, data } = posted.safeParse(answer)
  return success ? { ok: true, value: { tenant, conversation: data.channel, message: data.ts } } : UNREADABLE
}

const UNREADABLE = { ok: false, outcome: 'failed', code: 'unreadable', perhaps: true } as const

function silent(answer: WebOutcome<unknown>): WebOutcome<void> {
  return answer.ok ? { ok: true, value: undefined } : answer
}

/**
 * Returns the same id (a UUID, as Slack demands) for the same card drawn from the same version: when the answer to a post was
 * lost and the card is posted again, Slack may notice. Another version, or a post after Slack has accepted one, gets another
 * id: otherwise Slack would take it for the earlier message, and we would record it as shown.
 */
function messageId(...parts: (string | number)[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** Removes `perhaps`: opening the conversation failed, so nothing can have been posted. */
function notPosted({ perhaps: _, ...trouble }: WebOutcome<never> & { ok: false }): WebOutcome<never> {
  return trouble
}

/** The most people whose conversation is kept in memory: finding it costs a call. */
const MOST = 10_000
/** How long it is kept. It never changes, but Slack refuses a deactivated person only when it is opened, not in a post. */
const KEPT_MS = 3_600_000

const opened = z.object({ channel: z.object({ id: z.string() }) })

type DirectMessages = ReturnType<typeof createDirectMessages>

/** People's direct messages with the app: `D…`. */
function createDirectMessages(clock: FlowDeps['clock']) {
  const known = new Map<string, { id: string; until: number }>()
  return {
    /** Returns the person's conversation, and opens it if it is not known. */
    async open(calls: WebCalls, person: ChatIdentity): Promise<WebOutcome<string>> {
      const key = identityKey(person)
      const now = clock.steady()
      const before = known.get(key)
      if (before !== undefined && now < before.until) return { ok: true, value: before.id }
      known.delete(key)
      const target = { tenant: person.tenant, method: 'conversations.open' }
      const answer = await calls.call(target, { users: person.user })
      if (!answer.ok) return answer
      const { success, data } = opened.safeParse(answer.value)
      if (!success) return { ok: false, outcome: 'failed', code: 'unreadable' }
      const oldest = known.size < MOST ? undefined : known.keys().next().value
      if (oldest !== undefined) known.delete(oldest)
      known.set(key, { id: data.channel.id, until: now + KEPT_MS })
      return { ok: true, value: data.channel.id }
    },
    /** Forgets a conversation that is gone, so that it is opened again. @returns whether one was known */
    forget: (address: ChatAddress) => 'user' in address && known.delete(identityKey(address)),
  }
}
