import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerSchema } from '../../support/documented.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import type { Answer } from '../../support/http-client.ts'
import { type MailServer, startMailServer } from '../../support/mail-server.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

const PATH = '/api/v1/me/notifications'

let server: MailServer
let service: TestService
let people = 0
beforeAll(async () => {
  server = await startMailServer()
  service = await startService({ env: { ...server.env, TRUST_PROXY: '1' }, work: true })
})
afterAll(async () => {
  await service.close()
  await server.close()
})

async function somebody(): Promise<EnrolledPerson> {
  people += 1
  return enrolWithPasskey(service, `mailed${people}@example.com`)
}

/** The answer is what the document says. */
function expectDocumented(method: 'get' | 'post' | 'patch', path: string, { status, body }: Answer): void {
  answerSchema(method, path, status).parse(body)
}

const off = { id: expect.stringMatching(/^psd_/), state: 'off', last_sent_at: null }
const NOTHING = { volumes: null, quiet_hours: null, mail: off }

async function code({ email }: { email: string }): Promise<string> {
  await server.until('the code', () => server.mails.some(({ to }) => to.includes(email)))
  return /\d{4} \d{4}/.exec(server.mails.findLast(({ to }) => to.includes(email))?.text ?? '')?.[0] ?? ''
}

describe('GET and PATCH /api/v1/me/notifications', () => {
  it('remembers what a person chose, each field by itself, and puts it into their trail', async () => {
    const { browser } = await somebody()
    const first = await browser.get(PATH)
    expect([first.status, first.body]).toEqual([200, NOTHING])
    expectDocumented('get', PATH, first)
    const volumes = { chat: 'high_impact', browser: 'none', mail: 'digest' }
    const quiet_hours = { from: '22:00', to: '06:30', time_zone: 'Europe/Berlin' }
    expect((await browser.patch(PATH, { volumes })).body).toEqual({ ...NOTHING, volumes })
    const both = await browser.patch(PATH, { quiet_hours })
    expect(both.body).toEqual({ ...NOTHING, volumes, quiet_hours })
    expectDocumented('patch', PATH, both)
    expect((await browser.patch(PATH, { volumes: null })).body).toEqual({ ...NOTHING, quiet_hours })
    expect((await browser.patch(PATH, {})).body).toEqual({ ...NOTHING, quiet_hours })
  })

  it.each([
    ['volumes.mail', { volumes: { chat: 'all', browser: 'all', mail: 'some' } }],
    ['volumes.chat', { volumes: { chat: 'digest', browser: 'all', mail: 'all' } }],
    ['volumes.browser', { volumes: { chat: 'all', mail: 'all' } }],
    ['quiet_hours.from', { quiet_hours: { from: '24:00', to: '06:00', time_zone: 'UTC' } }],
    ['quiet_hours.from', { quiet_hours: { from: '06:00', to: '06:00', time_zone: 'UTC' } }],
    ['quiet_hours.time_zone', { quiet_hours: { from: '22:00', to: '06:00', time_zone: 'Mars/Base' } }],
  ])('refuses a wrong %s', async (field, body) => {
    const { browser } = await somebody()
    const answer = await browser.patch(PATH, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ field })
    expect((await browser.get(PATH)).body).toEqual(NOTHING)
  })

  it('an owner sets what people hear who chose nothing', async () => {
    const { browser } = await somebody()
    const volumes = { chat: 'all', browser: 'high_impact', mail: 'none' }
    expect((await browser.get('/api/v1/account')).body.volumes).toEqual({
      chat: 'all',
      browser: 'all',
      mail: 'all',
    })
    const changed = await browser.patch('/api/v1/account', { volumes })
    expect([changed.status, changed.body.volumes]).toEqual([200, volumes])
    expect((await browser.get('/api/v1/account')).body.volumes).toEqual(volumes)
  })
})

describe('POST /api/v1/me/mail', () => {
  it('proves the address by a code that reaches it, and a test and the removal are those of browsers', async () => {
    const person = await somebody()
    const { browser } = person
    const sent = await browser.post('/api/v1/me/mail', {})
    expect([sent.status, sent.body]).toEqual([200, { ok: true, sent: true }])
    expectDocumented('post', '/api/v1/me/mail', sent)
    expect((await browser.get(PATH)).body.mail.state).toBe('unconfirmed')
    const wrong = await browser.post('/api/v1/me/mail/confirm', { code: '0000' })
    expect([wrong.status, wrong.body]).toEqual([
      403,
      {
        error: 'mail_code_refused',
        message:
          'This code is wrong or has expired, or too many wrong ones were sent; check it, or send a new one.',
      },
    ])
    const confirmed = await browser.post('/api/v1/me/mail/confirm', { code: await code(person) })
    expect([confirmed.status, confirmed.body.mail.state]).toEqual([200, 'on'])
    expectDocumented('post', '/api/v1/me/mail/confirm', confirmed)
    const { body: steps } = await browser.get('/api/v1/me/next-steps')
    expect(steps).toMatchObject({ told: true, owner: { chat_or_mail: true } })
    expect((await browser.post('/api/v1/me/mail', {})).body).toEqual({
      error: 'mail_confirmed',
      message: 'Your address is already confirmed; nothing was changed.',
    })
    const { id } = confirmed.body.mail
    expect((await browser.get('/api/v1/me/push')).body.devices).toEqual([])
    expect((await browser.post(`/api/v1/me/push/${id}/test`, {})).body).toEqual({ ok: true, sent: true })
    expect(server.mails.at(-1)?.headers.subject).toBe('Notifications work')
    const other = await somebody()
    expect((await other.browser.post(`/api/v1/me/push/${id}/remove`, {})).status).toBe(404)
    expect((await browser.post(`/api/v1/me/push/${id}/remove`, {})).status).toBe(200)
    expect((await browser.get(PATH)).body.mail).toEqual({ ...off, last_sent_at: expect.any(String) })
  })

  it('sends five codes a day', async () => {
    const { browser } = await somebody()
    const answers: Answer[] = []
    for (let n = 0; n < 5; n += 1) answers.push(await browser.post('/api/v1/me/mail', {}))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const { status, body } = await browser.post('/api/v1/me/mail', {})
    // The limit of tests of this person, five a minute, comes first.
    expect([status, body.error]).toEqual([429, 'rate limit exceeded'])
  })

  it('says that the relay did not accept the mail', async () => {
    const { browser, email } = await somebody()
    server.behave((address) => (address === email ? [451, '4.3.0 Later'] : undefined))
    expect((await browser.post('/api/v1/me/mail', {})).body).toEqual({ ok: true, sent: false })
  })

  it('is refused where no e-mail is set up', async () => {
    const { browser } = await enrolWithPasskey(await useService(), 'nomail@example.com')
    expect((await browser.get(PATH)).body).toEqual({ ...NOTHING, mail: null })
    const { status, body } = await browser.post('/api/v1/me/mail', {})
    expect([status, body]).toEqual([
      409,
      { error: 'mail_off', message: 'This service sends no e-mail; ask its operator to set it up.' },
    ])
  })
})
