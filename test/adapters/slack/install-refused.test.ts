import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import type { TestService } from '../../support/service.ts'
import { consent, install, startInstallation } from '../../support/slack-consent.ts'
import type { SlackEmulator } from '../../support/slack-emulator.ts'
import {
  AS_PAGE,
  expectRefusal,
  type InstallSetting,
  otherTokens,
  startInstallSetting,
} from './install-setting.ts'

let setting: InstallSetting
let slack: SlackEmulator
let service: TestService
let ana: EnrolledPerson
let ben: EnrolledPerson

beforeAll(async () => {
  setting = await startInstallSetting('test_slack_install_refused')
  ;({ slack, service, ana, ben } = setting)
})
afterAll(() => setting.close())
beforeEach(() => setting.clear())

describe('an installation is refused', () => {
  it('to whoever is not signed in: the start leads to the sign-in, the end ends there', async () => {
    const stranger = createHttpClient(service.url)
    const start = await stranger.get('/slack/install')
    expect([start.status, start.headers.get('location')]).toEqual([303, '/signin?next=%2Fslack%2Finstall'])
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    const end = await stranger.get(back)
    expectRefusal(end, 'not_signed_in')
    expect(end.headers.get('www-authenticate')).toBe('Bearer')
    expect(setting.trades()).toBe(0)
  })

  it('T34: to a session without a proof of the last minutes, which is led to sign in once more', async () => {
    const dora = await enrolWithPasskey(service, 'dora@example.com')
    const old = { proven_at: new Date(Date.now() - 16 * 60_000) }
    await stored(service, 'sessions').updateMany({ user_id: dora.userId }, { $set: old })
    const start = await dora.browser.get('/slack/install')
    expect([start.status, start.headers.get('location')]).toEqual([
      303,
      '/signin?next=%2Fslack%2Finstall&again',
    ])
  })

  it('to a browser without the state cookie', async () => {
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    ana.browser.cookies.delete(setting.stateCookie)
    expectRefusal(await ana.browser.get(back), 'install_state_invalid')
    expect([setting.trades(), await setting.kept()]).toEqual([0, undefined])
  })

  it('to the session of somebody else, even with the state cookie, and to another session of oneself', async () => {
    for (const other of [ben, await signInAgain()]) {
      const back = await consent(slack, await startInstallation(ana.browser), 'ana')
      const cookie = ana.browser.cookies.get(setting.stateCookie) ?? ''
      other.browser.cookies.set(setting.stateCookie, cookie)
      expectRefusal(await other.browser.get(back), 'install_state_invalid')
      expectRefusal(await ana.browser.get(back), 'install_state_invalid')
    }
    expect([setting.trades(), await setting.kept()]).toEqual([0, undefined])
  })

  it('when it comes a second time', async () => {
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    const cookie = ana.browser.cookies.get(setting.stateCookie) ?? ''
    expect((await ana.browser.get(back)).status).toBe(303)
    expect(ana.browser.cookies.get(setting.stateCookie)).not.toBe(cookie)
    ana.browser.cookies.set(setting.stateCookie, cookie)
    expectRefusal(await ana.browser.get(back), 'install_state_invalid')
    expect(setting.trades()).toBe(1)
  })

  it('when it took more than ten minutes', async () => {
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    const lapsed = { $set: { expires_at: new Date(Date.now() - 1_000) } }
    const { matchedCount } = await stored(service, 'challenges').updateMany(
      { purpose: 'chat.install' },
      lapsed,
    )
    expect(matchedCount).toBeGreaterThan(0)
    expectRefusal(await ana.browser.get(back), 'install_state_invalid')
    expect(setting.trades()).toBe(0)
  })

  it.each([
    '?code=abc',
    '?state=abc',
    '',
    '?code=abc&state=',
    '?code=abc&state=%00',
    '?state=deleted&code=x',
  ])('with %s alone', async (query) => {
    expectRefusal(await ana.browser.get(`/slack/oauth_redirect${query}`), 'install_state_invalid')
    expect(setting.trades()).toBe(0)
  })

  it('by the person on the consent page', async () => {
    const page = await startInstallation(ana.browser)
    const query = new URLSearchParams({ error: 'access_denied', state: page.searchParams.get('state') ?? '' })
    expectRefusal(await ana.browser.get(`/slack/oauth_redirect?${query}`), 'install_cancelled')
    expect(setting.trades()).toBe(0)
  })

  it.each([
    [
      'Slack knows another secret',
      { error: 'bad_client_secret' },
      'bad_client_secret',
      /SLACK_CLIENT_SECRET/,
    ],
    [
      'Slack has a reason that is new',
      { error: 'some_code' },
      'some_code',
      /the log of the service has the reason/,
    ],
    ['Slack cuts the connection', 'drop', 'no_answer', /Slack did not answer/],
    ['Slack is broken', { status: 503 }, 'no_answer', /Slack did not answer/],
    ['Slack sends an error that is no code', { error: '<b>no</b>' }, 'no_answer', /Slack did not answer/],
    [
      'tokens would end after twelve hours',
      { answer: { ...otherTokens(), refresh_token: 'xoxe-1-x', expires_in: 43_200 } },
      'token_rotation_is_on',
      /Token rotation is on/,
    ],
    [
      'there is no bot',
      { answer: { ...otherTokens(), access_token: undefined } },
      'no_bot_token',
      /bot scopes/,
    ],
  ] as const)('when %s', async (_what, behaviour, reason, remedy) => {
    slack.behave(({ method }) =>
      method === 'oauth.v2.access' ? behaviour : { answer: { ok: true, bot_id: 'B1' } },
    )
    const answer = await install(slack, ana.browser, 'ana')
    const { detail } = answer.body
    expectRefusal(answer, 'install_failed', { detail, reason })
    expect(detail).toMatch(remedy)
    expect(answer.body.message).not.toContain(reason)
    expect(await setting.kept()).toBeUndefined()
  })

  it('to people on a page that says why, and where to start again', async () => {
    slack.behave(() => ({ error: 'bad_client_secret' }))
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    const answer = await ana.browser.get(back, AS_PAGE)
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.body).toContain('<h1>Countersign was not installed in Slack</h1>')
    expect(answer.body).toContain('the operator must set SLACK_CLIENT_SECRET')
    expect(answer.body).not.toContain('bad_client_secret')
    expect(answer.body).toContain('<a href="/slack/install">Start again</a>')
    const style = /href="(\/docs\/\w+\.css)"/.exec(answer.body)?.[1] ?? ''
    expect((await ana.browser.get(style)).headers.get('content-type')).toBe('text/css; charset=utf-8')
  })

  it('when a person starts too often', async () => {
    const carl = await enrolWithPasskey(service, 'carl@example.com')
    const answers = await Promise.all(Array.from({ length: 130 }, () => carl.browser.get('/slack/install')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    const first = refused[0] ?? expect.unreachable()
    const { retry_after } = first.body
    expect(retry_after).toEqual(expect.any(Number))
    expectRefusal(first, 'rate limit exceeded', { retry_after })
  })
})

async function signInAgain(): Promise<Pick<EnrolledPerson, 'browser'>> {
  const browser = createHttpClient(service.url)
  const asked = await browser.post('/api/v1/session/passkey/options', {})
  const credential = ana.authenticator.authenticate(asked.body.options, { origin: service.url })
  const answer = await browser.post('/api/v1/session/passkey', { credential })
  expect(answer.status).toBe(200)
  return { browser }
}
