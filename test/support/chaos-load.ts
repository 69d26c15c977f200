import type { FleetProgram } from './chaos-clients.ts'
import { expectStatus } from './enrolled.ts'

/** Lets numbers through up to a limit that only rises, so that a load keeps step with what is done to it. */
export interface Turnstile {
  /** Resolves when the limit is above `n`, with false when it is closed below it. */
  pass(n: number): Promise<boolean>
  raise(limit: number): void
  /** Lets nothing more through than the limit says now. */
  close(): void
}

export function createTurnstile(): Turnstile {
  const waiting = new Set<{ n: number; go: (passed: boolean) => void }>()
  let limit = 0
  let closed = false
  const letGo = (): void => {
    for (const one of [...waiting]) {
      if (one.n >= limit && !closed) continue
      waiting.delete(one)
      one.go(one.n < limit)
    }
  }
  return {
    pass: (n) =>
      new Promise((go) => {
        waiting.add({ n, go })
        letGo()
      }),
    raise(next) {
      limit = Math.max(limit, next)
      letGo()
    },
    close() {
      closed = true
      letGo()
    },
  }
}

/** Dry-run requests that decide themselves at the first read, each with a callback. */
export interface Load {
  programs: readonly FleetProgram[]
  /** How many at a time. */
  workers: number
  callbackUrl(program: FleetProgram): string
  /** The load ends when it is closed. */
  turnstile: Turnstile
  onDecided(count: number): void
}

/** Makes and decides as many as the turnstile lets through. @returns their ids */
export async function decideMany(load: Load): Promise<string[]> {
  const ids: string[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let n = next++; await load.turnstile.pass(n); n = next++) {
      ids.push(await decideOne(load, n))
      load.onDecided(ids.length)
    }
  }
  await Promise.all(Array.from({ length: load.workers }, work))
  return ids
}

const LOOKS = 3

/**
 * Creates and decides the n-th. A creation that died with a process is made anew, as programs do; what the first one left, if
 * anything, stays pending, since nobody knows its id.
 */
export async function decideOne(load: Pick<Load, 'programs' | 'callbackUrl'>, n: number): Promise<string> {
  const program = load.programs[n % load.programs.length]
  if (program === undefined) throw new Error('a load needs programs')
  const body = {
    action: `Decision ${n}`,
    sandbox_auto_decide_seconds: 0,
    sandbox_decision: n % 5 === 0 ? 'rejected' : 'approved',
    callback_url: load.callbackUrl(program),
  }
  const { request_id: id } = expectStatus(await program.post('/api/v1/approvals/request', body), 201)
  // Due at once by the clock of whoever made it; another process may be some milliseconds behind.
  for (let look = 0; look < LOOKS; look += 1) {
    const wait = look === 0 ? '' : '/wait?timeout=20'
    const { status } = expectStatus(await program.get(`/api/v1/approvals/${id}${wait}`), 200)
    if (status === body.sandbox_decision) return id
    if (status !== 'pending') throw new Error(`${id} is ${status}`)
  }
  throw new Error(`${id} is still pending`)
}
