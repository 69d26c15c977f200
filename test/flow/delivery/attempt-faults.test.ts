import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/webhook.ts'
import { createWebhook } from '../../../src/flow/webhooks/manage-webhooks.ts'
import { attemptDelivery } from '../../../src/flow/webhooks/send-deliveries.ts'
import { FIRST, NONE_BUSY } from '../../support/first-claim.ts'
import { addPerson } from '../../support/people.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { sampleDelivery } from '../../support/sample-delivery.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

/** A delivery to a new webhook, claimed until `leaseMs` from now. */
async function claimed(path: string, leaseMs: number): Promise<Delivery> {
  const { deps } = service.composition
  const person = await addPerson(service, `${path.slice(1)}@example.com`)
  const owner = { accountId: person.account_id, actor: { kind: 'cli' } } as const
  const { webhook } = await createWebhook(deps, owner, { url: receiver.url(path) })
  const now = deps.clock.now()
  const delivery = sampleDelivery({
    id: `dlv_${path.slice(1)}`,
    account_id: person.account_id,
    target: { kind: 'webhook', webhook_id: webhook.id },
    event_id: `evt_${path.slice(1)}`,
    url: webhook.url,
    next_at: now,
  })
  await deps.deliveries.insertNew([delivery])
  const leaseEnds = new Date(now.getTime() + leaseMs)
  return (
    (await deps.deliveries.claim({ ...FIRST, ...NONE_BUSY, now, leaseEnds }))[0]?.record ??
    expect.unreachable()
  )
}

it('T82: sends nothing when the lease could end before the attempt does, and leaves it to the next worker', async () => {
  const delivery = await claimed('/late', 9_000)
  expect(await attemptDelivery(service.composition.deps, delivery)).toBeUndefined()
  expect(receiver.received).toEqual([])
  expect(await service.composition.deps.deliveries.find(delivery.id)).toMatchObject({
    state: 'leased',
    attempts: [],
  })
})

it('counts a secret that does not open as a failed attempt, so that it shows and comes to an end', async () => {
  const delivery = await claimed('/unsigned', 60_000)
  const target = delivery.target.kind === 'webhook' ? delivery.target.webhook_id : ''
  await service.composition.connection
    .collection<{ _id: string }>('webhooks')
    .updateOne({ _id: target }, { $set: { sealed_secret: 'from another key' } })
  expect(await attemptDelivery(service.composition.deps, delivery)).toBeInstanceOf(Date)
  expect(await service.composition.deps.deliveries.find(delivery.id)).toMatchObject({
    state: 'due',
    tries: 1,
    attempts: [{ outcome: 'unsigned' }],
  })
  expect(receiver.received).toEqual([])
})

it('throws when a delivery could not be inserted, rather than leave it out', async () => {
  const { deliveries } = service.composition.deps
  const known = (await deliveries.find('dlv_late')) ?? expect.unreachable()
  const huge = { ...known, id: 'dlv_huge', event_id: 'evt_huge', body: 'x'.repeat(17 * 1024 * 1024) }
  await expect(deliveries.insertNew([{ ...known, id: 'dlv_other' }, huge])).rejects.toThrow()
  await expect(deliveries.insertNew([{ ...known, id: 'dlv_other' }])).resolves.toEqual(new Set())
})
