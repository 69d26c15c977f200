import { z } from 'zod'
import { type Card, type CardRecipient, identityKey } from '../../src/domain/chat.ts'
import { isNamed } from '../../src/domain/eligibility.ts'
import { isId } from '../../src/domain/identifier.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import { showCard } from '../../src/flow/chat/show-card.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { settleRequest } from '../../src/flow/settle-request.ts'
import { VERBS } from './actions.ts'
import type { BotClick } from './bot-port.ts'
import { renderCard, renderDetails } from './card.ts'
import type { TeamsMessage } from './elements.ts'
import { PRESS_WORDS } from './words.ts'

/** What a press comes to: the request as the presser may see it, or why not. */
export type PressAnswer = { message: TeamsMessage; card: Card | undefined } | { words: string }

const dataSchema = z.object({ request_id: z.string() })

/**
 * Answers Refresh and Details from the stored request; decides nothing (T46). The data of a button is whatever the client
 * sends, so it opens nothing: the context is shown to linked approvers of the request in their own conversation; a channel
 * gets the card it was given anyway, and nothing of requests that it was never told of.
 */
export async function answerPress(deps: FlowDeps, tenant: string, click: BotClick): Promise<PressAnswer> {
  const { verb, data } = click
  if (verb !== VERBS.refresh && verb !== VERBS.details) return { words: PRESS_WORDS.unknown }
  const id = dataSchema.safeParse(data).data?.request_id ?? ''
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  const recipient = await recipientOf(deps, tenant, click, found)
  if ('words' in recipient) return recipient
  if (found === undefined) return { words: PRESS_WORDS.notYours }
  const request = await settleRequest(deps, found)
  const { view } = await showCard(deps, { recipient }, request)
  const card = (await deps.cards.ofRequest(request.id)).find((each) => isFor(each, recipient))
  const inFull = verb === VERBS.details && recipient.kind === 'approver'
  await heal(deps, card, request)
  return { message: inFull ? renderDetails(view) : renderCard(view), card }
}

async function recipientOf(
  deps: FlowDeps,
  tenant: string,
  { user, channel, place }: BotClick,
  request: ApprovalRequest | undefined,
): Promise<CardRecipient | { words: string }> {
  if (place.kind !== 'person') {
    const recipient = { kind: 'channel', tenant, channel: channel ?? '' } as const
    const cards = request === undefined ? [] : await deps.cards.ofRequest(request.id)
    return cards.some((card) => isFor(card, recipient)) ? recipient : { words: PRESS_WORDS.notHere }
  }
  const identity = user === undefined ? undefined : identityKey({ platform: 'teams', tenant, user })
  const person = identity === undefined ? undefined : await deps.users.findByIdentity(identity)
  if (person === undefined) return { words: PRESS_WORDS.notLinked }
  if (request === undefined || !isNamed(request, person.id)) return { words: PRESS_WORDS.notYours }
  return { kind: 'approver', user_id: person.id }
}

function isFor({ platform, recipient }: Card, to: CardRecipient): boolean {
  if (platform !== 'teams') return false
  if (recipient.kind === 'approver') return to.kind === 'approver' && recipient.user_id === to.user_id
  return to.kind === 'channel' && recipient.tenant === to.tenant && recipient.channel === to.channel
}

/** Cards of closed requests have no such button: the message shows less than we believe, and is edited again. */
async function heal(
  { cards, clock }: Pick<FlowDeps, 'cards' | 'clock'>,
  card: Card | undefined,
  request: ApprovalRequest,
): Promise<void> {
  if (card?.message === undefined || request.status === 'pending' || card.shown < card.wanted) return
  await cards.doubt(card.id, clock.now())
}
