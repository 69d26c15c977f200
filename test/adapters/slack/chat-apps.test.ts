import { afterAll, beforeAll, expect, it } from 'vitest'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { install } from '../../support/slack-consent.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { useSlackService } from '../../support/slack-service.ts'
import { AS_PAGE, type InstallSetting, startInstallSetting } from './install-setting.ts'

const APPS = '/api/v1/account/chat-apps'

let many: InstallSetting
let slack: SlackEmulator
beforeAll(async () => {
  many = await startInstallSetting('test_slack_chat_apps')
  slack = await startSlack({ teamName: 'Acme', users: [] })
})
afterAll(async () => {
  await many.close()
  await slack.close()
})

it('lists the workspaces in which an owner has installed the app, and lets them be removed and come back', async () => {
  const { browser } = many.ana
  const listed = async () => (await browser.get(APPS)).body.slack
  expect(await listed()).toEqual({ configured: true, mode: 'many', installations: [] })
  await install(many.slack, browser, 'ana')
  const workspace = { tenant: many.slack.teamId, name: 'Acme <b>&Co', installed_at: expect.any(String) }
  expect(await listed()).toEqual({ configured: true, mode: 'many', installations: [workspace] })
  expect((await many.ben.browser.get(APPS)).body.slack.installations).toEqual([])
  const removal = { platform: 'slack', tenant: many.slack.teamId }
  expect((await browser.post(`${APPS}/remove`, removal)).body).toEqual({ ok: true })
  expect((await listed()).installations).toEqual([])
  expect(await many.kept()).toBeUndefined()
  await install(many.slack, browser, 'ana')
  expect((await listed()).installations).toEqual([workspace])
})

it('names the one workspace of the operator, which cannot be installed or removed', async () => {
  const { service } = await useSlackService(slack)
  const { browser } = await enrolWithPasskey(service, 'ana@example.com')
  const workspace = { tenant: slack.teamId, name: 'Acme', installed_at: null }
  const answer = await browser.get(APPS)
  expect(answer.body.slack).toEqual({ configured: true, mode: 'one', installations: [workspace] })
  const removed = await browser.post(`${APPS}/remove`, { platform: 'slack', tenant: slack.teamId })
  expect([removed.status, removed.body.error]).toEqual([404, 'not_found'])
})

it('tells whoever follows a link to the installation that the workspace is fixed, on a page', async () => {
  const { service } = await useSlackService(slack)
  const page = await createHttpClient(service.url).get('/slack/install', AS_PAGE)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.body).toContain('<h1>Slack is connected already</h1>')
  expect(page.body).toContain('nothing has to be installed')
  expect(page.body).toContain('<a href="/integrations">')
  const asked = await createHttpClient(service.url).get('/slack/install')
  expect([asked.status, asked.body.error]).toEqual([404, 'not_found'])
})
