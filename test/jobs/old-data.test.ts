import { beforeEach, expect, it } from 'vitest'
import type { Delivery, Webhook } from '../../src/domain/webhook.ts'
import { cleanUp } from '../../src/jobs/clean-up.ts'
import { clockOf } from '../support/clock.ts'
import { toldDatabase } from '../support/store-commands.ts'
import { useWorker, type Worker } from '../support/worker.ts'

const NOW = new Date('2030-06-01T12:00:00.000Z')
const DAY = 86_400_000
const daysAgo = (days: number, ms = 0) => new Date(NOW.getTime() - days * DAY - ms)

let worker: Worker
beforeEach(async () => {
  worker = await useWorker()
})

const cleanUpNow = () => cleanUp({ ...worker.deps, clock: clockOf(() => NOW.getTime()) })

function delivery(id: string, more: Partial<Delivery>): Delivery {
  return {
    id,
    account_id: 'acc_a',
    target: { kind: 'webhook', webhook_id: 'whk_a' },
    event_id: `evt_${id}`,
    event_type: 'approval.created',
    url: 'https://hooks.example.com/in',
    host: 'hooks.example.com',
    body: '{}',
    state: 'delivered',
    next_at: daysAgo(90, 1),
    tries: 1,
    fence: 1,
    attempts: [],
    created_at: daysAgo(400),
    outbox: [],
    audit: [],
    ...more,
  }
}

const left = async () => {
  const found = await worker.stored('deliveries').find({}).sort({ _id: 1 }).toArray()
  return found.map(({ _id }) => _id)
}

it('deletes deliveries 90 days after they came to rest, and none that is under way or whose outbox waits', async () => {
  await worker.deps.deliveries.insertNew([
    delivery('delivered', {}),
    delivery('dead', { state: 'dead' }),
    delivery('dropped', { state: 'dropped' }),
    delivery('kept-due', { state: 'due' }),
    delivery('kept-leased', { state: 'leased' }),
    delivery('kept-recent', { next_at: daysAgo(90) }),
    delivery('kept-waiting', {}),
  ])
  await worker.stored('deliveries').updateOne({ _id: 'kept-waiting' }, { $set: { outbox_token: 'evt_1' } })
  await cleanUpNow()
  expect(await left()).toEqual(['kept-due', 'kept-leased', 'kept-recent', 'kept-waiting'])
  await worker.stored('deliveries').updateOne({ _id: 'kept-waiting' }, { $unset: { outbox_token: 1 } })
  await cleanUpNow()
  expect(await left()).toEqual(['kept-due', 'kept-leased', 'kept-recent'])
})

it('deletes many old deliveries at once, a bounded number at a time', async () => {
  worker = await useWorker({ storeUri: toldDatabase() })
  const many = Array.from({ length: 1_201 }, (_, n) => delivery(`dlv_${n}`, {}))
  await worker.deps.deliveries.insertNew([...many, delivery('kept', { state: 'due' })])
  const deleted: number[] = []
  worker.composition.connection
    .getClient()
    .on('commandStarted', ({ command }) => void (command.delete && deleted.push(command.deletes.length)))
  await cleanUpNow()
  expect(deleted).toEqual([500, 500, 201])
  expect(await left()).toEqual(['kept'])
})

it('forgets the secret before a rotation once it signs nothing any more, and not before', async () => {
  const { webhooks } = worker.deps
  const webhook = (id: string, until: Date): Webhook => ({
    id,
    account_id: 'acc_a',
    url: 'https://hooks.example.com/in',
    host: 'hooks.example.com',
    events: [],
    state: 'active',
    sealed_secret: `v1.now-${id}`,
    previous_secret: { sealed: `v1.before-${id}`, until },
    created_at: daysAgo(9),
    disabled_at: null,
    audit: [],
  })
  await webhooks.insert(webhook('whk_over', NOW), 20)
  await webhooks.insert(webhook('whk_both', daysAgo(0, -1)), 20)
  await cleanUpNow()
  const over = await worker.stored('webhooks').findOne({ _id: 'whk_over' })
  expect(JSON.stringify(over)).not.toContain('v1.before')
  expect(over).toMatchObject({ sealed_secret: 'v1.now-whk_over', state: 'active' })
  expect((await webhooks.find('whk_both'))?.previous_secret).toEqual({
    sealed: 'v1.before-whk_both',
    until: daysAgo(0, -1),
  })
})

it('ends and deletes sessions as the first versions wrote them, without an account, and the trail tells of it', async () => {
  await worker.stored('sessions').insertOne({
    _id: 'ses_old',
    token_hash: '0'.repeat(64),
    user_id: 'usr_old',
    created_at: daysAgo(40),
    last_seen_at: daysAgo(31),
    expires_at: daysAgo(10),
    user_agent: '',
  })
  await cleanUpNow()
  await worker.start()
  // Its relay may be at it, as the sweep is: told, and taken note of.
  await expect
    .poll(() => worker.stored('sessions').countDocuments({ _id: 'ses_old', outbox_token: { $gt: '' } }))
    .toBe(0)
  const [told, ...more] = await worker.deps.trail.list({ type: 'session.ended', limit: 10 })
  expect(more).toEqual([])
  expect(told?.entry).toMatchObject({ subject: 'ses_old', detail: { reason: 'lapsed' } })
  expect(told?.entry).not.toHaveProperty('account_id')
  await cleanUpNow()
  expect(await worker.stored('sessions').countDocuments({})).toBe(0)
})
