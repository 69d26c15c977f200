import { countersign } from '@countersign/client'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest'
import { type BadNetwork, startBadNetwork } from './bad-network.ts'
import { type RealService, startRealService } from './real-service.ts'

/** The paths of the calls of a guard; it waits by itself only where the create did not wait, or not long enough. */
export const CREATE = /\/request\b/
export const WAIT = /\/wait\?|\/req_\w+$/
export const CONSUME = /\/consume$/

export const INVOICE = { number: 'INV-1', amount: '1834.15' }

type ClientOptions = Parameters<typeof countersign>[0]

/** One service for the file; for each test a network in front of it, and a key. */
export interface HostileSetting {
  service: RealService
  network: BadNetwork
  key: string
  client(options?: Partial<ClientOptions>): ReturnType<typeof countersign>
  /** A guarded payment: what it was really given, and its call. */
  payment(
    cs?: ReturnType<typeof countersign>,
    callId?: string,
    onAsked?: () => void,
  ): { paid: unknown[]; pay: (invoice: typeof INVOICE) => Promise<number> }
  /** The only request of the key, as soon as it is there. */
  asked(): Promise<string>
  /** Resolves once a wait is open. */
  waiting(what?: RegExp): Promise<void>
  calls(path: RegExp): BadNetwork['seen']
}

/** Call it at the top of a file; what it returns is filled before each test. */
export function useHostileSetting(): HostileSetting {
  let service: RealService
  beforeAll(async () => {
    service = await startRealService()
  })
  afterAll(() => service.close())
  const setting = {
    client: (options = {}) => countersign({ url: setting.network.url, key: setting.key, ...options }),
    payment(cs = setting.client(), callId = 'call-1', onAsked) {
      const paid: unknown[] = []
      const pay = cs.guard((invoice: typeof INVOICE) => paid.push(invoice), {
        action: ({ number }) => `Pay ${number}`,
        for: () => ['run-1', callId],
        onAsked,
      })
      return { paid, pay }
    },
    async asked() {
      await expect.poll(async () => (await service.requestsOf(setting.key)).length).toBe(1)
      return (await service.requestsOf(setting.key))[0]?.id ?? ''
    },
    async waiting(what = /wait[?=]/) {
      await expect
        .poll(() => setting.network.seen.some(({ path, body }) => what.test(path) || what.test(body)))
        .toBe(true)
    },
    calls: (path) => setting.network.seen.filter((call) => path.test(call.path)),
  } as HostileSetting
  beforeEach(async () => {
    const network = await startBadNetwork(service.url)
    onTestFinished(() => network.close())
    Object.assign(setting, { service, network, key: await service.newKey() })
  })
  return setting
}
