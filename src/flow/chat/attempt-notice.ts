import type { Card } from '../../domain/chat.ts'
import { cardStepAfter } from '../../domain/chat-retry.ts'
import type { FactorNotice } from '../../domain/factor-notice.ts'
import type { ChatPort, ClaimedCard } from '../chat-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { type CardProgress, type CardReport, recordCard } from './record-card.ts'

type AttemptDeps = Pick<FlowDeps, 'cards' | 'users' | 'settings' | 'clock' | 'random' | 'log'>

/** Tells a change of somebody's factors to one of their identities, unless they have taken it back since. Posted once. */
export async function attemptNotice(
  deps: AttemptDeps,
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

/** Somebody else may have linked it meanwhile: what changes about this person is none of their business. */
async function isStillTheirs({ users }: AttemptDeps, { recipient, platform }: Card): Promise<boolean> {
  if (recipient.kind !== 'identity') return false
  const person = await users.find(recipient.user_id)
  return (person?.chat ?? []).some(
    (identity) =>
      identity.platform === platform &&
      identity.tenant === recipient.tenant &&
      identity.user === recipient.user,
  )
}
