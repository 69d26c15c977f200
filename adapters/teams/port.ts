import type { TeamsSettings } from '../../src/config/teams.ts'
import {
  type CardView,
  type ConsentView,
  isConsentView,
  isMovedView,
  isNoticeView,
  type MovedView,
  type NoticeView,
} from '../../src/domain/card-view.ts'
import type { MessageRef } from '../../src/domain/chat.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../../src/flow/ports.ts'
import type { BotAddress, BotCalls, BotMessage, BotPlace, SentMessage } from './bot-port.ts'
import { renderCard, renderConsent, renderMoved, renderNotice, renderReply, smallView } from './cards.ts'
import { type Conversations, readPlace, writePlace } from './conversations.ts'

type Failed = ChatOutcome<never> & { ok: false }

/** Sends cards to Teams: one tenant, one attempt a call, never an error. */
export function createTeamsPort(
  { tenantId }: Pick<TeamsSettings, 'tenantId'>,
  calls: BotCalls,
  conversations: Conversations,
  log: FlowDeps['log'],
): ChatPort {
  /** What the store cannot tell now is asked again later. */
  const told = <T>(call: () => Promise<ChatOutcome<T>>): Promise<ChatOutcome<T>> =>
    call().catch((error: unknown) => {
      log.warn({ error }, 'a call to Teams could not be made')
      return { ok: false, outcome: 'failed', code: 'not_called', duration_ms: 0 } as const
    })
  const at = (ref: MessageRef) => (ref.tenant === tenantId ? readPlace(ref.conversation) : undefined)
  return {
    platform: 'teams',
    lookupIsLocal: true,
    tenantsOf: async () => [tenantId],
    lookup: (tenant, email) =>
      told(async () => {
        const user = tenant === tenantId ? await conversations.findByEmail(email) : undefined
        const value = user === undefined ? undefined : ({ platform: 'teams', tenant, user } as const)
        return { ok: true, value, duration_ms: 0 }
      }),
    post: (to, view) =>
      told(async () => {
        if (to.tenant !== tenantId) return unreachable('other_tenant')
        const address = await addressOf(conversations, to)
        const sent = await fitting(view, (message) => calls.post(address, message))
        if (!sent.ok) return sent
        const place = placeAfter(address, sent.value)
        if (address.kind === 'unmet') await remember(conversations, address.user, place, log)
        const ref = { tenant: tenantId, conversation: writePlace(place), message: sent.value.message_id }
        return { ...sent, value: ref }
      }),
    update: (ref, view) =>
      told(async () => {
        const place = at(ref)
        if (place === undefined || ref.message === '') return unreachable('unknown_message')
        return fitting(view, (message) => calls.update(place, ref.message, message))
      }),
    reply: (ref, view) =>
      told(async () => {
        const place = at(ref)
        if (place === undefined) return unreachable('unknown_message')
        const said = await calls.post(place, renderReply(view))
        return said.ok ? { ...said, value: undefined } : said
      }),
  }
}

function addressOf(conversations: Conversations, to: ChatAddress): Promise<BotAddress> {
  return 'user' in to ? conversations.ofPerson(to.user) : conversations.ofChannel(to.channel)
}

/** Where the message is to be edited, and answered. */
function placeAfter(address: BotAddress, { conversation_id }: SentMessage): BotPlace {
  const kind = address.kind === 'unmet' ? 'person' : address.kind === 'thread' ? 'channel' : address.kind
  return { kind, service_url: address.service_url, conversation_id }
}

/** The card is out: not knowing the conversation next time only costs opening it again. */
async function remember(
  conversations: Conversations,
  user: string,
  place: BotPlace,
  log: FlowDeps['log'],
): Promise<void> {
  await conversations
    .opened(user, place)
    .catch((error: unknown) => log.warn({ error }, 'a conversation was not kept'))
}

/** Two calls must not take longer than one may. */
const SECOND_WITHIN_MS = 1_000

/** Refused for its size, which says that nothing was posted, it goes out without the context. */
async function fitting<T>(
  view: CardView | ConsentView | NoticeView | MovedView,
  send: (message: BotMessage) => Promise<ChatOutcome<T>>,
): Promise<ChatOutcome<T>> {
  if (isMovedView(view)) return send(renderMoved())
  if (isConsentView(view)) return send(renderConsent(view))
  if (isNoticeView(view)) return send(renderNotice(view))
  const started = performance.now()
  const answer = await send(renderCard(view))
  if (answer.ok || answer.code !== 'MessageSizeTooBig') return answer
  return performance.now() - started > SECOND_WITHIN_MS ? answer : send(renderCard(smallView(view)))
}

function unreachable(code: string): Failed {
  return { ok: false, outcome: 'unreachable', code, duration_ms: 0 }
}
