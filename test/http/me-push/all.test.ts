import { createECDH, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { auditOf } from '../../support/audit.ts'
import { stored } from '../../support/caller.ts'
import { answerSchema } from '../../support/documented.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { type Answer, createHttpClient } from '../../support/http-client.ts'
import { enrolByLink } from '../../support/invited.ts'
import { type PushService, startPushService } from '../../support/push-service.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/me/push'
/** The right length and form, but on no curve. */
const NO_POINT = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]).toString('base64url')
const TIME = expect.stringMatching(/^\d{4}-.*Z$/)

let service: TestService
let push: PushService
let people = 0
beforeAll(async () => {
  push = await startPushService()
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1', TRUST_PROXY: '1' } })
})
afterAll(async () => {
  await service.close()
  await push.close()
})

async function somebody(): Promise<EnrolledPerson> {
  people += 1
  return enrolWithPasskey(service, `pushed${people}@example.com`)
}

/** The answer is what the document says. */
function expectDocumented(method: 'get' | 'post', path: string, { status, body }: Answer): void {
  answerSchema(method, path, status).parse(body)
}

const list = async (person: EnrolledPerson) => (await person.browser.get(PATH)).body
const subscribe = async (person: EnrolledPerson) => push.subscribe((await list(person)).public_key)

describe('GET and POST /api/v1/me/push', () => {
  it('registers a browser, and never shows its subscription again', async () => {
    const person = await somebody()
    const browser = await subscribe(person)
    const answer = await person.browser.post(PATH, {
      subscription: browser.subscription,
      name: ' My laptop ',
    })
    expect(answer.status).toBe(201)
    expectDocumented('post', PATH, answer)
    const device = {
      id: expect.stringMatching(/^psd_/),
      name: 'My laptop',
      created_at: TIME,
      last_sent_at: null,
    }
    expect(answer.body).toEqual({ device })
    const all = await person.browser.get(PATH)
    expect(all.status).toBe(200)
    expectDocumented('get', PATH, all)
    expect(all.body).toEqual({ public_key: expect.stringMatching(/^B[\w-]{86}$/), devices: [device] })
    const document = JSON.stringify(
      await stored(service, 'push_devices').findOne({ _id: answer.body.device.id }),
    )
    const { endpoint, keys } = browser.subscription
    for (const secret of [endpoint, keys.p256dh, keys.auth]) expect(document).not.toContain(secret)
  })

  it('knows a browser again: its name is renewed, and there is one', async () => {
    const person = await somebody()
    const { subscription } = await subscribe(person)
    const first = await person.browser.post(PATH, { subscription, name: 'old' })
    const again = await person.browser.post(PATH, { subscription, name: 'new' })
    expect(again.status).toBe(201)
    expect(again.body.device).toEqual({ ...first.body.device, name: 'new' })
    expect((await list(person)).devices).toHaveLength(1)
  })

  it('a browser that somebody else signs in on shows theirs alone', async () => {
    const [before, after] = [await somebody(), await somebody()]
    const { subscription } = await subscribe(before)
    const first = await before.browser.post(PATH, { subscription, name: 'shared' })
    await after.browser.post(PATH, { subscription, name: 'shared' })
    expect((await list(before)).devices).toEqual([])
    expect((await list(after)).devices).toHaveLength(1)
    const told = async ({ browser }: EnrolledPerson) => (await browser.get('/api/v1/me/next-steps')).body.told
    expect([await told(before), await told(after)]).toEqual([false, true])
    const left = await stored(service, 'push_devices').findOne({ _id: first.body.device.id })
    expect(left).toMatchObject({ state: 'removed', user_id: before.userId })
    expect(left).not.toHaveProperty('sealed')
  })

  it('a browser that two people register at once shows those of one', async () => {
    const both = [await somebody(), await somebody()] as const
    const { subscription } = await subscribe(both[0])
    const answers = await Promise.all(
      both.map(({ browser }) => browser.post(PATH, { subscription, name: 'shared' })),
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    const lists = await Promise.all(both.map(list))
    expect(lists.flatMap(({ devices }) => devices)).toHaveLength(1)
  })

  it('takes ten of a person, also when twelve come at once', async () => {
    const person = await somebody()
    const key = (await list(person)).public_key
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        person.browser.post(PATH, { subscription: push.subscribe(key).subscription, name: `b${n}` }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 201), 409, 409])
    expect(answers.find(({ status }) => status === 409)?.body).toEqual({
      error: 'push_device_limit',
      message: 'You have reached the limit of 10 browsers that show notifications; remove one first.',
    })
    const { devices } = await list(person)
    expect(devices).toHaveLength(10)
    expect((await person.browser.post(`${PATH}/${devices[3].id}/remove`, {})).status).toBe(200)
    const { subscription } = push.subscribe(key)
    expect((await person.browser.post(PATH, { subscription, name: 'eleventh' })).status).toBe(201)
  })

  it.each([
    ['subscription.endpoint', 'must be an https: URL', { endpoint: 'ftp://push.example.net/x' }],
    [
      'subscription.endpoint',
      'must not contain a user name',
      { endpoint: 'https://user:pw@push.example.net/x' },
    ],
    ['subscription.endpoint', 'is too long', { endpoint: `https://push.example.net/${'x'.repeat(2048)}` }],
    ['subscription.keys.p256dh', 'must be 65 bytes in base64url', { keys: { p256dh: 'AAAA' } }],
    ['subscription.keys.p256dh', 'must be a point on the curve P-256', { keys: { p256dh: NO_POINT } }],
    ['subscription.keys.auth', 'must be 16 bytes in base64url', { keys: { auth: 'AAAA' } }],
  ])('refuses a wrong %s: %s', async (field, detail, change) => {
    const person = await somebody()
    const good = (await subscribe(person)).subscription
    const subscription = { ...good, ...change, keys: { ...good.keys, ...Object(change).keys } }
    const answer = await person.browser.post(PATH, { subscription, name: 'x' })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field })
    expect(answer.body.detail).toContain(detail)
    expectDocumented('post', PATH, answer)
  })

  it('T11: refuses an endpoint at this very service', async () => {
    const person = await somebody()
    const good = (await subscribe(person)).subscription
    const answer = await person.browser.post(PATH, {
      subscription: { ...good, endpoint: `${service.url}/api/v1/x` },
      name: 'x',
    })
    expect([answer.status, answer.body.detail]).toEqual([400, 'must not point to this service'])
  })

  it.each([
    ['http://push.example.net/x', 'must be an https: URL'],
    ['https://127.0.0.1/x', 'must not be a private or reserved address'],
    ['https://push.internal/x', 'must name a host of the public internet'],
  ])('T1: without CALLBACK_ALLOW_PRIVATE refuses %s, as for webhooks', async (endpoint, detail) => {
    const strict = await startService()
    try {
      const person = await enrolWithPasskey(strict, 'strict@example.com')
      const ecdh = createECDH('prime256v1')
      ecdh.generateKeys()
      const keys = {
        p256dh: ecdh.getPublicKey().toString('base64url'),
        auth: randomBytes(16).toString('base64url'),
      }
      const answer = await person.browser.post(PATH, { subscription: { endpoint, keys }, name: 'x' })
      expect(answer.status).toBe(400)
      expect(answer.body.detail).toContain(detail)
    } finally {
      await strict.close()
    }
  })

  it('is for signed-in people on our own pages', async () => {
    const stranger = createHttpClient(service.url)
    expect((await stranger.get(PATH)).body.error).toBe('not_signed_in')
    const person = await somebody()
    const { subscription } = await subscribe(person)
    const foreign = await person.browser.post(
      PATH,
      { subscription, name: 'x' },
      { origin: 'https://evil.example' },
    )
    expect([foreign.status, foreign.body.error]).toEqual([403, 'csrf_refused'])
  })
})

describe('POST /api/v1/me/push/:id/remove and …/test', () => {
  it('a test is sent at once, and says what the push service said', async () => {
    const person = await somebody()
    const browser = await subscribe(person)
    const { device } = (await person.browser.post(PATH, { subscription: browser.subscription, name: 'x' }))
      .body
    const answer = await person.browser.post(`${PATH}/${device.id}/test`, {})
    expect([answer.status, answer.body]).toEqual([200, { ok: true, sent: true }])
    expectDocumented('post', `${PATH}/{id}/test`, answer)
    expect(browser.messages.map(({ payload }) => payload)).toEqual([
      {
        title: 'Notifications work',
        body: 'Your pending requests will be shown like this.',
        url: '/account',
        tag: 'test',
      },
    ])
    expect((await list(person)).devices[0].last_sent_at).toEqual(TIME)
    push.behave(() => ({ status: 503 }))
    expect((await person.browser.post(`${PATH}/${device.id}/test`, {})).body).toEqual({
      ok: true,
      sent: false,
    })
    push.behave(() => undefined)
    expect(browser.answers).toEqual([201, 503])
  })

  it('T9: five tests of one person a minute reach the push service, over all their browsers', async () => {
    const [person, other] = [await somebody(), await somebody()]
    const [one, two] = [await subscribe(person), await subscribe(person)]
    const ids: string[] = []
    for (const { subscription } of [one, two])
      ids.push((await person.browser.post(PATH, { subscription, name: 'x' })).body.device.id)
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => person.browser.post(`${PATH}/${ids[n % 2]}/test`, {})),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body).toMatchObject({ error: 'rate limit exceeded', retry_after: expect.any(Number) })
    expect([...one.answers, ...two.answers]).toEqual(Array(5).fill(201))
    expect((await person.browser.get(PATH)).status).toBe(200)
    const third = await subscribe(other)
    const body = { subscription: third.subscription, name: 'x' }
    const { device } = (await other.browser.post(PATH, body)).body
    expect((await other.browser.post(`${PATH}/${device.id}/test`, {})).status).toBe(200)
  })

  it.each([
    ['signed in by it', false],
    ['also if the service stops right after the write', true],
  ])(
    'T23: who enrols anew by a link of the operator has no browser of an intruder, %s',
    async (_when, stops) => {
      const person = await somebody()
      const [intruder, bystander] = [await subscribe(person), await somebody()]
      const theirs = await subscribe(bystander)
      await bystander.browser.post(PATH, { subscription: theirs.subscription, name: 'kept' })
      const added = await person.browser.post(PATH, { subscription: intruder.subscription, name: 'x' })
      const { id } = added.body.device
      const { link } = await renewInvitation(
        service.composition.deps,
        { email: person.email },
        { kind: 'cli' },
      )
      const { pushDevices, sessions } = service.composition.deps
      const { endAllOf } = sessions
      if (stops) sessions.endAllOf = () => Promise.reject(new Error('the service stops'))
      const back = enrolByLink(service, link.url).finally(() => Object.assign(sessions, { endAllOf }))
      if (stops) await expect(back).rejects.toThrow('500')
      else expect((await list(await back)).devices).toEqual([])
      expect(await pushDevices.activeOf([person.userId])).toEqual([])
      expect((await list(bystander)).devices).toHaveLength(1)
      const removed = (await auditOf(service, { subject: id })).find(
        ({ type }) => type === 'push.device_removed',
      )
      expect(removed).toMatchObject({
        actor: { kind: 'user', id: person.userId },
        detail: { user_id: person.userId, reason: 'enrolled_again' },
      })
      const enrolled = (await auditOf(service, { subject: person.userId })).filter(
        ({ type }) => type === 'user.enrolled',
      )
      expect(enrolled.map(({ detail }) => detail?.again)).toEqual([undefined, true])
    },
  )

  it('a removed browser gets nothing more and is in no list', async () => {
    const person = await somebody()
    const browser = await subscribe(person)
    const { device } = (await person.browser.post(PATH, { subscription: browser.subscription, name: 'x' }))
      .body
    const answer = await person.browser.post(`${PATH}/${device.id}/remove`, {})
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    expectDocumented('post', `${PATH}/{id}/remove`, answer)
    expect((await list(person)).devices).toEqual([])
    for (const verb of ['remove', 'test']) {
      const again = await person.browser.post(`${PATH}/${device.id}/${verb}`, {})
      expect([again.status, again.body.error]).toEqual([404, 'not_found'])
    }
    expect(browser.answers).toEqual([])
  })

  it('T55: another person’s, an unknown and a malformed id answer alike', async () => {
    const [person, other] = [await somebody(), await somebody()]
    const browser = await subscribe(other)
    const { device } = (await other.browser.post(PATH, { subscription: browser.subscription, name: 'x' }))
      .body
    for (const id of [device.id, `psd_${'0'.repeat(26)}`, '$ne', 'x']) {
      for (const verb of ['remove', 'test']) {
        const answer = await person.browser.post(`${PATH}/${id}/${verb}`, {})
        expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
      }
    }
    expect((await list(other)).devices).toHaveLength(1)
  })
})
