import { type Card, laneOf } from '../../domain/chat.ts'
import { cardStepAfter } from '../../domain/chat-retry.ts'
import type { FactorNotice } from '../../domain/factor-notice.ts'
import type { ChatPort, ClaimedCard } from '../chat-ports.ts'
import { coalesce } from '../delivery/coalesce.ts'
import type { Wakeups } from '../delivery-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { attemptCard } from './attempt-card.ts'
import { createLookup } from './find-addresses.ts'
import { type CardProgress, type CardReport, recordCard } from './record-card.ts'

type UpdaterDeps = Pick<
  FlowDeps,
  | 'cards'
  | 'chats'
  | 'requests'
  | 'bootstraps'
  | 'users'
  | 'accounts'
  | 'settings'
  | 'clock'
  | 'random'
  | 'log'
>

/** How many cards one process is at, and for how long a claim holds. */
export interface UpdaterLimits {
  total: number
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
}

/** Posts and edits cards that are due. */
export interface CardUpdater {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /** Claims nothing more and resolves when the attempts under way have reported. */
  drain(): Promise<void>
}

/**
 * The updating loop of one process. Any number of processes share the work: a claim is a conditional write. One card per
 * lane (recipient on a platform) at a time, so a slow recipient delays nobody else; a lane that the platform asked patience
 * for rests. Without platforms it does nothing.
 * @param wakeups asked to wake a process when a retry is due
 */
export function createCardUpdater(deps: UpdaterDeps, wakeups: Wakeups, limits: UpdaterLimits): CardUpdater {
  const platforms = new Map(deps.chats.map((chat) => [chat.platform, chat]))
  const attempting = { ...deps, lookup: createLookup(deps.clock) }
  const underWay = new Set<Promise<void>>()
  const lanes = createLanes()
  let stopped = deps.chats.length === 0

  const run = async (chat: ChatPort, claimed: ClaimedCard): Promise<void> => {
    const lane = laneOf(claimed.card)
    lanes.take(lane)
    try {
      const { notice } = claimed.card
      const report = await (notice === undefined
        ? attemptCard(attempting, chat, claimed)
        : attemptNotice(attempting, chat, claimed, notice))
      if (report?.patience) lanes.rest(lane, report.next_at)
      if (report?.state === 'due' && report.next_at > deps.clock.now()) wakeups.at('deliver', report.next_at)
    } catch (error) {
      deps.log.error({ error, card_id: claimed.card.id }, 'an attempt was not recorded; its lease will end')
    }
    lanes.free(lane)
  }
  const claimAll = coalesce(async () => {
    while (!stopped && underWay.size < limits.total) {
      const now = deps.clock.now()
      const leaseEnds = new Date(now.getTime() + limits.leaseMs)
      const query = { now, leaseEnds, platforms: [...platforms.keys()], busyLanes: lanes.busy(now) }
      const claimed = await deps.cards.claim(query)
      const chat = claimed && platforms.get(claimed.card.platform)
      if (claimed === undefined || chat === undefined) return
      const attempt: Promise<void> = run(chat, claimed).finally(() => {
        underWay.delete(attempt)
        wake()
      })
      underWay.add(attempt)
    }
  })
  const wake = (): void => {
    claimAll().catch((error: unknown) =>
      deps.log.warn({ error }, 'claiming cards failed; the sweep tries again'),
    )
  }
  return {
    wake,
    async drain() {
      stopped = true
      // A claim that was on its way may still come home with a card; that one is sent, too.
      await claimAll().catch(() => undefined)
      await Promise.all(underWay)
    },
  }
}

/** Lanes that must wait: taken by an attempt, or resting. */
function createLanes() {
  const taken = new Set<string>()
  const resting = new Map<string, Date>()
  return {
    take: (lane: string) => void taken.add(lane),
    free: (lane: string) => void taken.delete(lane),
    rest: (lane: string, until: Date) => void resting.set(lane, until),
    busy(now: Date): string[] {
      for (const [lane, until] of resting) if (until <= now) resting.delete(lane)
      return [...new Set([...taken, ...resting.keys()])]
    },
  }
}

type NoticeDeps = Pick<FlowDeps, 'cards' | 'users' | 'settings' | 'clock' | 'random' | 'log'>

/** Tells a change of a person's factors to one of their identities, unless they have unlinked it since. Posted once. */
async function attemptNotice(
  deps: NoticeDeps,
  chat: ChatPort,
  { card, interrupted }: ClaimedCard,
  notice: FactorNotice,
): Promise<CardReport | undefined> {
  const progress: CardProgress = { shown: card.shown, certain: true, said: [], dropped: [], attempts: [] }
  const note = (outcome: CardProgress['attempts'][number]['outcome'], duration_ms: number): void =>
    void progress.attempts.push({ at: deps.clock.now(), what: 'post', outcome, duration_ms })
  if (interrupted) note('interrupted', 0)
  const { recipient } = card
  if (recipient.kind !== 'identity' || card.message !== undefined || !(await isStillTheirs(deps, card)))
    return recordCard(deps, card, { ...progress, shown: card.wanted }, 'idle')
  const { tenant, user } = recipient
  const answer = await chat.post(
    { platform: chat.platform, tenant, user },
    {
      kind: 'notice',
      request_id: card.request_id,
      version: 1,
      notice,
      links: { details: `${deps.settings.baseUrl}/account` },
    },
  )
  note(answer.ok ? 'accepted' : answer.outcome, answer.duration_ms)
  if (!answer.ok)
    return recordCard(deps, card, progress, cardStepAfter(answer.outcome, card.tries, answer.retry_after))
  const posted = { message: { ...answer.value, user }, posted_at: deps.clock.now(), shown: card.wanted }
  return recordCard(deps, card, { ...progress, ...posted }, 'idle')
}

/** Another person may have linked it meanwhile: what changes about this person is none of their business. */
async function isStillTheirs({ users }: NoticeDeps, { recipient, platform }: Card): Promise<boolean> {
  if (recipient.kind !== 'identity') return false
  const person = await users.find(recipient.user_id)
  return (person?.chat ?? []).some(
    (identity) =>
      identity.platform === platform &&
      identity.tenant === recipient.tenant &&
      identity.user === recipient.user,
  )
}
