import { randomUUID } from 'node:crypto'
import { Agenda } from 'agenda'
import type { Log } from '../flow/ports.ts'
import type { JobRepository } from './job-repository.ts'

/** The one kind of job. One kind costs one question to the store a round, however many sweeps there are. */
export const JOB = 'sweep'

/** How often a process asks for jobs; it looks as far ahead, so this is no delay for a job made earlier than that. */
export const ROUND_MS = 200

/** A job that was taken up and not finished for so long belongs to a process that died. */
export const LOCK_MS = 10_000

/** How often one trouble is told while it lasts. */
const TELL_EVERY_MS = 10_000

/** Agenda on the service's own connection. Its errors are told, and never end the process. */
export function createAgenda(repository: JobRepository, log: Log): Agenda {
  const agenda = new Agenda({
    name: randomUUID(),
    backend: {
      name: 'MongoDB',
      repository,
      ownsConnection: false,
      // Sets fields only; the constructor calls it, and a rejection there could be handled by nobody.
      connect: () => repository.connect(),
      disconnect: async () => undefined,
    },
    processEvery: ROUND_MS,
    maxConcurrency: 50,
    defaultConcurrency: 50,
    defaultLockLifetime: LOCK_MS,
  })
  let toldAt = Number.NEGATIVE_INFINITY
  agenda.on('error', (error: Error) => {
    const now = performance.now()
    if (now - toldAt < TELL_EVERY_MS) return
    toldAt = now
    log.warn({ error }, 'the job scheduler met an error; it goes on')
  })
  return agenda
}
