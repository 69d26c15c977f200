import { onTestFinished } from 'vitest'
import type { User } from '../../src/domain/user.ts'
import { addPushDevice } from '../../src/flow/tell/manage-devices.ts'
import { type FakeBrowser, type PushService, startPushService } from './push-service.ts'
import { newRequester, useWorker, type Worker, type WorkerOptions } from './worker.ts'

/** An account whose owner decides, and a push service. */
export interface PushSetting {
  worker: Worker
  push: PushService
  requester: Awaited<ReturnType<typeof newRequester>>
  /** Registers another browser of that person. */
  browserOf(user: User, name?: string): Promise<FakeBrowser & { deviceId: string }>
}

/** A push service that ends with the test. */
export async function usePushService(): Promise<PushService> {
  const push = await startPushService()
  onTestFinished(() => push.close())
  return push
}

/** A worker beside a push service; nothing is sent before `worker.start()`. */
export async function usePushSetting(options: WorkerOptions = {}): Promise<PushSetting> {
  const push = await usePushService()
  const worker = await useWorker(options)
  return {
    worker,
    push,
    requester: await newRequester(worker),
    async browserOf(user, name = 'laptop') {
      const browser = push.subscribe(worker.deps.pushKey.current().public_key)
      const { endpoint, keys } = browser.subscription
      const input = { subscription: { endpoint, ...keys }, name }
      const device = await addPushDevice(worker.deps, user, input, '127.0.0.1')
      // The notice of it, to other browsers, is not what these tests look at.
      const untold = { $set: { audit: [] }, $unset: { outbox_token: 1 } } as const
      await worker.stored('push_devices').updateOne({ _id: device.id }, untold)
      return Object.assign(browser, { deviceId: device.id })
    },
  }
}
