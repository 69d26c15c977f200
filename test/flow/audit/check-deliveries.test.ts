import { expect, it, onTestFinished } from 'vitest'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { alter, newCaller, stored } from '../../support/caller.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { startReceiver } from '../../support/receiver.ts'
import { useService } from '../../support/service.ts'
import { webhookOwnerWith } from '../../support/webhook-owner.ts'

it('T86: webhooks and deliveries in every final state have their entries, and a state without one is found', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.behave(({ path }) => ({ kind: 'answer', status: path === '/gone' ? 410 : 200 }))
  const service = await useService({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  const { deps, connection } = service.composition
  const check = () =>
    checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
  // Enrolled over HTTP: a factor that a test has put into the store would be one that the trail does not tell of.
  const { userId, token } = await enrolWithPasskey(service, 'owner@example.com')
  const user = (await deps.users.find(userId)) ?? expect.unreachable()
  const owner = webhookOwnerWith(service, user, token)
  const good = await owner.made(receiver.url('/good'))
  const gone = await owner.made(receiver.url('/gone'))
  const caller = await newCaller(service, { user: owner.user })
  await caller.createdId()
  const states = async (name: string) =>
    (await stored(service, name).find({}).toArray()).map(({ state }) => state).sort()
  await expect.poll(() => states('webhooks')).toEqual(['active', 'disabled'])
  await owner.call('DELETE', good.path)
  // Nothing waits, so all news has become deliveries, and these are over: from now on nothing happens by itself.
  const atRest = async () => {
    const { waiting } = await check()
    const found = new Set(await states('deliveries'))
    return {
      waiting,
      open: found.has('due') || found.has('leased'),
      found: ['dead', 'delivered'].filter((state) => found.has(state)),
    }
  }
  await expect.poll(atRest).toEqual({ waiting: 0, open: false, found: ['dead', 'delivered'] })
  expect(await check()).toMatchObject({ findings: [], waiting: 0 })

  const about = async (set: Record<string, unknown>) => {
    await alter(service, 'webhooks', good.id, set)
    return (await check()).findings
  }
  expect(await about({ state: 'active' })).toMatchObject([
    { code: 'contradicted', collection: 'webhooks', id: good.id, type: 'webhook.deleted' },
  ])
  expect(await about({ state: 'deleted' })).toEqual([])
  const lost = Object(await stored(service, 'webhooks').findOne({ _id: gone.id }))
  await stored(service, 'webhooks').deleteOne({ _id: gone.id })
  expect((await check()).findings).toMatchObject([
    { code: 'vanished', collection: 'webhooks', id: gone.id, type: 'webhook.created' },
  ])
  await stored(service, 'webhooks').insertOne(lost)
  const [delivered] = await stored(service, 'deliveries').find({ state: 'delivered' }).toArray()
  await alter(service, 'deliveries', String(delivered?._id), { state: 'dropped' })
  expect((await check()).findings).toEqual([
    { code: 'not_told', collection: 'deliveries', id: delivered?._id, type: 'delivery.dropped' },
  ])
})
