import { restingStep } from '../../../domain/card-state.ts'
import { type Card, identityKey, recipientKey } from '../../../domain/chat.ts'
import { type FactorNotice, noticePath } from '../../../domain/factor-notice.ts'
import { NOTICE_PUSH_DAYS } from '../../../domain/push.ts'
import type { ChatPort } from '../../../ports/ports.ts'
import type { ClaimedCard } from '../../../store/chat/cards.ts'
import type { FlowDeps } from '../../deps.ts'
import { createSendLoop, type SendLoop } from '../../queue/send-loop.ts'
import { createCount } from '../../queue/send-slots.ts'
import { createTroubleWatch } from '../trouble.ts'
import { attemptCard } from './attempt-card.ts'
import { createLookup } from './find-addresses.ts'
import { createOutageWatch } from './outage.ts'
import {
  type AttemptDeps,
  accept,
  beginAttempt,
  CARD_LEASE_MS,
  type CardReport,
  fail,
  recordCard,
  stepAfter,
} from './record-card.ts'

/**
 * Creates the loop that posts and edits due cards. It handles one card per recipient and platform at a time, so a slow recipient
 * delays no other; a recipient for whom the platform asked to wait is paused. Without platforms it does nothing.
 */
export function createCardLoop(
  deps: FlowDeps,
  limits: { total: number; perAccount: number },
): SendLoop<Card> {
  const platforms = new Map(deps.chats.map((chat) => [chat.platform, chat]))
  const watches = { troubles: createTroubleWatch(deps), outages: createOutageWatch(deps) }
  const attempting = { ...deps, lookup: createLookup(deps.clock), ...watches }
  const slots = createRecipientSlots(platforms.size === 0 ? 0 : limits.total, limits.perAccount)
  return createSendLoop(
    {
      name: { one: 'card', many: 'cards' },
      slots,
      leaseMs: CARD_LEASE_MS,
      claim: (query) => deps.cards.claim({ ...query, platforms: [...platforms.keys()] }),
      async attempt(claimed) {
        const { notice, platform } = claimed.record
        const chat = platforms.get(platform)
        if (chat === undefined) return undefined
        const report = await (notice === undefined
          ? attemptCard(attempting, chat, claimed)
          : attemptNotice(attempting, chat, claimed, notice))
        if (report?.patience) slots.pause(claimed.record, report.next_at)
        return report?.state === 'due' ? report.next_at : undefined
      },
    },
    deps,
  )
}

/** Creates the slots by recipient: busy with an attempt, or paused. No account can take them all with a workspace that hangs. */
function createRecipientSlots(total: number, perAccount: number) {
  const accounts = createCount(perAccount)
  const taken = new Set<string>()
  const paused = new Map<string, Date>()
  // Slack paces edits apart from posts, so a person whose edits wait can still be asked. Teams puts off the post in its turn.
  const pausedEdits = new Map<string, Date>()
  return {
    busy(now: Date) {
      for (const pauses of [paused, pausedEdits])
        for (const [recipient, until] of pauses) if (until <= now) pauses.delete(recipient)
      const busyRecipients = [...new Set([...taken, ...paused.keys()])]
      return { busyRecipients, busyEdits: [...pausedEdits.keys()], busyAccounts: accounts.full() }
    },
    room: () => total - taken.size,
    fits: (card: Card) =>
      taken.size < total && !taken.has(recipientKey(card)) && accounts.fits(card.account_id),
    take(card: Card) {
      taken.add(recipientKey(card))
      accounts.add(card.account_id, 1)
    },
    free(card: Card) {
      taken.delete(recipientKey(card))
      accounts.add(card.account_id, -1)
    },
    pause: (card: Card, until: Date) =>
      void (card.shown > 0 ? pausedEdits : paused).set(recipientKey(card), until),
  }
}

const DAY_MS = 86_400_000

/** Tells one identity of a person about a change of their factors, unless it was unlinked since. Posted once. */
async function attemptNotice(
  deps: AttemptDeps,
  chat: ChatPort,
  claimed: ClaimedCard,
  notice: FactorNotice,
): Promise<CardReport | undefined> {
  const job = beginAttempt(deps, chat, claimed)
  const { card, progress } = job
  const { recipient } = card
  if (recipient.kind !== 'identity' || card.message !== undefined || !(await isStillTheirs(deps, card))) {
    progress.shown = card.wanted
    return recordCard(job, restingStep('idle'))
  }
  const { tenant, user } = recipient
  const links = { details: `${deps.settings.baseUrl}${noticePath(notice)}` }
  const view = { kind: 'notice', request_id: card.request_id, version: 1, notice, links } as const
  const answer = await chat.post({ platform: chat.platform, tenant, user }, view)
  if (answer.ok) {
    progress.message = { ...answer.value, user }
    progress.posted_at = deps.clock.now()
    accept(job, 'post', card.wanted, answer.duration_ms)
    return recordCard(job, restingStep('idle'))
  }
  const failure = { ...answer, tenant }
  fail(job, 'post', failure)
  if (deps.clock.now().getTime() - notice.at.getTime() <= NOTICE_PUSH_DAYS * DAY_MS)
    return recordCard(job, stepAfter(job, failure))
  progress.exhausted = true
  return recordCard(job, restingStep('idle'))
}

/** Checks that the identity is still linked to the person: it may have been linked by another person since. */
async function isStillTheirs({ users }: FlowDeps, { recipient, platform }: Card): Promise<boolean> {
  if (recipient.kind !== 'identity') return false
  const theirs = identityKey({ platform, ...recipient })
  const person = await users.find(recipient.user_id)
  return person?.chat.some((identity) => identityKey(identity) === theirs) === true
}
