import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { drawId } from '../../../src/domain/identifier.ts'
import type { Delivery } from '../../../src/domain/webhook.ts'
import type { FlowDeps } from '../../../src/flow/deps.ts'
import type { Owner } from '../../../src/flow/people/accounts.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { replayDelivery } from '../../../src/flow/webhooks/delivery-log.ts'
import {
  createWebhook,
  deleteWebhook,
  enableWebhook,
  rotateWebhook,
} from '../../../src/flow/webhooks/manage-webhooks.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const owner: Owner = { accountId: 'acc_a', actor: { kind: 'user', id: 'usr_a' } }

/** A webhook, and verbs that saw it as it was before somebody else came first. */
async function outdated() {
  const { deps } = service.composition
  const { webhook } = await createWebhook(deps, owner, { url: 'https://hooks.example.com/' })
  const before = await deps.webhooks.find(webhook.id)
  let reads = 0
  const find: FlowDeps['webhooks']['find'] = async (id) => {
    reads += 1
    return reads === 1 ? before : deps.webhooks.find(id)
  }
  return { deps, id: webhook.id, late: { ...deps, webhooks: { ...deps.webhooks, find } } }
}

/** A delivery to that webhook that rests. */
async function givenUp(webhook_id: string): Promise<Delivery> {
  const { deps } = service.composition
  const at = deps.clock.now()
  const delivery: Delivery = {
    id: drawId(deps, 'dlv'),
    account_id: owner.accountId,
    target: { kind: 'webhook', webhook_id },
    event_id: drawId(deps, 'evt'),
    event_type: 'key.created',
    url: 'https://hooks.example.com/',
    host: 'hooks.example.com',
    body: '{}',
    state: 'dead',
    next_at: at,
    tries: 5,
    fence: 5,
    attempts: [],
    created_at: at,
    outbox: [],
    audit: [],
  }
  await deps.deliveries.insertNew([delivery])
  return delivery
}

describe('a replay', () => {
  it('wakes the sender at once, though nothing new was inserted; other changes do not', async () => {
    const { deps, id } = await outdated()
    const delivery = await givenUp(id)
    let woken = 0
    const wake = () => {
      woken += 1
    }
    const relay = createRelay(deps, { ...NO_LOOPS, deliveries: { ...NO_LOOPS.deliveries, wake } })
    await relay.run()
    expect(woken).toBe(0)
    await rotateWebhook(deps, owner, id)
    await relay.run()
    expect(woken).toBe(0)
    await replayDelivery(deps, owner, delivery.id)
    await relay.run()
    expect(woken).toBe(1)
  })
})

describe('whoever comes second', () => {
  it('rotates nothing: the secret of the first rotation stays, and so does the one before it', async () => {
    const { deps, id, late } = await outdated()
    await rotateWebhook(deps, owner, id)
    const stored = await deps.webhooks.find(id)
    await expect(rotateWebhook(late, owner, id)).rejects.toMatchObject({
      code: 'webhook_rotated',
      status: 409,
    })
    expect(await deps.webhooks.find(id)).toEqual(stored)
  })

  it.each([
    ['rotate', rotateWebhook],
    ['delete', deleteWebhook],
    ['switch on', enableWebhook],
  ])('cannot %s what was deleted meanwhile', async (_name, verb) => {
    const { deps, id, late } = await outdated()
    await deleteWebhook(deps, owner, id)
    await expect(verb(late, owner, id)).rejects.toMatchObject({ code: 'not_found', status: 404 })
    expect(await deps.webhooks.find(id)).toMatchObject({ state: 'deleted', sealed_secret: '' })
  })

  it('does not replay what was taken up meanwhile', async () => {
    const { deps, id } = await outdated()
    const delivery = await givenUp(id)
    const late = { ...deps, deliveries: { ...deps.deliveries, find: async () => delivery } }
    expect(await replayDelivery(deps, owner, delivery.id)).toMatchObject({ state: 'due', tries: 0 })
    await expect(replayDelivery(late, owner, delivery.id)).rejects.toMatchObject({
      code: 'delivery_in_progress',
      status: 409,
    })
  })
})
