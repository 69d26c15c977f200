import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditOf } from '../../support/audit.ts'
import { stored } from '../../support/caller.ts'
import { askFor, newSpeaker, say } from '../../support/chat-speaker.ts'
import { codeAt, enrolWithTotp } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

const LOOK = '/api/v1/chat-links/look'
const USE = '/api/v1/chat-links/use'
const INVALID = {
  error: 'chat_link_invalid',
  message: 'This link has expired, was already used or is incomplete; ask for a new one in chat.',
}
const UNKNOWN = {
  error: 'unknown_browser',
  message:
    'Codes sign you in only in a browser where you signed up before. Use a passkey, or ask the owner who invited you, or the operator of this service, for a new sign-in link.',
}

let service: TestService
let later = 0
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => Date.now() + later })
})
afterAll(() => service.close())

const now = () => service.composition.deps.clock.now()

/** Somebody with codes who has linked an identity. */
async function linkedWithCodes() {
  people += 1
  const person = await enrolWithTotp(service, `person${people}@example.com`)
  const speaker = newSpeaker()
  const token = await askFor(service, speaker, 'link')
  const proof = { totp: nextCode(person.secret) }
  const linked = await person.browser.post(USE, { token, proof })
  expect(linked.status).toBe(200)
  return { person, speaker }
}

/** A code that was not used yet. */
function nextCode(secret: string): string {
  later += 60_000
  return codeAt(secret, now())
}

describe('a link for a browser', () => {
  it('T15: makes the browser known, where a code then signs in, and signs nobody in by itself', async () => {
    const { person, speaker } = await linkedWithCodes()
    const { email, secret } = person
    const browser = createHttpClient(service.url)
    const before = await browser.post('/api/v1/session/totp', { email, code: nextCode(secret) })
    expect([before.status, before.body]).toEqual([403, UNKNOWN])
    const token = await askFor(service, speaker, 'browser')
    const seen = await browser.post(LOOK, { token })
    expect(seen.body).toMatchObject({ kind: 'browser', person: speaker.shown_as.person })
    const answer = await browser.post(USE, { token })
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    const [cookie] = answer.headers.getSetCookie()
    expect(cookie).toMatch(
      /^countersign-device-\d+=[A-Za-z0-9_-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(answer.headers.getSetCookie()).toHaveLength(1)
    expect((await browser.get('/api/v1/session')).status).toBe(401)
    const signedIn = await browser.post('/api/v1/session/totp', { email, code: nextCode(secret) })
    expect(signedIn.status).toBe(200)
    expect(signedIn.body.user.id).toBe(person.userId)
    expect(await auditOf(service, { type: 'chat.browser_known', subject: person.userId })).toMatchObject([
      { actor: { kind: 'chat', id: `slack:T1:${speaker.identity.user}`, address: expect.any(String) } },
    ])
  })

  it('404: counts once, also in two browsers at once', async () => {
    const { person, speaker } = await linkedWithCodes()
    const token = await askFor(service, speaker, 'browser')
    const browsers = [createHttpClient(service.url), createHttpClient(service.url)]
    const answers = await Promise.all(browsers.map((browser) => browser.post(USE, { token })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    const lost = answers.find(({ status }) => status === 404)
    expect(lost?.body).toEqual(INVALID)
    expect(lost?.headers.getSetCookie()).toEqual([])
    const again = await createHttpClient(service.url).post(USE, { token })
    expect([again.status, again.body]).toEqual([404, INVALID])
    expect((await service.composition.deps.users.find(person.userId))?.devices).toHaveLength(2)
  })

  it('404: is worth nothing once the identity was unlinked, or linked by somebody else', async () => {
    const one = await linkedWithCodes()
    const token = await askFor(service, one.speaker, 'browser')
    await say(service, one.speaker, 'unlink')
    const browser = createHttpClient(service.url)
    for (const path of [LOOK, USE]) {
      const answer = await browser.post(path, { token })
      expect([answer.status, answer.body]).toEqual([404, INVALID])
    }
    const two = await linkedWithCodes()
    const { users } = service.composition.deps
    const holder = await users.find(two.person.userId)
    const chat = [{ ...one.speaker.identity, linked_at: new Date() }]
    await users.change(two.person.userId, holder?.version ?? -1, { chat }, [])
    for (const path of [LOOK, USE]) {
      const stolen = await browser.post(path, { token })
      expect([stolen.status, stolen.body]).toEqual([404, INVALID])
    }
    expect(browser.cookies.size).toBe(0)
  })

  it('404: is over after ten minutes', async () => {
    const { speaker } = await linkedWithCodes()
    const token = await askFor(service, speaker, 'browser')
    await stored(service, 'chat_links').updateMany({}, { $set: { expires_at: new Date(Date.now() - 1_000) } })
    const answer = await createHttpClient(service.url).post(USE, { token })
    expect([answer.status, answer.body]).toEqual([404, INVALID])
  })

  it("makes no browser of somebody else's theirs: only the person it was asked for signs in there", async () => {
    const [one, two] = [await linkedWithCodes(), await linkedWithCodes()]
    const token = await askFor(service, one.speaker, 'browser')
    const browser = createHttpClient(service.url)
    await browser.post(USE, { token })
    const { email, secret } = two.person
    const answer = await browser.post('/api/v1/session/totp', { email, code: nextCode(secret) })
    expect([answer.status, answer.body.error]).toEqual([401, 'sign_in_failed'])
  })
})
