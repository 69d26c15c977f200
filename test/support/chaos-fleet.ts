import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startCli } from './cli.ts'
import { freePort, TEST_SECRETS } from './service.ts'
import { type ServiceProcess, spawnService } from './service-process.ts'
import { type StoreProxy, startStoreProxy, type Trap } from './store-proxy.ts'

/** One place for a service process; whatever dies in it is started anew, as a supervisor would. */
export interface Slot {
  url: string
  proxy: StoreProxy
  /** Resolves as soon as a process in this slot answers requests. */
  up(): Promise<void>
  isUp(): boolean
  /** kill -9, now; nothing happens while no process runs. */
  kill(): void
  /**
   * Kills the process at this point; when it dies for another reason first, its successor. @returns false when given up by
   * `signal`
   */
  killAt(trap: Trap, signal?: AbortSignal): Promise<boolean>
  /** The process of this moment. */
  process(): ServiceProcess
}

/** Service processes that share one `countersign store`, each behind a store proxy of its own. */
export interface Fleet {
  /** BASE_URL of all of them: the origin of every page and passkey. */
  origin: string
  /** Connection string of the store itself. */
  storeUri: string
  /** Settings of commands beside the services. */
  env: Record<string, string>
  slots: readonly [Slot, ...Slot[]]
  /** Starts more, up to this many, and waits for them. */
  growTo(size: number): Promise<void>
  /** How many processes were killed so far. */
  kills(): number
  /** Output of processes that died without being killed; must stay empty. */
  crashes: readonly string[]
  /** Ends all processes but the store's. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

const DATABASE = 'chaos'

/** A supervisor that never gives up would hide why. */
const CRASHES_BORNE = 3

/** Starts the store and one service; everything ends with the test. */
export async function useFleet(env: Record<string, string> = {}): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const store = startCli(['store'], { env: { DATA_DIR: join(folder, 'store') } })
  const storeUri = String((await store.line(/MONGODB_URI=(\S+)/))[1])
  const counts = { kills: 0 }
  const crashes: string[] = []
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const databaseUri = storeUri.replace('/?', `/${DATABASE}?`)
  const shared = {
    ...TEST_SECRETS,
    DATA_DIR: folder,
    BASE_URL: origin,
    MONGODB_URI: databaseUri,
    TRUST_PROXY: '1',
    CALLBACK_ALLOW_PRIVATE: '1',
    ...env,
  }
  const place = async (port: number): Promise<RunningSlot> => {
    const proxy = await startStoreProxy(storeUri)
    const own = { ...shared, PORT: String(port), MONGODB_URI: proxy.uri(DATABASE) }
    return superviseSlot(`http://localhost:${port}`, proxy, own, counts, crashes)
  }
  const slots: [RunningSlot, ...RunningSlot[]] = [await place(port)]
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await Promise.all(slots.map((slot) => slot.stop(signal)))
  }
  onTestFinished(async () => {
    await stop('SIGKILL')
    for (const slot of slots) await slot.proxy.close()
  })
  await slots[0].up()
  return {
    origin,
    storeUri: databaseUri,
    env: shared,
    slots,
    async growTo(size) {
      const ports = await Promise.all(Array.from({ length: size - slots.length }, freePort))
      slots.push(...(await Promise.all(ports.map(place))))
      await Promise.all(slots.map((slot) => slot.up()))
    },
    kills: () => counts.kills,
    crashes,
    stop,
  }
}

/** Kills the process that first comes to this point. @throws after `ms` */
export async function killSomebodyAt(fleet: Fleet, trap: Trap, ms: number): Promise<void> {
  const giveUp = new AbortController()
  const late = setTimeout(() => giveUp.abort(), ms)
  const attempts = fleet.slots.map(async (slot) => {
    if (await slot.killAt(trap, giveUp.signal)) return
    throw new Error('given up')
  })
  try {
    await Promise.any(attempts)
  } finally {
    clearTimeout(late)
    giveUp.abort()
  }
}

interface RunningSlot extends Slot {
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

function superviseSlot(
  url: string,
  proxy: StoreProxy,
  env: Record<string, string>,
  counts: { kills: number },
  crashes: string[],
): RunningSlot {
  let service = spawnService(env)
  let answering = false
  let killed = false
  let stopping = false
  let up = untilUp()

  function untilUp(): Promise<void> {
    return service.line(/Countersign is running/).then(
      () => {
        answering = true
      },
      // It died while it started; whoever waits goes on waiting, for its successor, which was started by now.
      () => (stopping ? undefined : up),
    )
  }
  function watchOver(): void {
    const { child } = service
    // Everybody who waits for its end listens.
    child.setMaxListeners(0)
    child.once('exit', () => {
      answering = false
      if (stopping) return
      if (!killed) crashes.push(service.output())
      killed = false
      if (crashes.length > CRASHES_BORNE) {
        up = Promise.reject(new Error(`services crash:\n${crashes.at(-1)}`))
      } else {
        service = spawnService(env)
        up = untilUp()
        watchOver()
      }
      child.emit('successor')
    })
  }
  watchOver()
  const kill = (): void => {
    if (killed || !isAlive(service)) return
    killed = true
    answering = false
    up = once(service.child, 'successor').then(() => up)
    counts.kills += 1
    service.child.kill('SIGKILL')
  }
  return {
    url,
    proxy,
    up: () => up,
    isUp: () => answering,
    kill,
    process: () => service,
    // A trap that had matched when another kill came first would never spring, so it is set again for each process.
    async killAt(trap, signal = new AbortController().signal) {
      const givenUp = new Promise<'given up'>((resolve) => {
        if (signal.aborted) resolve('given up')
        signal.addEventListener('abort', () => resolve('given up'))
      })
      for (let end = 'gone'; ; ) {
        if ((await Promise.race([up, givenUp])) === 'given up') return false
        const gone = once(service.child, 'exit').then(() => 'gone')
        end = await Promise.race([proxy.arm(trap, kill).then(() => 'sprung'), gone, givenUp])
        proxy.disarm()
        if (end !== 'gone') return end === 'sprung'
      }
    },
    async stop(signal) {
      stopping = true
      await service.end(signal)
    },
  }
}

function isAlive({ child }: ServiceProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}
