import { type CardStep, PROBE_MS, probeStep, UNANSWERED } from '../../../domain/card-state.ts'
import type { Card, ChatPlatform } from '../../../domain/chat.ts'
import type { FlowDeps } from '../../deps.ts'

/** What this process knows of an account's cards that fail on one platform. */
interface Outage {
  account_id: string
  platform: ChatPlatform
  tenant?: string | undefined
  /** The card that is tried often on behalf of all, and when it is due, by the steady clock. */
  probe: string
  probe_at: number
  /** Others wait for longer. */
  waits: boolean
}

export type OutageWatch = ReturnType<typeof createOutageWatch>

/**
 * Creates the watch of this process for outages of a platform. While the cards of an account fail, one of them is its probe and
 * tried every few seconds; the others wait with growing pauses, so that a platform that is down gets few calls. The first answer
 * makes all failed cards of the accounts that failed in that workspace due, which then go out at the platform's pace. Nothing
 * depends on this knowledge: without it each card is tried at its own time.
 */
export function createOutageWatch({ cards, clock, log }: FlowDeps) {
  const outages = new Map<string, Outage>()
  // A card that fails on its own, in a workspace that accepts others, must not have everything retried with each of them.
  const hurried = new Map<string, number>()
  const hurry = async (account_id: string, platform: ChatPlatform): Promise<void> => {
    const key = `${platform} ${account_id}`
    const now = clock.steady()
    const at = Math.max(now, (hurried.get(key) ?? Number.NEGATIVE_INFINITY) + PROBE_MS)
    hurried.set(key, at)
    await cards
      .hurry(account_id, platform, new Date(clock.now().getTime() + at - now))
      .catch((error: unknown) => log.warn({ error, account_id }, 'cards were not retried after an outage'))
  }
  const end = async (ended: readonly Outage[]): Promise<void> => {
    for (const { account_id, platform } of ended) outages.delete(`${platform} ${account_id}`)
    for (const { account_id, platform, waits } of ended) if (waits) await hurry(account_id, platform)
  }
  return {
    /** Notes that a call failed. @returns the step after it, which is soon for the card that probes */
    failed({ id, account_id, platform, tries }: Card, tenant: string | undefined, step: CardStep): CardStep {
      const key = `${platform} ${account_id}`
      const now = clock.steady()
      const before = outages.get(key)
      const held = before !== undefined && before.probe !== id && isSoon(before, now)
      const taken = held ? step : probeStep(step, tries)
      const place = { account_id, platform, tenant: tenant ?? before?.tenant }
      if (held) outages.set(key, { ...before, ...place, waits: true })
      else if (taken.state === 'due') {
        const waits = before !== undefined && (before.waits || before.probe !== id)
        outages.set(key, { ...place, probe: id, probe_at: now + taken.delay_ms, waits })
      }
      return taken
    },
    /** Notes that the workspace answered. */
    async answered(
      { account_id, platform, attempts, tries }: Card,
      tenant: string | undefined,
    ): Promise<void> {
      const ended = [...outages.values()].filter(
        (one) => one.platform === platform && (one.account_id === account_id || one.tenant === tenant),
      )
      await end(ended)
      // Another process, or an earlier run, may know more than this one.
      const late = tries > 0 && UNANSWERED.has(attempts.at(-1)?.outcome)
      const known = hurried.get(`${platform} ${account_id}`) ?? Number.NEGATIVE_INFINITY
      if (late && known + PROBE_MS <= clock.steady()) await hurry(account_id, platform)
    },
    /** Notes that a card needs no more calls: if it was the probe, another one becomes it. */
    async gone({ id, account_id, platform }: Card): Promise<void> {
      const outage = outages.get(`${platform} ${account_id}`)
      if (outage?.probe === id) await end([outage])
    },
  }
}

/** Checks whether the probe is due soon. One that another process has taken may never report here. */
function isSoon({ probe_at }: Outage, now: number): boolean {
  return probe_at > now - 2 * PROBE_MS && probe_at <= now + PROBE_MS
}
