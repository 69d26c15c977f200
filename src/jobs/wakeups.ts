import type { Agenda } from 'agenda'
import type { Wakeups } from '../flow/delivery-ports.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { JOB } from './agenda.ts'
import { DELIVER_AT_MOST_MS } from './deliver.ts'

/** Wake-ups this close together are one job. */
const GRAIN_MS = 20

/** Wake-ups by jobs that run once and are removed. */
export interface JobWakeups extends Wakeups {
  /** Resolves when what was asked for is stored. */
  flush(): Promise<void>
}

/** Only what is due before the sweep runs anyway needs a job of its own. */
export function createWakeups(agenda: Agenda, clock: Clock, log: Log): JobWakeups {
  const asked = new Set<number>()
  const saving = new Set<Promise<unknown>>()
  return {
    at(sweep, time) {
      const now = clock.now().getTime()
      const grain = Math.ceil(Math.max(now, time.getTime()) / GRAIN_MS) * GRAIN_MS
      if (grain - now > DELIVER_AT_MOST_MS || asked.has(grain)) return
      for (const past of asked) if (past < now) asked.delete(past)
      asked.add(grain)
      const saved = agenda
        .schedule(new Date(Date.now() + grain - now), JOB, { sweep, once: true })
        .catch((error: unknown) => log.warn({ error }, 'a wake-up was not stored; the sweep comes later'))
        .finally(() => saving.delete(saved))
      saving.add(saved)
    },
    async flush() {
      await Promise.all(saving)
    },
  }
}
