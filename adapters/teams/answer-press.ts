import { z } from 'zod'
import { type Card, type CardRecipient, identityKey } from '../../src/domain/chat.ts'
import { isId } from '../../src/domain/identifier.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { User } from '../../src/domain/user.ts'
import { findOwnBootstrap } from '../../src/flow/bootstrap/review-consent.ts'
import { type CardSubject, showCard } from '../../src/flow/chat/show-card.ts'
import { viewConsent } from '../../src/flow/chat/view-card.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { partIn } from '../../src/flow/people/delegates.ts'
import { settleRequest } from '../../src/flow/settle-request.ts'
import type { BotClick } from './bot-port.ts'
import { renderCard, renderConsent, renderDetails } from './cards.ts'
import type { TeamsMessage } from './elements.ts'
import { VERBS } from './elements.ts'

/** What a press comes to: the request as the presser may see it, or why not. */
export type PressAnswer = { message: TeamsMessage; card: Card | undefined } | { words: string }

const dataSchema = z.object({ request_id: z.string() })

/**
 * Answers Refresh and Details from the stored request; decides nothing (T46). The data of a button is whatever the client
 * sends, so it opens nothing: the context is shown to linked approvers of the request in their own conversation; a channel
 * gets the card it was given anyway, and nothing of requests that it was never shown.
 */
export async function answerPress(deps: FlowDeps, tenant: string, click: BotClick): Promise<PressAnswer> {
  const { verb, data } = click
  if (verb !== VERBS.refresh && verb !== VERBS.details) return { words: PRESS_WORDS.unknown }
  const id = dataSchema.safeParse(data).data?.request_id ?? ''
  if (isId('bst', id)) return answerConsentPress(deps, tenant, click, id)
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

/** The same for an agent that asks for a key: the owner alone, in their own conversation. There are no details to show. */
async function answerConsentPress(
  deps: FlowDeps,
  tenant: string,
  click: BotClick,
  id: string,
): Promise<PressAnswer> {
  if (click.place.kind !== 'person') return { words: PRESS_WORDS.notHere }
  const person = await personOf(deps, tenant, click)
  if (person === undefined) return { words: PRESS_WORDS.notLinked }
  const bootstrap = await findOwnBootstrap(deps, person, id)
  if (bootstrap === undefined) return { words: PRESS_WORDS.notYours }
  const owner = { kind: 'approver', user_id: person.id } as const
  const card = (await deps.cards.ofRequest(id)).find((each) => isFor(each, owner))
  await heal(deps, card, bootstrap)
  return { message: renderConsent(viewConsent(bootstrap, deps.settings.baseUrl)), card }
}

async function recipientOf(
  deps: FlowDeps,
  tenant: string,
  click: BotClick,
  request: ApprovalRequest | undefined,
): Promise<CardRecipient | { words: string }> {
  const { channel, place } = click
  if (place.kind !== 'person') {
    const recipient = { kind: 'channel', tenant, channel: channel ?? '' } as const
    const cards = request === undefined ? [] : await deps.cards.ofRequest(request.id)
    return cards.some((card) => isFor(card, recipient)) ? recipient : { words: PRESS_WORDS.notHere }
  }
  const person = await personOf(deps, tenant, click)
  if (person === undefined) return { words: PRESS_WORDS.notLinked }
  if (request === undefined || (await partIn(deps, person, request)) === undefined)
    return { words: PRESS_WORDS.notYours }
  return { kind: 'approver', user_id: person.id }
}

/** Who linked the presser's identity. */
async function personOf(
  { users }: Pick<FlowDeps, 'users'>,
  tenant: string,
  { user }: Pick<BotClick, 'user'>,
): Promise<User | undefined> {
  return user === undefined
    ? undefined
    : users.findByIdentity(identityKey({ platform: 'teams', tenant, user }))
}

function isFor({ platform, recipient }: Card, to: CardRecipient): boolean {
  if (platform !== 'teams') return false
  if (recipient.kind === 'approver') return to.kind === 'approver' && recipient.user_id === to.user_id
  if (recipient.kind !== 'channel') return false
  return to.kind === 'channel' && recipient.tenant === to.tenant && recipient.channel === to.channel
}

/** Cards of closed requests have no such button: the message shows less than we believe, and is edited again. */
async function heal(
  { cards, clock }: Pick<FlowDeps, 'cards' | 'clock'>,
  card: Card | undefined,
  request: CardSubject,
): Promise<void> {
  if (card?.message === undefined || request.status === 'pending' || card.shown < card.wanted) return
  await cards.doubt(card.id, clock.now())
}

/** Answers to a button in a sentence. */
export const PRESS_WORDS = {
  unknown: 'Countersign does not know this button. The approval page shows what is true now.',
  notLinked: 'Countersign does not know you here yet. Write “link” to this app, then try again.',
  notYours: 'There is no such request, or you are not asked about it.',
  notHere: 'Countersign has shown no such request here.',
  slow: 'This takes longer than usual; try again in a moment. The approval page shows what is true now.',
  wentWrong: 'Something went wrong on our side; nothing was decided. Try again in a moment.',
} as const
