import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import {
  type InstallSetting,
  SIGNING_SECRET,
  slackEnv,
  startInstallSetting,
} from '../adapters/slack/install-setting.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { cli, useDataDir } from '../support/cli.ts'
import { databaseUri, TEST_SECRETS } from '../support/service.ts'
import { install } from '../support/slack-consent.ts'
import { createSlackDriver } from '../support/slack-driver.ts'

interface Check {
  name: string
  status: string
  detail: string
  fix?: string
}

let setting: InstallSetting

beforeAll(async () => {
  setting = await startInstallSetting('test_doctor_slack_many')
})
afterAll(() => setting.close())
beforeEach(() => setting.clear())

async function examine(more: Record<string, string> = {}) {
  const { env: data } = await useDataDir()
  const env = {
    ...data,
    ...TEST_SECRETS,
    ...slackEnv(setting.slack),
    MONGODB_URI: databaseUri(inject('storeUri'), setting.database),
    BASE_URL: setting.service.url,
    ...more,
  }
  const run = await cli(['doctor', 'slack', '--json'], { env })
  const checks: Check[] = run.json().checks
  return { run, checks, of: (name: string) => checks.find((check) => check.name === name) }
}

describe('countersign doctor slack, where workspaces install the app', () => {
  it('finds the running service, and says where the first workspace installs it', async () => {
    const { of } = await examine()
    expect(of('Slack')?.detail).toMatch(/^workspaces install the app; requests to BASE_URL; /)
    expect(of('Client')).toEqual({
      name: 'Client',
      status: 'ok',
      detail: 'Slack knows SLACK_CLIENT_ID and SLACK_CLIENT_SECRET',
    })
    expect(of('Workspaces')).toEqual({
      name: 'Workspaces',
      status: 'warn',
      detail: 'no workspace has installed the app yet',
      fix: `Sign in, and open ${setting.service.url}/slack/install`,
    })
    expect(of('Events address')).toMatchObject({ status: 'ok' })
    expect(of('Signing secret')).toMatchObject({ status: 'ok' })
  })

  it('tells that the running service has another signing secret', async () => {
    const { run, of } = await examine({ SLACK_SIGNING_SECRET: 'hunter2' })
    expect(of('Events address')).toMatchObject({ status: 'ok' })
    expect(of('Signing secret')).toMatchObject({
      status: 'fail',
      detail: 'the running service has another SLACK_SIGNING_SECRET',
      fix: expect.stringContaining('Basic Information'),
    })
    expect(run.code).toBe(1)
    expect(run.stdout).not.toContain('hunter2')
  })

  it('tells of a client that Slack does not know', async () => {
    const { run, of } = await examine({ SLACK_CLIENT_SECRET: 'hunter2' })
    expect(of('Client')).toMatchObject({
      status: 'fail',
      detail: 'Slack refuses it: invalid_client_id',
      fix: expect.stringContaining('Basic Information'),
    })
    expect(run.stdout).not.toContain('hunter2')
  })

  it('asks about every workspace: its token, its scopes, and whether the tokens open', async () => {
    await install(setting.slack, setting.ana.browser, 'ana')
    const shown = `Acme <b>&Co (${setting.slack.teamId})`
    const tells = (scopes: string) =>
      setting.slack.behave(({ method }) =>
        method === 'auth.test'
          ? { status: 200, headers: { 'x-oauth-scopes': scopes }, body: JSON.stringify({ ok: true }) }
          : undefined,
      )
    tells('chat:write,commands,im:history,im:write,users:read,users:read.email')
    const good = await examine()
    expect(good.of('Workspace')).toMatchObject({ status: 'ok', detail: `${shown}: good` })
    expect(good.run.stdout).not.toContain('xoxb')
    tells('chat:write,commands,im:history,im:write,users:read')
    expect((await examine()).of('Workspace')).toMatchObject({
      status: 'fail',
      detail: `${shown}: missing: users:read.email`,
      fix: 'Have its owner install the app again: /slack/install',
    })
    setting.slack.behave(({ method }) => (method === 'auth.test' ? { error: 'token_revoked' } : undefined))
    expect((await examine()).of('Workspace')).toMatchObject({
      status: 'fail',
      detail: `${shown}: Slack refuses the token: token_revoked`,
    })
    const otherKey = await examine({ SEALING_KEY: randomBytes(32).toString('base64') })
    expect(otherKey.of('Workspace')).toMatchObject({
      status: 'fail',
      detail: `${shown}: its tokens cannot be opened`,
      fix: expect.stringContaining('SEALING_KEY'),
    })
    expect(otherKey.run.code).toBe(1)
  })

  it('says since when a workspace takes no cards, why, and what to do, until it has the app again', async () => {
    const { service, slack, ana } = setting
    await install(slack, ana.browser, 'ana')
    expect((await examine()).of('Cards')).toBeUndefined()
    const driver = createSlackDriver({
      url: service.url,
      signingSecret: SIGNING_SECRET,
      teamId: slack.teamId,
    })
    slack.behave(({ method }) => (method === 'auth.test' ? { error: 'account_inactive' } : undefined))
    expect((await driver.event({ type: 'app_uninstalled' })).status).toBe(200)
    const troubles = async () =>
      (await service.composition.deps.accounts.find(await setting.accountOf(ana)))?.chat_troubles
    await waitUntil(async () => expect(await troubles()).toHaveLength(1))
    expect((await examine()).of('Cards')).toEqual({
      name: 'Cards',
      status: 'warn',
      detail: `none are accepted since ${(await troubles())?.[0]?.since.toISOString()} (app_removed)`,
      fix: expect.stringContaining('Add the app to the workspace again.'),
    })
    slack.behave(() => undefined)
    await install(slack, ana.browser, 'ana')
    expect((await examine()).of('Cards')).toBeUndefined()
  })
})
