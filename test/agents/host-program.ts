import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { START_MS, untilHolds } from '../support/patience.ts'

const line = z.discriminatedUnion('event', [
  z.object({
    id: z.string(),
    event: z.literal('ran'),
    arguments: z.object({ order: z.string(), amount: z.string() }),
  }),
  z.object({ id: z.string(), event: z.literal('told'), call: z.string(), text: z.string() }),
  z.object({ id: z.string(), event: z.literal('ended'), error: z.string().optional() }),
])

/** What a host program said. */
export type HostEvent = z.infer<typeof line>

/** A host program that runs (`hostile-table.ts` has its lines). */
export interface HostProgram {
  send(order: object): void
  /** Resolves once that holds. @throws when the program ends before, with what it wrote on stderr */
  until(what: string, holds: () => boolean): Promise<void>
  /** Ends it and waits until it is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** @param said gets what it says */
export function startHostProgram(
  command: readonly string[],
  said: HostEvent[],
  env: Record<string, string> = {},
): HostProgram {
  const [program = '', ...args] = command
  const { PATH, HOME, TMPDIR } = process.env
  // It leads a group, so that programs which it started end with it.
  const child = spawn(program, args, { env: { PATH, HOME, TMPDIR, ...env }, detached: true })
  const watchers = new Set<() => void>()
  let [errors, over] = ['', false]
  const changed = (): void => {
    for (const look of [...watchers]) look()
  }
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{"')) return
    said.push(line.parse(JSON.parse(text)))
    changed()
  })
  child.stderr.on('data', (text) => {
    errors += String(text)
  })
  // One that was killed reads no more.
  child.stdin.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      errors += String(error)
    })
    child.on('close', () => {
      over = true
      changed()
      resolve()
    })
  })
  return {
    send: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    async until(what, holds) {
      await untilHolds(watchers, what, () => over || holds(), START_MS).catch((error: Error) => {
        throw new Error(`${error.message}; it said ${JSON.stringify(said.slice(-5))}\n${errors}`)
      })
      if (!holds()) throw new Error(`the host program ended before ${what}:\n${errors}`)
    },
    end(signal) {
      try {
        if (child.pid !== undefined && !over) process.kill(-child.pid, signal)
      } catch {
        // It ended by itself.
      }
      return closed
    },
  }
}
