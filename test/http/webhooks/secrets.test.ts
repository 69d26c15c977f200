import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller } from '../../support/caller.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, WEBHOOKS_PATH } from '../../support/webhook-owner.ts'

const DAY_MS = 24 * 3_600_000

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

/** What arrived last at that path, as the `standardwebhooks` library sees it with that secret. */
function verified(path: string, secret: string): unknown {
  const delivery = receiver.received.filter((arrival) => arrival.path === path).at(-1)
  if (delivery === undefined) throw new Error(`nothing arrived at ${path}`)
  const headers = Object.fromEntries(
    Object.entries(delivery.headers).map(([name, value]) => [name, String(value)]),
  )
  const library = new Webhook(`whsec_${Buffer.from(secret, 'ascii').toString('base64')}`)
  return library.verify(delivery.body, headers)
}

describe('rotation', () => {
  it('gives a new secret and says how long the old one signs too', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { id, path, secret } = await made(receiver.url('/rotated'))
    const { status, body, headers } = await call('POST', `${path}/rotate`)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      webhook: expect.objectContaining({
        id,
        previous_secret_valid_until: body.previous_secret_valid_until,
      }),
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      previous_secret_valid_until: expect.any(String),
    })
    expect(body.secret).not.toBe(secret)
    const left = Date.parse(String(body.previous_secret_valid_until)) - Date.now()
    expect(Math.abs(left - DAY_MS)).toBeLessThan(10_000)
  })

  it('signs with both for 24 hours, and then with the new one alone', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { id, path, secret: first } = await made(receiver.url('/both'))
    const test = async () => expect((await call('POST', `${path}/test`)).body.state).toBe('delivered')
    const data = { type: 'webhook.test', data: { webhook_id: id } }
    await test()
    expect(verified('/both', first)).toMatchObject(data)

    const second = String((await call('POST', `${path}/rotate`)).body.secret)
    await test()
    expect(verified('/both', first)).toMatchObject(data)
    expect(verified('/both', second)).toMatchObject(data)
    const signatures = String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ')
    expect(signatures).toHaveLength(2)
    // The interface's own header has room for one signature: the current secret's.
    receiver.trust('/both', second)
    await test()
    expect(receiver.received.at(-1)?.signed).toEqual({ service: true, standard: true })

    const third = String((await call('POST', `${path}/rotate`)).body.secret)
    await test()
    expect(() => verified('/both', first)).toThrow(WebhookVerificationError)
    expect(verified('/both', second)).toMatchObject(data)
    expect(verified('/both', third)).toMatchObject(data)
  })

  it('ends the old secret when its time is over', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { id, path, secret: first } = await made(receiver.url('/ended'))
    const second = String((await call('POST', `${path}/rotate`)).body.secret)
    const { webhooks } = service.composition.deps
    const ends = (await webhooks.find(id))?.previous_secret?.until.getTime() ?? 0
    const collection = service.composition.connection.collection<{ _id: string }>('webhooks')
    await collection.updateOne({ _id: id }, { $set: { 'previous_secret.until': new Date(ends - DAY_MS) } })
    await call('POST', `${path}/test`)
    expect(() => verified('/ended', first)).toThrow(WebhookVerificationError)
    expect(verified('/ended', second)).toMatchObject({ type: 'webhook.test' })
    const [listed] = Array.from(Object((await call('GET', WEBHOOKS_PATH)).body.data), Object)
    expect(listed).toMatchObject({ id, previous_secret_valid_until: null })
  })

  it('lets one of several at once win; the others are told, and the old secret goes on signing', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { path, secret: first } = await made(receiver.url('/race'))
    const answers = await Promise.all(Array.from({ length: 6 }, () => call('POST', `${path}/rotate`)))
    const won = answers.filter(({ status }) => status === 200)
    const lost = answers.filter(({ status }) => status !== 200)
    expect(won.length).toBeGreaterThan(0)
    for (const answer of lost) {
      expect(answer.status).toBe(409)
      expect(answer.body).toEqual({
        error: 'webhook_rotated',
        message:
          'Someone else rotated the secret at the same moment; get the new one from them, or rotate again.',
      })
    }
    await call('POST', `${path}/test`)
    const works = won.filter(({ body }) => {
      try {
        return verified('/race', String(body.secret)) !== undefined
      } catch {
        return false
      }
    })
    // Calls that happened to run one after the other are rotations in a row: the last two secrets sign.
    expect(works).toHaveLength(Math.min(won.length, 2))
    if (won.length === 1) expect(verified('/race', first)).toMatchObject({ type: 'webhook.test' })
  })
})

describe('secrets', () => {
  it('T28: stand nowhere in the store, sealed only, and open for their own webhook alone', async () => {
    const { made, call } = await newWebhookOwner(service)
    const one = await made(receiver.url('/dump'))
    const second = String((await call('POST', `${one.path}/rotate`)).body.secret)
    await call('POST', `${one.path}/test`)
    const dump = await wholeStore()
    const { deps } = service.composition
    const record = await deps.webhooks.find(one.id)
    for (const secret of [one.secret, second]) {
      expect(dump).not.toContain(secret)
      expect(dump).not.toContain(Buffer.from(secret, 'ascii').toString('base64'))
      expect(dump).not.toContain(Buffer.from(secret, 'hex').toString('base64'))
    }
    expect(dump).toContain(record?.sealed_secret)
    const opened = deps.vault.open(record?.sealed_secret ?? '', one.id)
    expect(Buffer.from(opened).toString('ascii')).toBe(second)
    expect(() => deps.vault.open(record?.sealed_secret ?? '', `whk_${'0'.repeat(26)}`)).toThrow(
      'does not open',
    )
  })

  it('stand in no answer but the two that show them, and in no log line', async () => {
    const owner = await newWebhookOwner(service)
    const { path, secret } = await owner.made(receiver.url('/quiet'))
    const second = String((await owner.call('POST', `${path}/rotate`)).body.secret)
    const caller = await newCaller(service, { user: owner.user })
    const answers = [
      await owner.call('POST', `${path}/test`),
      await owner.call('GET', WEBHOOKS_PATH),
      await owner.call('GET', `${path}/deliveries`),
      await owner.call('POST', `${path}/enable`),
      await owner.call('GET', '/api/v1/account/webhook-secret'),
      await caller.send('/api/v1/account/webhook-secret'),
      await owner.call('DELETE', path),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const log = JSON.stringify(service.logged)
    expect(log).toContain('/api/v1/account/webhooks')
    for (const shown of [secret, second]) {
      for (const { text } of answers) expect(text).not.toContain(shown)
      expect(log).not.toContain(shown)
    }
    for (const { text } of answers) expect(text).not.toMatch(/sealed|v1\.[A-Za-z0-9_-]{16}\./)
  })
})

/** Every document of every collection, as text. */
async function wholeStore(): Promise<string> {
  const { db } = service.composition.connection
  const collections = (await db?.listCollections().toArray()) ?? []
  const documents = await Promise.all(
    collections.map(({ name }) => db?.collection(name).find({}).toArray() ?? []),
  )
  expect(documents.flat().length).toBeGreaterThan(5)
  return JSON.stringify(documents)
}
