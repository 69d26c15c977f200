import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { UNKNOWN_TENANT } from '../../../src/domain/chat.ts'
import type { ChatInstallation } from '../../../src/store/chat/chat-installations.ts'
import { SIX_VIEWS } from '../../support/card-samples.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { patienceFor } from '../../support/patience.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { OPEN_VAULT, portTo, portToMany } from './port-setting.ts'

let slack: SlackEmulator

beforeAll(async () => {
  slack = await startSlack({ users: [{ name: 'ana', email: 'ana@example.com' }] })
})
beforeEach(() => slack.behave(() => undefined))
afterAll(() => slack.close())

const view = SIX_VIEWS[0]?.view ?? expect.unreachable()

function installation(token: string, changes: Partial<ChatInstallation> = {}): ChatInstallation {
  const tokens = { bot_token: token, bot_user_id: slack.botUserId, scopes: ['chat:write'] }
  return {
    platform: 'slack',
    tenant: slack.teamId,
    workspace_name: 'Acme',
    account_ids: ['acc_1'],
    sealed: OPEN_VAULT.seal(Buffer.from(JSON.stringify(tokens)), `slack-installation:${slack.teamId}`),
    installed_at: new Date(),
    ...changes,
  }
}

it('calls Slack only when it is needed, and asks once for all who want to know whose the token is', async () => {
  const before = slack.calls.length
  const { workspaces } = portTo(slack)
  expect(slack.calls.length).toBe(before)
  const asked = await Promise.all(Array.from({ length: 10 }, () => workspaces.tenantsOf('acc_1')))
  expect(new Set(asked.flat())).toEqual(new Set([slack.teamId]))
  expect(slack.calls.slice(before).map(({ method }) => method)).toEqual(['auth.test'])
  expect(await workspaces.find(slack.teamId)).toMatchObject({
    token: slack.botToken,
    name: slack.teamName,
  })
  expect(await workspaces.find('T0ELSEWHERE')).toBe('not_installed')
})

it('does not call people unreachable while Slack is away at the start, and knows its workspace once it is back', async () => {
  slack.behave(() => ({ status: 503 }))
  const { workspaces, port, logged } = portTo(slack)
  expect(await workspaces.tenantsOf('acc_1')).toEqual([UNKNOWN_TENANT])
  expect(await workspaces.find(slack.teamId)).toBe('not_known_yet')
  const message = { tenant: slack.teamId, conversation: 'D1', message: '1.1' }
  expect(await port.update(message, view)).toMatchObject({ outcome: 'failed', code: 'not_known_yet' })
  // Asked once; not again at once by everybody who wants to know.
  expect(logged.filter(({ level }) => level === 'error')).toEqual([
    {
      level: 'error',
      message: 'finding the workspace of the Slack bot token failed',
      fields: { reason: 'http_503' },
    },
  ])
  slack.behave(() => undefined)
  const known = async () => expect(await workspaces.tenantsOf('acc_1')).toEqual([slack.teamId])
  await waitUntil(known, patienceFor(5_000))
})

it('keeps nobody waiting for Slack who only lists tenants', async () => {
  slack.behave(() => 'stall')
  const { workspaces } = portTo(slack)
  const stop = startStopwatch()
  expect(await workspaces.tenantsOf('acc_1')).toEqual([UNKNOWN_TENANT])
  expect(stop()).toBeLessThan(4_000)
})

it('sends cards of an account only to workspaces that account installed it in', async () => {
  const { workspaces } = portToMany(slack.apiUrl, [installation(slack.botToken)])
  expect(await workspaces.tenantsOf('acc_1')).toEqual([slack.teamId])
  expect(await workspaces.tenantsOf('acc_2')).toEqual([])
})

it('uses new tokens as soon as they are stored, whichever process stored them, and none that were removed', async () => {
  const installed = [installation('xoxb-old')]
  const { port, workspaces } = portToMany(slack.apiUrl, installed)
  const look = () => port.lookup(slack.teamId, 'ana@example.com')
  expect(await look()).toMatchObject({ ok: false, outcome: 'unavailable', code: 'invalid_auth' })
  installed[0] = installation(slack.botToken)
  expect(await look()).toMatchObject({ ok: true, value: { user: slack.user('ana') } })
  expect(await workspaces.find(slack.teamId)).toBe(await workspaces.find(slack.teamId))
  expect(await workspaces.find(slack.teamId)).toMatchObject({
    token: slack.botToken,
  })
  installed.pop()
  expect(await look()).toMatchObject({ ok: false, outcome: 'unavailable', code: 'not_installed' })
  expect(await workspaces.find(slack.teamId)).toBe('not_installed')
})

it('uses no token that was sealed for another workspace, and quotes none of it', async () => {
  const moved = installation('xoxb-secret', { tenant: 'T0OTHER' })
  const { port, logged } = portToMany(slack.apiUrl, [moved])
  expect(await port.lookup('T0OTHER', 'ana@example.com')).toMatchObject({ outcome: 'unavailable' })
  expect(logged).toContainEqual({
    level: 'error',
    message: 'decrypting the tokens of a Slack workspace failed; have the app installed there again',
    fields: { tenant: 'T0OTHER' },
  })
  expect(JSON.stringify(logged)).not.toContain('xoxb-secret')
})
