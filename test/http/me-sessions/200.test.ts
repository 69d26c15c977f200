import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { startSession } from '../../../src/flow/people/sessions.ts'
import { ownSessionsAnswer } from '../../../src/http/api/session.ts'
import { alter, newCaller, send, stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/me/sessions'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Another browser of that person. */
async function another(person: EnrolledPerson, userAgent = 'Elsewhere/1.0') {
  const user = await service.composition.deps.users.find(person.userId)
  if (user === undefined) throw new Error('no such person')
  const client = { address: '127.0.0.1', user_agent: userAgent }
  return startSession(service.composition.deps, user, client, 'test')
}

async function listed(person: EnrolledPerson) {
  const body = expectStatus(await person.browser.get(PATH), 200)
  expect(ownSessionsAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  expect(body.next_cursor).toBeNull()
  return ownSessionsAnswer.parse(body).data
}

const who = (credential: { cookie: string } | { token: string }) =>
  'cookie' in credential
    ? send(service, '/api/v1/session', {
        headers: { Cookie: `${cookieName('countersign', service.url)}=${credential.cookie}` },
      })
    : send(service, '/api/v1/session', credential)

async function endings(sessionId: string) {
  const document = await stored(service, 'sessions').findOne({ _id: sessionId })
  const { audit } = Object(document)
  return audit.filter(({ type }: { type: string }) => type === 'session.ended')
}

describe('GET /api/v1/me/sessions', () => {
  it('lists the live sessions, the latest used first, with every field and nothing that could stand for one', async () => {
    const person = await enrolWithPasskey(service, 'list@example.com')
    const { session } = await another(person, 'Phone/2.0 "><script>')
    const idle = await another(person)
    await alter(service, 'sessions', idle.session.id, { last_seen_at: new Date(Date.now() - 13 * 3_600_000) })
    await alter(service, 'sessions', session.id, { last_seen_at: new Date(Date.now() - 3_600_000) })
    const [first, second, ...rest] = await listed(person)
    expect(rest).toEqual([])
    expect(first).toMatchObject({ current: true })
    expect(second).toEqual({
      id: session.id,
      current: false,
      created_at: session.created_at.toISOString(),
      last_seen_at: expect.stringMatching(/Z$/),
      expires_at: session.expires_at.toISOString(),
      user_agent: 'Phone/2.0 "><script>',
    })
  })

  it('lists nobody else’s', async () => {
    const one = await enrolWithPasskey(service, 'one@example.com')
    const two = await enrolWithPasskey(service, 'two@example.com')
    expect(await listed(one)).toHaveLength(1)
    expect((await listed(one))[0]?.id).not.toBe((await listed(two))[0]?.id)
  })

  it('always lists the one that asks, however many were used later', async () => {
    const person = await enrolWithPasskey(service, 'many@example.com')
    const [own] = await listed(person)
    const sample = await stored(service, 'sessions').findOne({ _id: String(own?.id) })
    const { outbox_token: _, ...plain } = Object(sample)
    const later = Array.from({ length: 120 }, (_unused, index) => ({
      ...plain,
      _id: `ses_${String(index).padStart(26, '0')}`,
      token_hash: `hash ${index}`,
      last_seen_at: new Date(Date.now() + 1_000 + index),
    }))
    await stored(service, 'sessions').insertMany(later)
    const found = await listed(person)
    expect(found).toHaveLength(100)
    expect(found.filter(({ current }) => current).map(({ id }) => id)).toEqual([own?.id])
    const { ended } = expectStatus(await person.browser.post(`${PATH}/end-others`, {}), 200)
    expect(ended).toBe(120)
    expect((await listed(person)).map(({ id }) => id)).toEqual([own?.id])
  })
})

describe('ending sessions', () => {
  it('ends one at once, for its cookie and its JWT, and the trail says that its person did', async () => {
    const person = await enrolWithPasskey(service, 'end@example.com')
    const { session, cookie, token } = await another(person)
    expect([(await who({ cookie })).status, (await who({ token })).status]).toEqual([200, 200])
    const answer = await person.browser.post(`${PATH}/${session.id}/end`, {})
    expect(expectStatus(answer, 200)).toEqual({ ok: true })
    for (const credential of [{ cookie }, { token }]) {
      const refused = await who(credential)
      expect([refused.status, refused.body.error]).toEqual([401, 'not_signed_in'])
    }
    expect(await endings(session.id)).toMatchObject([
      { subject: session.id, detail: { reason: 'revoked' }, actor: { kind: 'user', id: person.userId } },
    ])
    expect((await listed(person)).map(({ current }) => current)).toEqual([true])
  })

  it('ends the one that asks, too, and takes its cookie back', async () => {
    const person = await enrolWithPasskey(service, 'self@example.com')
    const [own] = await listed(person)
    expectStatus(await person.browser.post(`${PATH}/${own?.id}/end`, {}), 200)
    expect([...person.browser.cookies.keys()]).not.toContain(cookieName('countersign', service.url))
    expect((await who({ token: person.token })).status).toBe(401)
  })

  it('ends all but the one that asks, and nobody else’s', async () => {
    const person = await enrolWithPasskey(service, 'others@example.com')
    const neighbour = await enrolWithPasskey(service, 'neighbour@example.com')
    const others = [await another(person), await another(person), await another(person)]
    const answer = await person.browser.post(`${PATH}/end-others`, {})
    expect(expectStatus(answer, 200)).toEqual({ ok: true, ended: 3 })
    for (const { session, token } of others) {
      expect((await who({ token })).status).toBe(401)
      expect(await endings(session.id)).toMatchObject([{ detail: { reason: 'revoked' } }])
    }
    expect(await listed(person)).toHaveLength(1)
    expect((await who({ token: neighbour.token })).status).toBe(200)
    const again = await person.browser.post(`${PATH}/end-others`, {})
    expect(expectStatus(again, 200)).toEqual({ ok: true, ended: 0 })
  })

  it('leaves one ending in the trail when two end the same session at once', async () => {
    const person = await enrolWithPasskey(service, 'race@example.com')
    const { session } = await another(person)
    const end = () => person.browser.post(`${PATH}/${session.id}/end`, {})
    const statuses = (await Promise.all([end(), end(), end()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 404, 404])
    expect(await endings(session.id)).toHaveLength(1)
  })
})

describe('who may', () => {
  it('404: malformed, unknown, ended and foreign ids alike', async () => {
    const person = await enrolWithPasskey(service, 'mine@example.com')
    const stranger = await enrolWithPasskey(service, 'stranger@example.com')
    const foreign = await another(stranger)
    const over = await another(person)
    expectStatus(await person.browser.post(`${PATH}/${over.session.id}/end`, {}), 200)
    for (const id of ['x', '%00', `ses_${'0'.repeat(26)}`, over.session.id, foreign.session.id]) {
      const { status, body } = await person.browser.post(`${PATH}/${id}/end`, {})
      expect({ id, status, body }).toEqual({
        id,
        status: 404,
        body: { error: 'not_found', message: expect.any(String) },
      })
    }
    expect((await who({ token: foreign.token })).status).toBe(200)
  })

  it('401: nobody without a session, and no API key', async () => {
    const caller = await newCaller(service)
    for (const headers of [undefined, { authorization: `Bearer ${caller.token}` }])
      for (const [method, path] of [
        ['GET', PATH],
        ['POST', `${PATH}/end-others`],
        ['POST', `${PATH}/ses_${'0'.repeat(26)}/end`],
      ] as const) {
        const answer = await send(service, path, { method, ...(headers && { headers }) })
        expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
      }
  })

  it('T22, 403: not at the bidding of another site', async () => {
    const person = await enrolWithPasskey(service, 'csrf@example.com')
    await another(person)
    for (const options of [{ origin: 'https://evil.example' }, { origin: null }]) {
      const { status, body } = await person.browser.post(`${PATH}/end-others`, {}, options)
      expect([status, body.error]).toEqual([403, 'csrf_refused'])
    }
    expect(await listed(person)).toHaveLength(2)
  })

  it('429: counts against the person', async () => {
    const person = await enrolWithPasskey(service, 'busy@example.com')
    const { headers } = await person.browser.get(PATH)
    const left = Number(headers.get('x-ratelimit-remaining'))
    const answers = await Promise.all(Array.from({ length: left + 1 }, () => person.browser.get(PATH)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.map(({ body }) => body.error)).toEqual(['rate limit exceeded'])
  })
})
