import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { isTheirs } from '../../src/domain/card-state.ts'
import type { BatchView, CardView, ConsentView } from '../../src/domain/card-view.ts'
import { type Card, type CardRecipient, identityKey, recipientKey } from '../../src/domain/chat.ts'
import { isId } from '../../src/domain/identifier.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { User } from '../../src/domain/user.ts'
import { findOwnBootstrap } from '../../src/flow/bootstrap/review-consent.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { partsIn } from '../../src/flow/people/delegates.ts'
import { settleRequest } from '../../src/flow/requests/settle-request.ts'
import { findBatches } from '../../src/flow/tell/card-batch.ts'
import { type CardSubject, isOver, showBatch, showCard } from '../../src/flow/tell/show-card.ts'
import { noteChannels } from '../../src/flow/tell/trouble.ts'
import { viewConsent } from '../../src/flow/tell/view-card.ts'
import type { ChatConversation } from '../../src/store/chat/chat-conversations.ts'
import type { Background } from '../shared/open-work.ts'
import { type AnsweringParts, answerMessage, NOTICES, renderAnswer, say } from './answers.ts'
import type { BotClick, BotEvents, BotPresence, BotSource, ClickAnswer } from './bot-port.ts'
import { renderBatch, renderCard, renderConsent, renderDetails, renderWay } from './cards.ts'
import { writeConversation } from './conversations.ts'
import { type TeamsMessage, VERBS } from './elements.ts'

/** Most milliseconds for the answer to a pressed button: Teams gives up after a few seconds. */
const PRESS_MS = 1_800

/**
 * Creates the handlers for events from Teams. Data that must not be lost is stored before Teams gets its answer; work that
 * needs calls to Teams runs afterwards, once for each message however often it is delivered.
 */
export function takeEvents(parts: AnsweringParts, background: Background): BotEvents {
  const { deps, conversations, tenant } = parts
  return {
    async onInstalled(presence) {
      if (!presence.here) {
        await conversations.leave(presence)
        return noteChannelsOf(parts, presence, false)
      }
      await meet(parts, background, presence, true)
      background.run(
        () => noteChannelsOf(parts, presence, true),
        'queueing the cards that wait for a channel in Teams failed',
      )
      if (!presence.new_to_person || !(await isFirst(deps, tenant, presence))) return
      background.run(
        () => answerMessage(parts, { ...presence, text: 'help' }),
        'welcoming a person in Teams failed',
      )
    },
    async onCommand(command) {
      await meet(parts, background, command, false)
      if (!(await isFirst(deps, tenant, command))) return
      background.run(() => answerMessage(parts, command), 'a message in Teams was not answered')
    },
    async onClick(click) {
      if (!click.fallback) return within(PRESS_MS, pressed(parts, click))
      if (await isFirst(deps, tenant, click)) {
        background.run(() => answerFallback(parts, click), 'answering a button in Teams failed')
      }
      return { words: '' }
    },
  }
}

async function pressed(parts: AnsweringParts, click: BotClick): Promise<ClickAnswer> {
  const answer = await answerOrWords(parts, click)
  return 'words' in answer ? answer : { card: answer.message.card }
}

/** Answers the press; if that fails, the person who pressed still gets a sentence. */
async function answerOrWords({ deps, tenant }: AnsweringParts, click: BotClick): Promise<PressAnswer> {
  try {
    return await answerPress(deps, tenant, click)
  } catch (error) {
    deps.log.error({ error }, 'answering a button in Teams failed')
    return { words: PRESS_WORDS.wentWrong }
  }
}

/**
 * Answers clients without `Action.Execute`, which cannot show an answer in place: edits the card itself, or posts a link to
 * the approval page below it. Never posts a second card, because nothing would edit that.
 */
async function answerFallback(parts: AnsweringParts, click: BotClick): Promise<void> {
  const { deps, calls } = parts
  const { log, cards, clock } = deps
  const answer = await answerOrWords(parts, click)
  if ('words' in answer) {
    const notice = {
      ...NOTICES.wentWrong,
      heading: 'Countersign has nothing new to show',
      sentence: answer.words,
    }
    await say(calls, log, click.conversation, renderAnswer(notice, { now: clock.now() }))
  } else if (click.verb === VERBS.refresh && answer.card?.message !== undefined) {
    await cards.doubt(answer.card.id, clock.now())
  } else {
    await say(calls, log, click.conversation, renderWay(answer.page))
  }
}

/**
 * Stores the conversation, and retries the person's unreachable cards: that they write is the only sign that they no longer block the app.
 * First asks the directory for their address if it is unknown or old, or if they add the app again.
 */
async function meet(
  { deps, conversations, calls }: AnsweringParts,
  background: Background,
  source: BotSource,
  installed: boolean,
): Promise<void> {
  const met = await conversations.meet(source)
  if (met?.kind !== 'person') return
  background.run(async () => {
    let { email } = met
    if (installed || conversations.isDue(met)) {
      const found = await conversations.ask(met, calls)
      if (found.ok) email = found.value
      else deps.log.warn({ reason: found.code }, 'finding the e-mail address of a person in Teams failed')
    }
    await retryUnreachableCards(deps, { ...met, email })
  }, 'queueing the cards that wait for a person in Teams failed')
}

/** Retries a person's cards that could not be posted or edited, because the app can reach the person now. */
async function retryUnreachableCards(
  { users, cards, clock }: FlowDeps,
  { tenant, who, email }: Pick<ChatConversation, 'tenant' | 'who'> & { email: string | undefined },
): Promise<void> {
  const platform = 'teams'
  const linked = await users.findByIdentity(identityKey({ platform, tenant, user: who }))
  const person = linked ?? (email === undefined ? undefined : await users.findByEmail(email))
  if (person === undefined) return
  const recipient = recipientKey({ platform, recipient: { kind: 'approver', user_id: person.id } })
  await cards.retryUnreachable({ recipient }, clock.now())
}

/** Notes that the app joined or left channels. Teams reports this once for a team, and it applies to all its channels. */
async function noteChannelsOf(
  { deps, conversations, tenant }: AnsweringParts,
  { conversation: { kind, team: named }, channel, of_channel_alone }: BotPresence,
  here: boolean,
): Promise<void> {
  if (kind === 'person') return
  const team = of_channel_alone ? undefined : named
  // A team's id is also that of its first channel.
  const isMeant = async (one: string) =>
    one === channel || (team !== undefined && (one === team || (await conversations.teamOf(one)) === team))
  await noteChannels(deps, { platform: 'teams', tenant }, here, isMeant)
}

/** Checks whether an activity is new. Its id is unique only within the conversation. */
async function isFirst(
  { seen }: Pick<FlowDeps, 'seen'>,
  tenant: string,
  source: BotSource,
): Promise<boolean> {
  const { activity_id, conversation } = source
  return activity_id === '' || seen.first(`teams:${tenant}:${conversation.conversation_id}:${activity_id}`)
}

async function within(ms: number, answer: Promise<ClickAnswer>): Promise<ClickAnswer> {
  const answered = new AbortController()
  const late = wait(ms, { words: PRESS_WORDS.slow }, { signal: answered.signal })
  return Promise.race([answer, late]).finally(() => answered.abort())
}

/** The outcome of a press: the request as the presser may see it, or a sentence that says why not. */
type PressAnswer = { message: TeamsMessage; card: Card | undefined; page: string } | { words: string }

const dataSchema = z.object({ request_id: z.string() })

/**
 * Answers Refresh and Details from the stored request; decides nothing (T46). The client can send any data for a button, so
 * the data grants no access: only linked approvers see the request's context, in their own conversation; a channel gets only
 * the card that it has already, and nothing about requests that were never shown there.
 */
async function answerPress(deps: FlowDeps, tenant: string, click: BotClick): Promise<PressAnswer> {
  const { verb, data } = click
  if (verb !== VERBS.refresh && verb !== VERBS.details) return { words: PRESS_WORDS.unknown }
  const id = dataSchema.safeParse(data).data?.request_id ?? ''
  if (isId('bst', id)) return answerConsentPress(deps, tenant, click, id)
  if (isId('bat', id)) return answerBatchPress(deps, tenant, click, id)
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  const asked = await recipientOf(deps, tenant, click, id, found && [found])
  if ('words' in asked) return asked
  const { recipient, ...invited } = asked
  if (found === undefined) return { words: PRESS_WORDS.notYours }
  const request = await settleRequest(deps, found)
  const { view } = await showCard(deps, { platform: 'teams', recipient }, request)
  const card = (await deps.cards.ofRequest(request.id)).find((each) => isFor(each, recipient))
  const inFull = verb === VERBS.details && recipient.kind === 'approver' && !invited.invite_to_link
  await heal(deps, tenant, click, { card, request, view })
  const shown = { ...view, ...invited }
  const message = inFull ? renderDetails(shown) : renderCard(shown)
  return { message, card, page: view.links.details }
}

/** Answers the same for several requests on one card, which shows no context and has no details. */
async function answerBatchPress(
  deps: FlowDeps,
  tenant: string,
  click: BotClick,
  id: string,
): Promise<PressAnswer> {
  const read = async () => (await findBatches(deps, [id])).get(id)
  const found = await read()
  const asked = await recipientOf(deps, tenant, click, id, found?.members)
  if ('words' in asked) return asked
  const { recipient, ...invited } = asked
  if (found === undefined) return { words: PRESS_WORDS.notYours }
  await Promise.all(found.members.map((request) => settleRequest(deps, request)))
  const batch = (await read()) ?? found
  const { view } = await showBatch(deps, { platform: 'teams', recipient }, batch)
  const card = (await deps.cards.ofRequest(id)).find((each) => isFor(each, recipient))
  await heal(deps, tenant, click, { card, request: batch, view })
  return { message: renderBatch({ ...view, ...invited }), card, page: view.links.details }
}

/** Answers the same for an agent that asks for a key: only to the owner, in their own chat. It has no details to show. */
async function answerConsentPress(
  deps: FlowDeps,
  tenant: string,
  click: BotClick,
  id: string,
): Promise<PressAnswer> {
  if (click.conversation.kind !== 'person') return { words: PRESS_WORDS.notHere }
  const presser = await presserOf(deps, tenant, click, id)
  if (presser === undefined) return { words: PRESS_WORDS.notLinked }
  const { person, ...invited } = presser
  const bootstrap = await findOwnBootstrap(deps, person, id)
  if (bootstrap === undefined) return { words: PRESS_WORDS.notYours }
  const owner = { kind: 'approver', user_id: person.id } as const
  const card = (await deps.cards.ofRequest(id)).find((each) => isFor(each, owner))
  const view = viewConsent(bootstrap, deps.settings.baseUrl)
  await heal(deps, tenant, click, { card, request: bootstrap, view })
  return { message: renderConsent({ ...view, ...invited }), card, page: view.links.details }
}

/** The recipient for whom a press is answered; `invite_to_link` as on cards. */
type Asked = { recipient: CardRecipient; invite_to_link?: true }

async function recipientOf(
  deps: FlowDeps,
  tenant: string,
  click: BotClick,
  id: string,
  requests: readonly ApprovalRequest[] = [],
): Promise<Asked | { words: string }> {
  const { channel, conversation } = click
  const cardsOf = requests.length === 0 ? undefined : id
  if (conversation.kind !== 'person') {
    const recipient = { kind: 'channel', tenant, channel: channel ?? '' } as const
    const cards = cardsOf === undefined ? [] : await deps.cards.ofRequest(cardsOf)
    return cards.some((card) => isFor(card, recipient)) ? { recipient } : { words: PRESS_WORDS.notHere }
  }
  const presser = await presserOf(deps, tenant, click, cardsOf)
  if (presser === undefined) return { words: PRESS_WORDS.notLinked }
  const { person, ...invited } = presser
  const concerns = async () => (await partsIn(deps, person, requests)).some((part) => part !== undefined)
  const isAsked = requests.length > 0 && (invited.invite_to_link || (await concerns()))
  if (!isAsked) return { words: PRESS_WORDS.notYours }
  return { recipient: { kind: 'approver', user_id: person.id }, ...invited }
}

/** Finds the person who pressed in their own chat: whoever linked the identity, else the recipient of that request's card. */
async function presserOf(
  deps: Pick<FlowDeps, 'cards' | 'users'>,
  tenant: string,
  { user }: Pick<BotClick, 'user'>,
  id: string | undefined,
): Promise<{ person: User; invite_to_link?: true } | undefined> {
  if (user === undefined) return undefined
  const linked = await deps.users.findByIdentity(identityKey({ platform: 'teams', tenant, user }))
  if (linked !== undefined) return { person: linked }
  const sent = id === undefined ? undefined : await sentByEmail(deps, tenant, user, id)
  return sent && { person: sent, invite_to_link: true }
}

/**
 * Finds the person whose card for the request was sent to this very chat by e-mail address, and still would be. The presser
 * sees what that card shows. To see more, or any other request, they must link their identity (T37).
 */
async function sentByEmail(
  { cards, users }: Pick<FlowDeps, 'cards' | 'users'>,
  tenant: string,
  user: string,
  id: string,
): Promise<User | undefined> {
  for (const card of await cards.ofRequest(id)) {
    const { recipient, platform, message } = card
    if (recipient.kind !== 'approver' || platform !== 'teams' || message?.by_email !== true) continue
    const person = await users.find(recipient.user_id)
    const here = person !== undefined && message.tenant === tenant && message.user === user
    if (here && isTheirs(card, platform, message, person, [tenant])) return person
  }
  return undefined
}

function isFor(card: Card, recipient: CardRecipient): boolean {
  return recipientKey(card) === recipientKey({ platform: 'teams', recipient })
}

/**
 * Has an outdated message edited again: cards of closed requests have no such button, so the message shows an older state than
 * we recorded. If we do not know the message, the answer to our post was lost; it is edited as well.
 */
async function heal(
  { cards, chats, clock, log }: FlowDeps,
  tenant: string,
  { message_id, conversation }: BotClick,
  {
    card,
    request,
    view,
  }: {
    card: Card | undefined
    request: CardSubject
    view: CardView | BatchView | ConsentView
  },
): Promise<void> {
  if (!isOver(request, clock.now())) return
  const known = card?.message
  if (card !== undefined && known !== undefined) await cards.doubt(card.id, clock.now())
  const port = chats.find(({ platform }) => platform === 'teams')
  if (port === undefined || message_id === undefined || message_id === known?.message) return
  const stray = { tenant, conversation: writeConversation(conversation), message: message_id }
  // The presser does not wait for this edit.
  void port.update(stray, view).then(({ ok }) => {
    log.info({ request: request.id, ok }, 'a duplicate card in Teams was pressed')
  })
}

/** Answers to a press that are a sentence instead of a card. */
const PRESS_WORDS = {
  unknown: 'Countersign does not know this button. The approval page shows the current state.',
  notLinked: 'Countersign does not know you here yet. Write “link” to this app, then try again.',
  notYours: 'There is no such request, or you are not an approver of it.',
  notHere: 'Countersign did not show this request here.',
  slow: 'This takes longer than usual; try again in a moment. The approval page shows the current state.',
  wentWrong: 'Something went wrong on our side; nothing was decided. Try again in a moment.',
} as const
