import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { AuditEntry, AuditType } from '../../src/domain/audit.ts'
import type { Webhook } from '../../src/domain/webhook.ts'
import { createWebhookStore } from '../../src/store/delivery/webhooks.ts'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { createOutboxSource } from '../../src/store/mongo/outbox.ts'
import { makeIndexes } from '../../src/store/schema/indexes.ts'
import { databaseUri } from '../support/service.ts'

const START = Date.parse('2026-03-01T10:00:00.000Z')
const at = (seconds: number) => new Date(START + seconds * 1000)

let connection: StoreConnection
let store: ReturnType<typeof createWebhookStore>
let wakes = 0
let made = 0
beforeAll(async () => {
  connection = await connectStore(
    databaseUri(inject('storeUri'), `webhooks_${randomBytes(6).toString('hex')}`),
  )
  store = createWebhookStore(connection, () => {
    wakes += 1
  })
  await makeIndexes(connection)
})
afterAll(async () => {
  await connection.db?.dropDatabase()
  await connection.close()
})

function entry(type: AuditType, subject: string): AuditEntry {
  made += 1
  const actor = { kind: 'user', id: 'usr_a' } as const
  return { eid: `evt_${made}`, type, at: at(made), actor, account_id: 'acc_a', subject }
}

/** A webhook in the store, of an account of its own unless one is named. */
async function inserted(more: Partial<Webhook> = {}): Promise<Webhook> {
  made += 1
  const id = `whk_${made}`
  const webhook: Webhook = {
    id,
    account_id: `acc_${made}`,
    url: 'https://hooks.example.com/in',
    host: 'hooks.example.com',
    events: [],
    state: 'active',
    sealed_secret: `v1.first-of-${id}`,
    created_at: at(made),
    disabled_at: null,
    audit: [entry('webhook.created', id)],
    ...more,
  }
  await store.insert(webhook, 20)
  return (await store.find(id)) ?? webhook
}

/** The types in the trail of a document, and its token. */
async function trail(id: string) {
  const document = await connection
    .collection<{ _id: string; outbox_token?: string; audit: AuditEntry[] }>('webhooks')
    .findOne({ _id: id })
  const audit = document?.audit ?? []
  expect(document?.outbox_token).toBe(audit.at(-1)?.eid)
  return audit.map(({ type }) => type)
}

describe('reading', () => {
  it('gives back what was inserted, and nothing for an unknown id', async () => {
    const webhook = await inserted({ events: ['approval.approved'] })
    expect(webhook).toMatchObject({ account_id: webhook.account_id, events: ['approval.approved'], slot: 0 })
    expect(await store.find(webhook.id)).toEqual(webhook)
    expect(await store.find('whk_none')).toBeUndefined()
  })

  it('lists live ones of the account alone, oldest first', async () => {
    const { id, account_id } = await inserted()
    const disabled = await inserted({ account_id, state: 'disabled', disabled_at: at(0) })
    const older = await inserted({ account_id, created_at: at(-5) })
    await inserted({ account_id, state: 'deleted' })
    await inserted()
    expect((await store.list(account_id)).map((webhook) => webhook.id)).toEqual([older.id, id, disabled.id])
  })

  it('finds the active ones of several accounts', async () => {
    const one = await inserted()
    const two = await inserted()
    await inserted({ account_id: one.account_id, state: 'disabled' })
    await inserted({ account_id: two.account_id, state: 'deleted' })
    await inserted()
    const found = await store.activeOf([one.account_id, two.account_id])
    expect(found.map((webhook) => webhook.id).sort()).toEqual([one.id, two.id].sort())
    expect(await store.activeOf([])).toEqual([])
  })
})

describe('rotating', () => {
  const next = (name: string, replaces: string) => ({
    sealed_secret: `v1.${name}`,
    previous_secret: { sealed: replaces, until: at(86_400) },
  })

  it('names the secret it replaces: of many at once exactly one wins', async () => {
    const { id, account_id, sealed_secret: first } = await inserted()
    const tries = Array.from({ length: 8 }, (_, n) =>
      store.rotate(id, account_id, next(`try-${n}`, first), first, entry('webhook.rotated', id)),
    )
    const won = (await Promise.all(tries)).filter((webhook) => webhook !== undefined)
    expect(won).toHaveLength(1)
    const now = await store.find(id)
    expect(now?.sealed_secret).toBe(won[0]?.sealed_secret)
    expect(now?.previous_secret).toEqual({ sealed: first, until: at(86_400) })
    expect(await trail(id)).toEqual(['webhook.created', 'webhook.rotated'])
  })

  it('does nothing to a deleted one, nor for another account', async () => {
    const { id, account_id, sealed_secret: first } = await inserted()
    const rotate = (account: string) =>
      store.rotate(id, account, next('x', first), first, entry('webhook.rotated', id))
    expect(await rotate('acc_other')).toBeUndefined()
    await store.remove(id, account_id, entry('webhook.deleted', id))
    expect(await rotate(account_id)).toBeUndefined()
    expect(await trail(id)).toEqual(['webhook.created', 'webhook.deleted'])
  })
})

describe('switching off and on', () => {
  it('goes active, disabled, active, each step once and with its entry', async () => {
    const { id, account_id } = await inserted()
    const disable = () => store.disable(id, at(9), entry('webhook.disabled', id))
    const enable = (account = account_id) => store.enable(id, account, entry('webhook.enabled', id))
    expect(await enable()).toBeUndefined()
    expect(await disable()).toBe(true)
    expect(await disable()).toBe(false)
    expect(await store.find(id)).toMatchObject({ state: 'disabled', disabled_at: at(9) })
    expect(await enable('acc_other')).toBeUndefined()
    expect(await enable()).toMatchObject({ state: 'active', disabled_at: null })
    expect(await trail(id)).toEqual(['webhook.created', 'webhook.disabled', 'webhook.enabled'])
  })

  it('never restores a deleted one', async () => {
    const { id, account_id } = await inserted()
    expect(await store.remove(id, 'acc_other', entry('webhook.deleted', id))).toBeUndefined()
    expect(await store.remove(id, account_id, entry('webhook.deleted', id))).toMatchObject({
      state: 'deleted',
      sealed_secret: '',
    })
    expect(await store.remove(id, account_id, entry('webhook.deleted', id))).toBeUndefined()
    expect(await store.enable(id, account_id, entry('webhook.enabled', id))).toBeUndefined()
    expect(await store.disable(id, at(9), entry('webhook.disabled', id))).toBe(false)
    expect((await store.find(id))?.state).toBe('deleted')
  })
})

describe('the outbox entry', () => {
  it('of every write is told to the relay, and settled once', async () => {
    const source = createOutboxSource(connection, 'Webhook')
    await source.settle(await source.due(100))
    const before = wakes
    const { id, account_id } = await inserted()
    await store.addAudit(id, entry('webhook.tested', id))
    await store.remove(id, account_id, entry('webhook.deleted', id))
    expect(wakes - before).toBe(3)
    const [left, ...more] = await source.due(100)
    expect(more).toEqual([])
    expect(left).toMatchObject({ id, account_id, events: [] })
    expect(left?.audit.map(({ type }) => type)).toEqual([
      'webhook.created',
      'webhook.tested',
      'webhook.deleted',
    ])
    await source.settle(left === undefined ? [] : [left])
    expect(await source.due(100)).toEqual([])
    expect(await store.find(id)).toMatchObject({ state: 'deleted', audit: [] })
  })
})
