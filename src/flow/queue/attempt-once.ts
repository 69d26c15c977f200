import { ATTEMPTS_KEPT, type Attempt } from '../../domain/webhook.ts'
import type { AttemptOutcome, Clock } from '../../ports/ports.ts'
import type { AttemptResult } from '../../store/delivery/queue.ts'

/** A record of a queue that this process has claimed. `next_at`: the end of its lease. */
interface Held {
  next_at: Date
  tries: number
  fence: number
  attempts: readonly Attempt[]
}

/** What follows an attempt with a known outcome. */
type Step = { state: 'due'; delay_ms: number } | { state: string }

/** What distinguishes one queue from another. */
interface Work<S extends Step> {
  /** Gets ready what is to be sent. @returns a function that sends it; undefined when nobody wants it any more */
  prepare(at: Date): Promise<(() => Promise<AttemptOutcome>) | undefined>
  /** @param tries attempts with a known outcome, this one included */
  stepAfter(result: AttemptOutcome, tries: number): S
  /** Makes the audit entries and events of a record that was dropped, or of an attempt. */
  tell(
    step: S | { state: 'dropped' },
    at: Date,
    attempt?: Attempt,
  ): Pick<AttemptResult<string>, 'audit' | 'events'>
  /** Writes the result, by the fence. @returns false when another process has taken over */
  finish(result: AttemptResult<S['state'] | 'dropped' | 'due'>): Promise<boolean>
  /** Does what else the step asks for, once it is written. */
  settled?(step: S, attempt: Attempt, at: Date): Promise<unknown>
}

/**
 * Makes exactly one attempt at a record, and records its result in one write: dropped, sent, due again after a failure, or given
 * up. A process that has lost the claim meanwhile writes nothing (T82). A crash between the call and that write repeats the call.
 * @param interrupted the previous attempt never reported back; it is logged and does not count as a try
 * @returns the state, and when it is due again, if it is
 */
export async function attemptOnce<S extends Step>(
  deps: { clock: Clock; settings: { attemptMs: number } },
  record: Held,
  interrupted: boolean,
  work: Work<S>,
): Promise<{ state: string; next_at?: Date }> {
  const at = deps.clock.now()
  const before = interrupted ? lostAttempts(record, at) : []
  const uncounted = { tries: record.tries, audit: [] }
  const call = await work.prepare(at)
  if (call === undefined) {
    const state = 'dropped'
    await work.finish({ ...uncounted, state, next_at: at, attempts: before, ...work.tell({ state }, at) })
    return { state }
  }
  if (isTooLate(deps, record)) return { state: 'leased' }
  const result = await call()
  const attempt: Attempt = { at, outcome: result.outcome, duration_ms: result.duration_ms }
  const attempts = [...before, attempt]
  const now = deps.clock.now()
  if (result.outcome === 'interrupted') {
    // The service stops mid-attempt: another process may take the record at once, and no try is counted.
    const due = { state: 'due', next_at: now } as const
    await work.finish({ ...uncounted, ...due, attempts })
    return due
  }
  const tries = record.tries + 1
  const step = work.stepAfter(result, tries)
  const again = 'delay_ms' in step ? { next_at: new Date(now.getTime() + step.delay_ms) } : {}
  const written = { state: step.state, next_at: now, ...again, tries, attempts }
  const kept = await work.finish({ ...written, ...work.tell(step, now, attempt) })
  if (kept) await work.settled?.(step, attempt, now)
  return { state: step.state, ...again }
}

/** Returns the attempts that the log lacks: each claim is an attempt, and several processes may have died during theirs. */
function lostAttempts({ fence, attempts }: Held, at: Date): Attempt[] {
  const lost = attempts.length < ATTEMPTS_KEPT ? fence - 1 - attempts.length : 1
  return Array.from({ length: Math.max(1, lost) }, () => ({ at, outcome: 'interrupted', duration_ms: 0 }))
}

/**
 * Checks whether the store was so slow that the lease could end before the attempt does, when another process would send the
 * record a second time. It is then left to the process that claims it next (T82).
 */
function isTooLate(
  { clock, settings }: { clock: Clock; settings: { attemptMs: number } },
  { next_at: leaseEnds }: Held,
): boolean {
  return clock.now().getTime() + settings.attemptMs >= leaseEnds.getTime()
}
