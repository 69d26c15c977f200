import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { removeInstallation } from '../../../src/flow/chat/connect-account.ts'
import { resetPerson } from '../../../src/flow/joining/invite-user.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { ask, keyOf } from '../../support/live.ts'
import { type TestService, useService } from '../../support/service.ts'
import { consent, install, startInstallation } from '../../support/slack-consent.ts'
import type { SlackEmulator } from '../../support/slack-emulator.ts'
import {
  AS_PAGE,
  expectRefusal,
  type InstallSetting,
  otherTokens,
  SIGNING_SECRET,
  slackEnv,
  startInstallSetting,
} from './install-setting.ts'

let setting: InstallSetting
let slack: SlackEmulator
let service: TestService
let ana: EnrolledPerson
let ben: EnrolledPerson

beforeAll(async () => {
  setting = await startInstallSetting('test_slack_install')
  ;({ slack, service, ana, ben } = setting)
})
afterAll(() => setting.close())
beforeEach(() => setting.clear())

async function tenantsOf(person: EnrolledPerson): Promise<string[]> {
  const { installations } = service.composition.deps
  const found = await installations.ofAccount('slack', await setting.accountOf(person))
  return found.map(({ tenant }) => tenant)
}

describe('an installation', () => {
  it('is undone for a person who is reset while Slack hands out the tokens (T23)', async () => {
    const eve = await enrolWithPasskey(service, 'eve@example.com')
    const back = await consent(slack, await startInstallation(eve.browser), 'ana')
    const { installations } = service.composition.deps
    const { put } = installations
    installations.put = async (installation) => {
      await resetPerson(service.composition.deps, { email: eve.email }, { kind: 'cli' })
      return put(installation)
    }
    const answer = await eve.browser.get(back).finally(() => {
      installations.put = put
    })
    expectRefusal(answer, 'not_signed_in')
    expect(await setting.kept()).toBeUndefined()
    const [entry] = (await setting.auditEntries()).slice(-1)
    expect(entry).toMatchObject({ type: 'chat.uninstalled', actor: { kind: 'service' } })
  })

  it('is refused to a person whose passkey was suspended while they were at Slack (T30)', async () => {
    const { browser, email } = await enrolWithPasskey(service, 'mia@example.com')
    const back = await consent(slack, await startInstallation(browser), 'ana')
    const suspended = { 'passkeys.0.suspended_at': new Date() }
    await stored(service, 'users').updateOne({ email }, { $set: suspended })
    expectRefusal(await browser.get(back), 'proof_required')
    expect(await setting.kept()).toBeUndefined()
  })

  it('goes from the consent page of Slack to a workspace with sealed tokens', async () => {
    const page = await startInstallation(ana.browser)
    expect(`${page.origin}${page.pathname}`).toBe(`${slack.siteUrl}/oauth/v2/authorize`)
    expect(Object.fromEntries(page.searchParams)).toEqual({
      client_id: slack.clientId,
      scope: 'chat:write,commands,im:history,im:write,users:read,users:read.email',
      redirect_uri: `${service.url}/slack/oauth_redirect`,
      state: expect.stringMatching(/^[\w-]{43}$/),
    })
    const back = await consent(slack, page, 'ana')
    const traded = await ana.browser.get(back)
    const end = `/slack/installed?workspace=${slack.teamId}`
    expect([traded.status, traded.headers.get('location')]).toEqual([303, end])
    const answer = await ana.browser.get(end, AS_PAGE)
    expect(answer.status).toBe(200)
    expectRefusal(await ben.browser.get(end), 'not_found')
    expectRefusal(await createHttpClient(service.url).get(end), 'not_signed_in')
    expectRefusal(await ana.browser.get('/slack/installed?workspace=T0'), 'not_found')
    expectRefusal(await ana.browser.get('/slack/installed?workspace=a&workspace=b'), 'not_found')
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toContain('<h1>Countersign is installed in Slack</h1>')
    expect(answer.body).toContain('Acme &#60;b&#62;&#38;Co')
    expect(answer.body).not.toContain('<b>')

    const installation = await setting.kept()
    expect(installation).toMatchObject({
      platform: 'slack',
      tenant: slack.teamId,
      workspace_name: 'Acme <b>&Co',
      account_ids: [await setting.accountOf(ana)],
    })
    const token = slack.calls.find(({ method }) => method === 'auth.test')?.token ?? ''
    expect(token).toMatch(/^xoxb-/)
    const opened = service.composition.deps.vault.open(
      installation?.sealed ?? '',
      `slack-installation:${slack.teamId}`,
    )
    expect(JSON.parse(Buffer.from(opened).toString())).toEqual({
      bot_token: token,
      bot_user_id: slack.botUserId,
      scopes: ['chat:write', 'commands', 'im:history', 'im:write', 'users:read', 'users:read.email'],
    })
    expect(() =>
      service.composition.deps.vault.open(installation?.sealed ?? '', 'slack-installation:T0'),
    ).toThrow()
    const code = new URL(back, service.url).searchParams.get('code') ?? ''
    const everywhere = JSON.stringify([
      service.logged,
      await stored(service, 'chat_installations').find().toArray(),
      await stored(service, 'challenges').find().toArray(),
      await setting.auditEntries(),
    ])
    for (const secret of [token, slack.clientSecret, code, page.searchParams.get('state') ?? ''])
      expect(everywhere).not.toContain(secret)
  })

  it('sends requests from before the installation and from the time without the app', async () => {
    const { deps } = service.composition
    const live = { service, owner: ana, key: await keyOf(service, ana.userId) }
    const early = await ask(live)
    await install(slack, ana.browser, 'ana')
    const relay = createRelay(deps, NO_LOOPS)
    const cards = async (id: string) => (await deps.cards.ofRequest(id)).map(({ state }) => state)
    expect(await cards(early)).toEqual(['due'])
    await removeInstallation(deps, 'slack', slack.teamId)
    const troubles = async () => (await deps.accounts.find(await setting.accountOf(ana)))?.chat_troubles
    expect(await troubles()).toMatchObject([{ tenant: slack.teamId, reason: 'app_removed' }])
    const late = await ask(live)
    await relay.run()
    expect(await cards(late)).toEqual([])
    await stored(service, 'cards').updateOne({ request_id: early }, { $set: { state: 'unreachable' } })
    await install(slack, ana.browser, 'ana')
    expect([await cards(early), await cards(late), await troubles()]).toEqual([['due'], ['due'], []])
  })

  it('whose app Slack removed is no trouble any more once the owner gives it up', async () => {
    const { deps } = service.composition
    await install(slack, ana.browser, 'ana')
    await install(slack, ben.browser, 'ana')
    await removeInstallation(deps, 'slack', slack.teamId)
    const give = () =>
      ana.browser.post(
        '/api/v1/account/chat-apps/remove',
        { platform: 'slack', tenant: slack.teamId },
        AS_PAGE,
      )
    expectStatus(await give(), 200)
    const troublesOf = async (person: EnrolledPerson) =>
      (await deps.accounts.find(await setting.accountOf(person)))?.chat_troubles
    expect([await troublesOf(ana), await troublesOf(ben)]).toMatchObject([[], [{ tenant: slack.teamId }]])
    expect((await setting.auditEntries()).at(-1)).toMatchObject({
      type: 'chat.uninstalled',
      actor: { kind: 'user', id: ana.userId },
    })
    const again = await give()
    expect([again.status, again.body.error]).toEqual([404, 'not_found'])
  })

  it('is told in the trail, by whom and for which account, and so is its end', async () => {
    await install(slack, ana.browser, 'ana')
    await install(slack, ben.browser, 'ana')
    const { deps } = service.composition
    expect(await removeInstallation(deps, 'slack', slack.teamId)).toBe(true)
    expect(await removeInstallation(deps, 'slack', slack.teamId)).toBe(false)
    expect(await setting.kept()).toBeUndefined()
    const entries = (await setting.auditEntries()).slice(-4)
    const detail = { platform: 'slack', tenant: slack.teamId, workspace: 'Acme <b>&Co' }
    const told = { subject: `slack:${slack.teamId}`, detail }
    const [first, second] = [await setting.accountOf(ana), await setting.accountOf(ben)]
    const by = ({ userId }: EnrolledPerson) => ({ kind: 'user', id: userId, address: '127.0.0.1' })
    expect(entries).toMatchObject([
      { type: 'chat.installed', account_id: first, actor: by(ana), ...told },
      { type: 'chat.installed', account_id: second, actor: by(ben), ...told },
      { type: 'chat.uninstalled', account_id: first, actor: { kind: 'service' }, ...told },
      { type: 'chat.uninstalled', account_id: second, actor: { kind: 'service' }, ...told },
    ])
  })

  it('by a second account adds that account and replaces the tokens', async () => {
    await install(slack, ana.browser, 'ana')
    const before = await setting.kept()
    await install(slack, ben.browser, 'ana')
    await install(slack, ana.browser, 'ana')
    const installation = await setting.kept()
    expect(installation?.account_ids).toEqual([await setting.accountOf(ana), await setting.accountOf(ben)])
    expect(installation?.sealed).not.toBe(before?.sealed)
    for (const person of [ana, ben]) expect(await tenantsOf(person)).toEqual([slack.teamId])
  })

  it('of a second workspace leaves the first alone', async () => {
    await install(slack, ana.browser, 'ana')
    const first = await setting.kept()
    const other = { ok: true, team: { id: 'T0OTHER', name: 'Other' }, is_enterprise_install: false }
    slack.behave(({ method }) =>
      method === 'oauth.v2.access'
        ? { answer: { ...otherTokens(), ...other } }
        : { answer: { ok: true, bot_id: 'B1' } },
    )
    expect((await install(slack, ana.browser, 'ana')).status).toBe(303)
    expect(await tenantsOf(ana)).toEqual(['T0OTHER', slack.teamId].sort())
    expect(await tenantsOf(ben)).toEqual([])
    expect(await setting.kept()).toEqual(first)
  })

  it('of a whole organisation is kept under the organisation', async () => {
    const organisation = { team: null, enterprise: { id: 'E0ORG', name: 'Org' }, is_enterprise_install: true }
    slack.behave(({ method }) =>
      method === 'oauth.v2.access'
        ? { answer: { ...otherTokens(), ...organisation } }
        : { answer: { ok: true, bot_id: 'B1', url: 'https://org.enterprise.slack.example/' } },
    )
    expect((await install(slack, ana.browser, 'ana')).status).toBe(303)
    const { installations: store } = service.composition.deps
    expect(await store.find('slack', 'E0ORG')).toMatchObject({ tenant: 'E0ORG', workspace_name: 'Org' })
  })

  it('may begin in one process and end in another', async () => {
    const second = await useService({
      env: { ...slackEnv(slack), BASE_URL: service.url },
      database: setting.database,
    })
    const back = await consent(slack, await startInstallation(ana.browser), 'ana')
    const there = createHttpClient(second.url, ana.browser.cookies)
    expect((await there.get(back)).status).toBe(303)
    expect(await setting.kept()).toMatchObject({ account_ids: [await setting.accountOf(ana)] })
  })
})

describe('the addresses', () => {
  it('exist only where workspaces install the app', async () => {
    const one = await useService({
      env: { SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: SIGNING_SECRET, SLACK_API_URL: slack.apiUrl },
    })
    const none = await useService()
    for (const { url } of [one, none])
      for (const path of ['/slack/install', '/slack/oauth_redirect?code=a&state=b', '/slack/installed'])
        expectRefusal(await createHttpClient(url).get(path), 'not_found')
  })

  it.each([
    ['https://slack.com/api/', 'https://slack.com/oauth/v2/authorize'],
    ['https://slack-gov.com/api/', 'https://slack-gov.com/oauth/v2/authorize'],
  ])('of the consent page follow %s', async (apiUrl, wanted) => {
    const elsewhere = await useService({
      env: { ...slackEnv(slack), SLACK_API_URL: apiUrl, BASE_URL: service.url },
      database: setting.database,
    })
    const browser = createHttpClient(elsewhere.url, new Map(ana.browser.cookies))
    const page = await startInstallation(browser)
    expect(`${page.origin}${page.pathname}`).toBe(wanted)
  })

  it('set a cookie that no sibling host can plant, where they are https', async () => {
    const secure = await useService({
      env: { ...slackEnv(slack), BASE_URL: 'https://approvals.example.com' },
      database: setting.database,
    })
    const session = ana.browser.cookies.get(cookieName('countersign', service.url)) ?? ''
    const browser = createHttpClient(secure.url, new Map([['__Host-countersign', session]]))
    const { headers } = await browser.get('/slack/install')
    const [cookie = '', ...more] = headers.getSetCookie()
    expect(more).toEqual([])
    expect(cookie).toMatch(
      /^__Host-countersign-slack-install=[\w-]{43}; Secure; HttpOnly; Path=\/; Max-Age=600$/,
    )
    expect(new URL(headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      'https://approvals.example.com/slack/oauth_redirect',
    )
  })
})
