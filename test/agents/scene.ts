import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { type BadNetwork, startBadNetwork } from '../../packages/client/test/bad-network.ts'
import { CONSUME, CREATE } from '../../packages/client/test/hostile-setting.ts'
import type { RealService } from '../../packages/client/test/real-service.ts'
import { START_MS } from '../support/patience.ts'
import { type HostEvent, type HostProgram, startHostProgram } from './host-program.ts'

const SELDOM = { interval: 200 }

export interface Refund {
  order: string
  amount: string
}

export const ACME: Refund = { order: '4711', amount: '19.90' }
export const OTHER: Refund = { order: '4712', amount: '5.00' }
/** A call of the mock model. */
export const call = (refund: Refund, id = 'call-1') => ({ id, arguments: refund })

export interface RunOptions {
  /** The calls of each message of the model; without it one, about ACME. */
  turns?: ReturnType<typeof call>[][]
  patience?: { withinSeconds?: number; unreachableAfterSeconds?: number }
  fields?: Record<string, unknown>
  hold?: boolean
  verdict?: 'mistyped'
}

/** What a row of the table can do. */
export interface Scene {
  network: BadNetwork
  service: RealService
  /** Where the host keeps the snapshot of the run. */
  state(): string
  /** Starts a run and does not wait. After `kill` it is the same run, in a new process. */
  start(options?: RunOptions): void
  /** Resolves once the run that was started last is over. */
  ended(): Promise<void>
  /** Starts and waits until it is over. */
  run(options?: RunOptions): Promise<void>
  /** A person decides about that order as soon as a request about it waits. */
  decide(order: string, decision: 'approved' | 'rejected'): Promise<void>
  /** Resolves once that many requests stand. */
  asked(count?: number): Promise<void>
  /** Resolves once so many asks were sent, of which some may join a request. */
  asking(count: number): Promise<void>
  /** Resolves once the network saw such a call. */
  seen(path: RegExp): Promise<void>
  /** Resolves once the service has used an approval up. */
  consumed(): Promise<void>
  /** Resolves once the tool's body was reached. */
  ran(): Promise<void>
  /** Puts another order into the arguments of the run under way. */
  change(order: string): void
  /** Ends the host program by SIGKILL. */
  kill(): Promise<void>
}

/** What a row left: the arguments of each run of the tool, what the model was told by call, the requests by what they ask. */
export interface Left {
  ran: Refund[]
  told: string[]
  requests: string[]
  errors: string[]
}

/** The host program of a file, of which each row uses the same process until one kills it. */
export class Host {
  readonly said: HostEvent[] = []
  runs = 0
  readonly #start: () => HostProgram
  #program: HostProgram | undefined
  constructor(command: readonly string[], env?: Record<string, string>) {
    this.#start = () => startHostProgram(command, this.said, env)
  }
  get running(): HostProgram {
    this.#program ??= this.#start()
    return this.#program
  }
  async kill(): Promise<void> {
    await this.#program?.end('SIGKILL')
    this.#program = undefined
  }
}

/** A network of its own in front of the service, a new key, and a folder, for one row. */
export async function openScene(service: RealService, host: Host, sandbox = false) {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const network = await startBadNetwork(service.url)
  onTestFinished(() => network.close())
  const key = await service.newKey(sandbox)
  const first = host.runs
  let state = join(folder, 'state')
  let id = ''
  const mine = () => host.said.filter((one) => Number(one.id) > first)
  const requests = () => service.requestsOf(key)
  /** Looked at in here, since a host may take long to start, and the service limits how often it is asked. */
  const creates = (count: number, about = '') => {
    const found = () => network.seen.filter(({ path, body }) => CREATE.test(path) && body.includes(about))
    return expect.poll(() => found().length, { timeout: START_MS }).toBeGreaterThanOrEqual(count)
  }
  const scene: Scene = {
    network,
    service,
    state: () => state,
    start({ turns = [[call(ACME)]], ...options } = {}) {
      host.runs += 1
      id = String(host.runs)
      host.running.send({ do: 'run', id, url: network.url, key, run: 'run-1', turns, state, ...options })
    },
    async ended() {
      await host.running.until('the end of the run', () =>
        host.said.some((one) => one.id === id && one.event === 'ended'),
      )
      state = join(folder, `state-${id}`)
    },
    async run(options) {
      scene.start(options)
      await scene.ended()
    },
    async decide(order, decision) {
      const waits = async () =>
        (await requests()).find(({ action, status }) => status === 'pending' && action.includes(order))
      await creates(1, order)
      await expect.poll(waits, { ...SELDOM, message: `a request about ${order}` }).toBeDefined()
      await service.decide((await waits())?.id ?? '', decision, decision === 'rejected' ? 'no' : undefined)
    },
    async asked(count = 1) {
      await creates(count)
      await expect.poll(async () => (await requests()).length, SELDOM).toBe(count)
    },
    asking: creates,
    async seen(path) {
      await expect.poll(() => network.seen.some((one) => path.test(one.path))).toBe(true)
    },
    async consumed() {
      await scene.seen(CONSUME)
      const first = async () => (await requests())[0]
      await expect.poll(first, SELDOM).toMatchObject({ consumed_at: expect.any(String) })
    },
    ran: () =>
      host.running.until('the tool', () => host.said.some((one) => one.id === id && one.event === 'ran')),
    change: (order) => host.running.send({ do: 'change', id, order }),
    kill: () => host.kill(),
  }
  const left = async (): Promise<Left> => ({
    ran: mine().flatMap((one) => (one.event === 'ran' ? [one.arguments] : [])),
    // Parallel calls end in any order.
    told: mine()
      .filter((one) => one.event === 'told')
      .sort((a, b) => Number(a.id) - Number(b.id) || a.call.localeCompare(b.call))
      .map(({ text }) => text),
    // Parallel calls ask in any order.
    requests: (await requests()).sort((a, b) => a.action.localeCompare(b.action)).map(({ status }) => status),
    errors: mine().flatMap((one) => (one.event === 'ended' && one.error ? [one.error] : [])),
  })
  return { scene, left }
}
