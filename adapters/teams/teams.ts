import type { IncomingMessage } from 'node:http'
import type { TeamsSettings } from '../../src/config/teams.ts'
import {
  type BatchView,
  type CardView,
  type ConsentView,
  type GreetingView,
  isKind,
  type MovedView,
  type NoticeView,
} from '../../src/domain/card-view.ts'
import type { MessageRef } from '../../src/domain/chat.ts'
import { invalidField, refusal } from '../../src/domain/errors.ts'
import { given } from '../../src/domain/given.ts'
import { parseJson } from '../../src/domain/parse-json.ts'
import { visibleLine } from '../../src/domain/text.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../../src/ports/ports.ts'
import type { ChatConversationStores } from '../../src/store/chat/chat-conversations.ts'
import { createBackground } from '../shared/open-work.ts'
import { type Activity, eventOf, readActivity } from './activity.ts'
import type { BotAddress, BotCalls, BotConversation, BotMessage, SentMessage, TeamsBot } from './bot-port.ts'
import {
  renderBatch,
  renderCard,
  renderConsent,
  renderGreeting,
  renderMoved,
  renderNotice,
  renderReply,
  renderSmallBatch,
  smallView,
} from './cards.ts'
import {
  type Conversations,
  createConversations,
  readConversation,
  writeConversation,
} from './conversations.ts'
import { execute } from './draw.ts'
import { VERBS } from './elements.ts'
import { paceCalls } from './paced-calls.ts'
import { isAllowedService } from './service-address.ts'
import { takeEvents } from './take-events.ts'
import { createTokenGuard, createTokenKeys, type TokenClaims } from './token-guard.ts'

export interface TeamsParts {
  conversations: ChatConversationStores
  clock: FlowDeps['clock']
  log: FlowDeps['log']
  baseUrl: string
}

/** Creates a port that sends to Teams, and a receiver that answers it. Neither calls Microsoft before it is used. */
export function createTeams(settings: TeamsSettings, parts: TeamsParts) {
  const { bot, load } = lazyBot(settings, parts)
  const conversations = createConversations(settings, parts.conversations, parts.clock)
  return {
    port: createTeamsPort(settings, bot, conversations, parts.log),
    receive: (deps: FlowDeps) => ({
      ...createTeamsReceiver(settings, bot, conversations, deps),
      start: load,
    }),
  }
}

/** Loads the library only when needed, to spare our commands its loading time of most of a second. */
function lazyBot(settings: TeamsSettings, parts: TeamsParts): { bot: TeamsBot; load(): Promise<void> } {
  let loading: Promise<TeamsBot> | undefined
  const loaded = (): Promise<TeamsBot> => {
    loading ??= import('./bot.ts').then(({ createBot }) => createBot(settings, parts))
    return loading
  }
  const calls: BotCalls = {
    post: async (to, message) => (await loaded()).post(to, message),
    update: async (conversation, messageId, message) =>
      (await loaded()).update(conversation, messageId, message),
    resolveUser: async (conversation, user) => (await loaded()).resolveUser(conversation, user),
  }
  return {
    bot: { ...paceCalls(calls, parts.log), receive: async (...given) => (await loaded()).receive(...given) },
    // The receiver loads it before the first button is pressed: Teams waits only seconds for the answer.
    load: async () => void (await loaded()),
  }
}

type Failed = ChatOutcome<never> & { ok: false }

/** Creates the port that sends cards to Teams: one tenant, one attempt per call, and no call throws. */
function createTeamsPort(
  { tenantId, tenantName: name }: Pick<TeamsSettings, 'tenantId' | 'tenantName'>,
  calls: BotCalls,
  conversations: Conversations,
  log: FlowDeps['log'],
): ChatPort {
  /** Turns an error of the store into a failure, which is retried later. */
  const told = <T>(call: () => Promise<ChatOutcome<T>>): Promise<ChatOutcome<T>> =>
    call().catch((error: unknown) => {
      log.warn({ error }, 'a call to Teams failed')
      return { ok: false, outcome: 'failed', code: 'not_called', duration_ms: 0 } as const
    })
  const at = (ref: MessageRef) => (ref.tenant === tenantId ? readConversation(ref.conversation) : undefined)
  return {
    platform: 'teams',
    lookupIsLocal: true,
    tenantsOf: async () => [tenantId],
    setupFor: async () => ({ mode: 'one', workspaces: [{ tenant: tenantId, ...given({ name }) }] }),
    lookup: (tenant, email) =>
      told(async () => {
        if (tenant !== tenantId) return { ok: true, value: undefined, duration_ms: 0 }
        const found = await conversations.findByEmail(email, calls)
        if (!found.ok) return found
        const { value: user } = found
        return { ...found, value: user === undefined ? undefined : { platform: 'teams', tenant, user } }
      }),
    post: (to, view) =>
      told(async () => {
        if (to.tenant !== tenantId) return unreachable('other_tenant')
        let address = await addressOf(conversations, to)
        const started = performance.now()
        let sent = await fitting(view, (message) => calls.post(address, message))
        if (!sent.ok && sent.code === 'ConversationNotFound' && 'user' in to && address.kind === 'person') {
          // The conversation was deleted; the person can be reached in a new one.
          if (isLate(started)) return { ...sent, outcome: 'failed' }
          address = { kind: 'unmet', service_url: address.service_url, user: to.user }
          sent = await fitting(view, (message) => calls.post(address, message))
        }
        if (!sent.ok) return sent
        const conversation = conversationAfter(address, sent.value)
        if (address.kind === 'unmet') await remember(conversations, address.user, conversation, log)
        const ref = {
          tenant: tenantId,
          conversation: writeConversation(conversation),
          message: sent.value.message_id,
        }
        return { ...sent, value: ref }
      }),
    update: (ref, view) =>
      told(async () => {
        const conversation = at(ref)
        if (conversation === undefined || ref.message === '') return unreachable('unknown_message')
        return fitting(view, (message) => calls.update(conversation, ref.message, message))
      }),
    reply: (ref, view) =>
      told(async () => {
        const conversation = at(ref)
        if (conversation === undefined) return unreachable('unknown_message')
        const status =
          view.kind === 'batch' ? view.batch.status : { kind: view.kind === 'reminder' ? 'pending' : 'over' }
        const reply = { status, request_id: view.request_id }
        const said = await calls.post(conversation, refreshing(reply, renderReply(view)))
        return said.ok ? { ...said, value: undefined } : said
      }),
  }
}

function addressOf(conversations: Conversations, to: ChatAddress): Promise<BotAddress> {
  return 'user' in to ? conversations.ofPerson(to.user) : conversations.ofChannel(to.channel)
}

/** Returns the conversation in which the message can be edited and answered. */
function conversationAfter(address: BotAddress, { conversation_id }: SentMessage): BotConversation {
  const kind = address.kind === 'unmet' ? 'person' : address.kind === 'thread' ? 'channel' : address.kind
  return { kind, service_url: address.service_url, conversation_id }
}

/** Stores the conversation; a failure is only logged: the card is posted, and the next one just opens the conversation again. */
async function remember(
  conversations: Conversations,
  user: string,
  conversation: BotConversation,
  log: FlowDeps['log'],
): Promise<void> {
  await conversations
    .opened(user, conversation)
    .catch((error: unknown) => log.warn({ error }, 'storing a conversation in Teams failed'))
}

/** A second call is made only within this time: two calls must not take longer than one may. */
const SECOND_WITHIN_MS = 2_000

function isLate(started: number): boolean {
  return performance.now() - started > SECOND_WITHIN_MS
}

/** Sends a view. If Teams refuses its size, nothing was posted, and the card is sent again without the context. */
async function fitting<T>(
  view: CardView | BatchView | ConsentView | NoticeView | GreetingView | MovedView,
  send: (message: BotMessage) => Promise<ChatOutcome<T>>,
): Promise<ChatOutcome<T>> {
  if (isKind(view, 'moved')) return send(renderMoved(view))
  if (isKind(view, 'greeting')) return send(renderGreeting(view))
  if (isKind(view, 'consent')) return send(refreshing(view, renderConsent(view)))
  if (isKind(view, 'notice')) return send(renderNotice(view))
  const started = performance.now()
  const isBatch = isKind(view, 'batch')
  const answer = await send(refreshing(view, isBatch ? renderBatch(view) : renderCard(view)))
  if (answer.ok || answer.code !== 'MessageSizeTooBig' || isLate(started)) return answer
  return send(refreshing(view, isBatch ? renderSmallBatch(view) : renderCard(smallView(view))))
}

/**
 * Makes an open card refresh whenever it is viewed, in chats of up to 60 people: even a card that missed an edit, or that we do
 * not know because the answer to its post was lost, shows the current state (Teams "Universal Actions", automatic refresh).
 */
function refreshing(
  { status, request_id }: { status: { kind: string }; request_id: string },
  { card, text }: BotMessage,
): BotMessage {
  if (status.kind !== 'pending') return { card, text }
  const { fallback: _, ...action } = execute('Refresh', VERBS.refresh, request_id)
  return { card: { ...card, refresh: { action } }, text }
}

function unreachable(code: string): Failed {
  return { ok: false, outcome: 'unreachable', code, duration_ms: 0 }
}

const PATH = '/api/messages'

/**
 * Mounts `POST /api/messages`. Checks in this order: the token, the body, whether the sender may speak to this bot at all; the
 * library comes last. Every refusal is a `Refusal`: the same JSON as everywhere, without internal details.
 */
function createTeamsReceiver(
  settings: TeamsSettings,
  bot: TeamsBot,
  conversations: Conversations,
  deps: FlowDeps,
): { mount: Mount; stop(): Promise<void> } {
  const background = createBackground(deps.log)
  const { tenantId: tenant, tenantName: organisation = tenant } = settings
  const parts = { deps, calls: bot, conversations, tenant, organisation }
  const events = takeEvents(parts, background)
  const checkToken = createTokenGuard(settings.appId, createTokenKeys(settings.openIdUrl, deps), deps)
  return {
    mount(app) {
      app.post(PATH, async function receiveActivity(request, response) {
        response.setHeader('Cache-Control', 'no-store')
        const claims = settings.unauthenticated ? undefined : await checkToken(request.headers.authorization)
        const activity = guardActivity(await readJsonBody(request), claims, settings, deps.log)
        const { status, body: answer } = await bot.receive(activity, eventOf(activity), events)
        response.status(status)
        if (answer === undefined) response.end()
        else response.json(answer)
      })
    },
    stop: () => background.settled(),
  }
}

const MOST_BYTES = 256 * 1024

/**
 * Reads the JSON body of an activity. No other parser comes first, so that no body is read without a valid token.
 * @throws Refusal `unsupported_media_type`, `chat_body_too_large`, `invalid_json`
 */
async function readJsonBody(request: IncomingMessage): Promise<object> {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers
  if (!/^application\/json\b/i.test(type) || coding !== 'identity') throw refusal('unsupported_media_type')
  const body = parseJson(utf8(await readBytes(request)))
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json')
  return body
}

/** Reads by events, because leaving a loop over the request early would cut the connection before the answer. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= MOST_BYTES) chunks.push(chunk)
      else reject(refusal('chat_body_too_large'))
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', () => reject(refusal('invalid_json')))
    request.once('close', () => reject(refusal('invalid_json')))
  })
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refusal('invalid_json')
  }
}

/** Most characters of a tenant's id or a host in the log; a real id has 36. */
const LONGEST_SHOWN = 64
/** Teams has no longer ids. */
const LONGEST_ID = 1000

/**
 * Checks that the body is an activity, from Teams, of the only tenant, and that answers would go to
 * Microsoft. Nothing is sent or stored before all checks have passed (T39, T40).
 * @param claims absent only where activities without a token are accepted
 * @throws Refusal `invalid_field` for a body that is not an activity, `chat_sender_refused`
 */
function guardActivity(
  body: unknown,
  claims: TokenClaims | undefined,
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
  log: FlowDeps['log'],
): Activity {
  const activity = readActivity(body)
  if (activity === undefined) throw invalidField('type', 'must be the type of a Bot Framework activity')
  const { id, conversation, from } = activity
  if ([id, conversation?.id, from?.id].some((one) => (one?.length ?? 0) > LONGEST_ID)) {
    throw invalidField('id', 'is too long')
  }
  const refused = whyRefused(activity, claims, settings)
  if (refused === undefined) return activity
  log.warn(refused, 'an activity from Teams was refused')
  throw refusal('chat_sender_refused')
}

function whyRefused(
  { channelId, channelData, conversation, from, serviceUrl }: Activity,
  claims: TokenClaims | undefined,
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
): { reason: string; tenant?: string; host?: string } | undefined {
  if (channelId !== 'msteams') return { reason: 'channel' }
  const tenants = [channelData?.tenant?.id, conversation?.tenantId, from?.tenantId].filter(
    (id) => typeof id === 'string',
  )
  // Guests of shared channels bring a tenant of their own, in which their ids mean another person.
  const stranger = tenants.find((id) => id.toLowerCase() !== settings.tenantId)
  if (stranger !== undefined) return { reason: 'tenant', tenant: shown(stranger) }
  if (tenants.length === 0) return { reason: 'tenant' }
  if (!serviceUrl || !isAllowedService(serviceUrl, settings)) {
    const known = serviceUrl && URL.canParse(serviceUrl) ? { host: shown(new URL(serviceUrl).host) } : {}
    return { reason: 'service_url', ...known }
  }
  if (claims !== undefined && claims.serviceUrl !== serviceUrl) return { reason: 'service_url_claim' }
  return undefined
}

/** Prepares a tenant's id or a host for the log: the sender may write anything into it. */
function shown(text: string): string {
  const visible = visibleLine(text.slice(0, LONGEST_SHOWN))
  return [...visible].slice(0, LONGEST_SHOWN).join('')
}
