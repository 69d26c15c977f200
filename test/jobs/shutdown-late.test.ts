import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { startWork } from '../../src/compose/start-work.ts'
import { startReceiver } from '../support/receiver.ts'
import { sampleDelivery } from '../support/sample-delivery.ts'
import { startStopwatch } from '../support/stopwatch.ts'
import { newRequester, useWorker } from '../support/worker.ts'

it('gives back what is under way when stopping takes too long, before the store is let go', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.behave(() => ({ kind: 'stall' }))
  const worker = await useWorker({ env: { CALLBACK_TIMEOUT_SECONDS: '30' } })
  const { caller, account } = await newRequester(worker)
  const { deps, composition } = worker
  const now = deps.clock.now()
  const url = receiver.url('/slow')
  await deps.deliveries.insertNew([
    sampleDelivery({
      id: 'dlv_slow',
      account_id: account.id,
      target: {
        kind: 'callback',
        request_id: `req_${randomBytes(8).toString('hex')}`,
        api_key_id: caller.key.id,
        secret_version: caller.key.secret_version,
      },
      event_id: 'evt_slow',
      url,
      next_at: now,
    }),
  ])
  // The attempt lasts 30 s, and may last 1 ms: stopping cannot wait for it, and gives up after 10 s.
  const settings = { ...deps.settings, attemptMs: 1 }
  const work = await startWork({ callbackTimeoutMs: 1 }, { ...composition, deps: { ...deps, settings } })
  await receiver.until('the attempt is under way', () => receiver.received.length === 1)
  expect(await deps.deliveries.find('dlv_slow')).toMatchObject({ state: 'leased', attempts: [] })
  const stop = startStopwatch()
  await work.stop()
  expect(stop()).toBeLessThan(20_000)
  expect(worker.logged.map(({ message }) => message)).toContain(
    'shutting down with unfinished work: the time limit was reached',
  )
  expect(await deps.deliveries.find('dlv_slow')).toMatchObject({
    state: 'due',
    tries: 0,
    attempts: [{ outcome: 'interrupted' }],
  })
})
