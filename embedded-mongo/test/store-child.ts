import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('./fixtures/store-process.mjs', import.meta.url))

/** What a store process says on its first line. */
interface Announcement {
  uri?: string
  socketPath?: string
  error?: string
  code?: string
  pid?: number
}

export interface StoreChild {
  process: ChildProcess
  said: Announcement
  /** Ends it with this signal and waits until it is gone; returns the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** Waits until it ends by itself, where a signal could meet it half gone and be what ended it; returns the exit code. */
  ended(): Promise<number | null>
}

/** Ends what would be written to any file behind so many blocks of 512 bytes, as a full disk would. */
const LIMITED = 'ulimit -S -f "$0"; exec "$@"'

/**
 * Starts a store in a process of its own and waits until it is ready, or has said why it is not.
 * @param build the `index.js` of another build than the one in `dist/`
 */
export async function spawnStore(
  dataDir: string,
  { blocks, build }: { blocks?: number; build?: string } = {},
): Promise<StoreChild> {
  const [command, ...args] = [
    ...(blocks === undefined ? [] : ['sh', '-c', LIMITED, String(blocks)]),
    ...[process.execPath, SCRIPT, dataDir, ...(build === undefined ? [] : [build])],
  ]
  const child = spawn(command ?? '', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  // Closed, not exited: what it said last may be read after the news that it is gone.
  const silent = once(child, 'close').then(() => ['{"error":"exited"}'])
  const first = await Promise.race([once(lines, 'line'), silent])
  return {
    process: child,
    said: JSON.parse(String(first[0])) as Announcement,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal)
        await exited
      }
      return child.exitCode
    },
    async ended() {
      await exited
      return child.exitCode
    },
  }
}
