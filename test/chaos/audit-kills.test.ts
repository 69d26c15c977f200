import { expect, it } from 'vitest'
import { auditGaps, chainFlaw } from '../support/chaos-audit.ts'
import { addProgram, enrolFleetOwner, signInInChaos } from '../support/chaos-clients.ts'
import { killSomebodyAt, useFleet } from '../support/chaos-fleet.ts'
import { readLedger, untilSettled, useDatabase } from '../support/chaos-ledger.ts'
import { sets } from '../support/chaos-points.ts'
import { cli } from '../support/cli.ts'
import { expectStatus } from '../support/enrolled.ts'
import { size } from '../support/size.ts'
import type { Trap } from '../support/store-proxy.ts'

/** By then a process has come to a point, also on a busy machine. */
const WAIT_MS = 120_000
/** What was written and never told of is the worse of the two, so it is looked for in either size. */
const SIDES = (['after', 'before'] as const).slice(0, size(1, 2))

it(`T86: killed ${SIDES.join(' and ')} each kind of write, keys, webhooks, sessions and requests are told of exactly as they are`, async () => {
  const fleet = await useFleet()
  const owner = await enrolFleetOwner(fleet)
  await fleet.growTo(2)
  const live = await addProgram(fleet, owner, false)
  const dryRun = await addProgram(fleet, owner, true)
  const account = '/api/v1/account'
  const made = async (path: string, body: object) => expectStatus(await owner.post(path, body), 201)
  const newKey = () => made(`${account}/api-keys`, { name: 'short-lived' })
  const newWebhook = () =>
    made(`${account}/webhooks`, { url: 'http://127.0.0.1:9/', events: ['key.revoked'] })
  const pending = async (): Promise<string> =>
    expectStatus(await live.post('/api/v1/approvals/request', { action: 'Wait' }), 201).id
  const approved = async (): Promise<string> => {
    const body = { action: 'Go', sandbox_auto_decide_seconds: 0 }
    const { request_id: id } = expectStatus(await dryRun.post('/api/v1/approvals/request', body), 201)
    // Due at once by the clock of whoever made it; another process may be some milliseconds behind.
    const { status } = expectStatus(await dryRun.get(`/api/v1/approvals/${id}/wait?timeout=20`), 200)
    expect(status).toBe('approved')
    return id
  }

  /** The write to be killed at, and what makes a process write it; whatever comes first is prepared in between. */
  const changes: [Omit<Trap, 'side'>, () => Promise<() => Promise<unknown>>][] = [
    [{ command: 'insert', collection: 'api_keys' }, async () => newKey],
    [
      { command: 'findAndModify', collection: 'api_keys', where: sets('revoked_at') },
      async () => {
        const { key } = await newKey()
        return () => owner.delete(`${account}/api-keys/${key.id}`)
      },
    ],
    [{ command: 'insert', collection: 'webhooks' }, async () => newWebhook],
    [
      { command: 'findAndModify', collection: 'webhooks', where: sets('sealed_secret') },
      async () => {
        const { webhook } = await newWebhook()
        return () => owner.post(`${account}/webhooks/${webhook.id}/rotate`, {})
      },
    ],
    [
      { command: 'findAndModify', collection: 'webhooks', where: sets('state', 'deleted') },
      async () => {
        const { webhook } = await newWebhook()
        return () => owner.delete(`${account}/webhooks/${webhook.id}`)
      },
    ],
    [{ command: 'insert', collection: 'requests' }, async () => pending],
    [
      { command: 'findAndModify', collection: 'requests', where: sets('cancelled') },
      async () => {
        const id = await pending()
        return () => live.post(`/api/v1/approvals/${id}/cancel`, {})
      },
    ],
    [
      { command: 'findAndModify', collection: 'requests', where: sets('reminded_at') },
      async () => {
        const id = await pending()
        return () => live.post(`/api/v1/approvals/${id}/remind`, {})
      },
    ],
    [
      { command: 'findAndModify', collection: 'requests', where: sets('consumed_at') },
      async () => {
        const id = await approved()
        return () => dryRun.post(`/api/v1/approvals/${id}/consume`, {})
      },
    ],
    [{ command: 'insert', collection: 'sessions' }, async () => () => signInInChaos(fleet, owner)],
    [
      { command: 'update', collection: 'sessions', where: sets('ended_at') },
      async () => {
        await signInInChaos(fleet, owner)
        return () => owner.delete('/api/v1/session')
      },
    ],
  ]
  for (const [write, prepare] of changes) {
    for (const side of SIDES) {
      const act = await prepare()
      const killed = killSomebodyAt(fleet, { ...write, side }, WAIT_MS)
      await Promise.all([act(), killed]).catch((cause) => {
        throw new Error(`${side} ${write.command} ${write.collection}`, { cause })
      })
    }
  }

  const database = await useDatabase(fleet.storeUri)
  await untilSettled(database)
  const ledger = await readLedger(database)
  expect(fleet.crashes).toEqual([])
  expect(fleet.kills()).toBe(SIDES.length * changes.length)
  expect(auditGaps(ledger)).toEqual([])
  expect(chainFlaw(ledger)).toBe(undefined)
  const told = new Set(ledger.trail.map(({ entry }) => entry?.type))
  for (const type of ['key.revoked', 'webhook.rotated', 'webhook.deleted', 'session.ended'] as const)
    expect(told).toContain(type)
  for (const type of ['cancelled', 'reminded', 'consumed'] as const)
    expect(told).toContain(`approval.${type}`)
  const checked = await cli(['audit', 'check', '--json'], { env: fleet.env })
  expect({ code: checked.code, stderr: checked.stderr }).toEqual({ code: 0, stderr: '' })
  expect(checked.json()).toMatchObject({ ok: true, records: ledger.trail.length, waiting: 0 })
})
