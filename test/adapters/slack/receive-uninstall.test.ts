import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { removeInstallation } from '../../../src/flow/chat/connect-account.ts'
import type { ChatInstallation } from '../../../src/store/chat/chat-installations.ts'
import { shownText } from '../../support/block-parts.ts'
import { alter } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { addPerson } from '../../support/people.ts'
import { type TestService, useService } from '../../support/service.ts'
import { createSlackDriver, eventPayload, type SlackDriver } from '../../support/slack-driver.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { SIGNING_SECRET, useSlackService } from '../../support/slack-service.ts'

let slack: SlackEmulator
beforeAll(async () => {
  slack = await startSlack()
})
afterAll(() => slack.close())
afterEach(() => slack.behave(() => undefined))

/** A service that workspaces install the app from; that of the emulator did, for two accounts, whose token is dead by now. */
async function useInstalled(): Promise<{ service: TestService; driver: SlackDriver }> {
  const service = await useService({
    env: {
      SLACK_CLIENT_ID: slack.clientId,
      SLACK_CLIENT_SECRET: slack.clientSecret,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
      SLACK_API_URL: slack.apiUrl,
    },
  })
  const driver = createSlackDriver({ url: service.url, signingSecret: SIGNING_SECRET, teamId: slack.teamId })
  await install(service)
  slack.behave(({ method }) => (method === 'auth.test' ? { error: 'account_inactive' } : undefined))
  return { service, driver }
}

async function install(service: TestService, installed_at = new Date(Date.now() - 60_000)): Promise<void> {
  const { vault, installations } = service.composition.deps
  const tokens = Buffer.from(JSON.stringify({ bot_token: slack.botToken, bot_user_id: 'U0BOT' }))
  const installation: ChatInstallation = {
    platform: 'slack',
    tenant: slack.teamId,
    workspace_name: 'Acme',
    account_ids: [],
    sealed: vault.seal(tokens, `slack-installation:${slack.teamId}`),
    installed_at,
  }
  await installations.put({ ...installation, account_ids: ['acc_one'] })
  await installations.put({ ...installation, account_ids: ['acc_two'] })
}

const kept = (service: TestService) => service.composition.deps.installations.find('slack', slack.teamId)
const removals = (service: TestService) =>
  service.logged.filter(({ message }) => message === 'a Slack workspace removed the app')
/** Slack says again what was answered late: of all the times it was told, one removed something. */
const effective = (service: TestService) => removals(service).filter(({ fields }) => fields.removed)

describe('a workspace that removes the app', () => {
  it.each([
    ['app_uninstalled', {}],
    ['tokens_revoked', { tokens: { oauth: [], bot: ['U0BOT'] } }],
  ])(
    'is forgotten with its tokens at %s, audited for every account, and told so afterwards',
    async (type, more) => {
      const { service, driver } = await useInstalled()
      const before = await driver.command('/countersign', 'help')
      expect(shownText(before.body.blocks)).toContain('Countersign in Slack')
      const answer = await driver.event({ type, ...more })
      expect([answer.status, answer.text]).toEqual([200, ''])
      await waitUntil(async () => expect(await kept(service)).toBeUndefined())
      await waitUntil(() => expect(effective(service)).toHaveLength(1))
      const inbox = await service.composition.connection.db?.collection('audit_inbox').find({}).toArray()
      const entries = JSON.stringify(inbox)
      expect(entries).toContain('chat.uninstalled')
      expect(entries).toContain('acc_one')
      expect(entries).toContain('acc_two')
      const after = await driver.command('/countersign', 'help')
      expect(shownText(after.body.blocks)).toContain('This workspace is not connected')
    },
  )

  it('may say so twice', async () => {
    const { service, driver } = await useInstalled()
    await driver.event({ type: 'tokens_revoked', tokens: { bot: ['U0BOT'] } })
    await driver.event({ type: 'app_uninstalled' })
    await waitUntil(() => expect(removals(service).map(({ fields }) => fields.removed)).toContain(false))
    expect(effective(service)).toHaveLength(1)
  })

  it.each(['installations', 'audit'] as const)(
    'is forgotten when Slack says it again, although %s failed the first time',
    async (what) => {
      const { service, driver } = await useInstalled()
      const { installations, audit } = service.composition.deps
      const { remove } = installations
      const { append } = audit
      const fail = async () => {
        throw new Error('no store')
      }
      if (what === 'audit') audit.append = fail
      else installations.remove = fail
      const said = JSON.stringify(eventPayload(slack, { type: 'app_uninstalled' }))
      // The very same bytes: Slack's first repeat comes within the same second.
      const sent = { contentType: 'application/json', timestamp: Math.floor(Date.now() / 1000) }
      const failed = await driver.post(said, sent)
      expect([failed.status, failed.text]).toEqual([503, ''])
      expect(await kept(service)).toBeDefined()
      Object.assign(installations, { remove })
      Object.assign(audit, { append })
      const again = await driver.post(said, { ...sent, retry: { num: 1, reason: 'http_error' } })
      expect([again.status, again.text]).toEqual([200, ''])
      expect(await kept(service)).toBeUndefined()
      expect((await driver.post(said, sent)).status).toBe(200)
      expect(removals(service)).toHaveLength(1)
      const inbox = await service.composition.connection.db?.collection('audit_inbox').find({}).toArray()
      expect(JSON.stringify(inbox).match(/chat\.uninstalled/g)).toHaveLength(2)
    },
  )

  it('is forgotten, without a word of failure, when that takes longer than Slack waits', async () => {
    const { service, driver } = await useInstalled()
    const { installations } = service.composition.deps
    const { remove } = installations
    let goOn = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    installations.remove = async (...which) => {
      await gate
      return remove(...which)
    }
    const where = { fields: { event_id: 'Ev0SLOW' }, hasty: true }
    expect((await driver.event({ type: 'app_uninstalled' }, where)).status).toBe(503)
    goOn()
    const said = () => service.logged.map(({ message }) => message)
    await waitUntil(() => expect(said()).toContain('an answer to Slack came too late'))
    const again = await driver.event(
      { type: 'app_uninstalled' },
      { ...where, retry: { num: 1, reason: 'x' } },
    )
    expect([again.status, await kept(service)]).toEqual([200, undefined])
    expect(said()).toContain('Slack sent a message twice; the second is ignored')
    expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('is the one whose installation the event is for', async () => {
    const { service, driver } = await useInstalled()
    const authorizedBy = (team_id: string) => [{ enterprise_id: null, team_id, is_enterprise_install: false }]
    await driver.event({ type: 'app_uninstalled' }, { fields: { authorizations: authorizedBy('T0OTHER') } })
    await waitUntil(() => expect(removals(service)[0]).toMatchObject({ fields: { tenant: 'T0OTHER' } }))
    expect(await kept(service)).toBeDefined()
    const fields = { team_id: 'T0OTHER', authorizations: authorizedBy(slack.teamId) }
    await driver.event({ type: 'app_uninstalled' }, { fields })
    await waitUntil(async () => expect(await kept(service)).toBeUndefined())
  })

  it('stays when one person takes their own token back', async () => {
    const { service, driver } = await useInstalled()
    await driver.event({ type: 'tokens_revoked', tokens: { oauth: ['U0ANA'], bot: [] } })
    await driver.event({ type: 'tokens_revoked' })
    await driver.command('/countersign', 'help')
    expect(await kept(service)).toBeDefined()
    expect(removals(service)).toEqual([])
  })

  it('keeps an installation that is newer than the event', async () => {
    const { service, driver } = await useInstalled()
    await install(service, new Date())
    const event_time = Math.floor(Date.now() / 1000) - 120
    await driver.event({ type: 'app_uninstalled' }, { fields: { event_time } })
    await waitUntil(() =>
      expect(service.logged.map(({ message }) => message)).toContain(
        'a removal was reported after the app had been installed again; it is ignored',
      ),
    )
    expect(await kept(service)).toBeDefined()
  })

  it.each(['app_uninstalled', 'tokens_revoked'])(
    'keeps an installation whose token Slack accepts: %s may come late',
    async (type) => {
      const { service, driver } = await useInstalled()
      slack.behave(() => undefined)
      expect((await driver.event({ type, tokens: { bot: ['U0BOT'] } })).status).toBe(200)
      await waitUntil(() =>
        expect(service.logged.map(({ message }) => message)).toContain(
          'a removal was reported after the app had been installed again; it is ignored',
        ),
      )
      expect(await kept(service)).toBeDefined()
    },
  )

  it('keeps one that comes while the removal is written down', async () => {
    const { service } = await useInstalled()
    const { deps } = service.composition
    const { account_id } = await addPerson(service, 'owner@example.com')
    const installed = (await kept(service)) ?? expect.unreachable()
    await deps.installations.put({ ...installed, account_ids: [account_id] })
    const append: typeof deps.audit.append = async (...entries) => {
      await deps.audit.append(...entries)
      await install(service, new Date())
    }
    const audit = { ...deps.audit, append }
    expect(await removeInstallation({ ...deps, audit }, 'slack', slack.teamId)).toBe(false)
    expect(await kept(service)).toMatchObject({ account_ids: ['acc_one', 'acc_two', account_id] })
    expect((await deps.accounts.find(account_id))?.chat_troubles).toEqual([])
  })

  it('cannot be named by a stranger', async () => {
    const { service } = await useInstalled()
    const stranger = createSlackDriver({ url: service.url, signingSecret: 'guess', teamId: slack.teamId })
    const answer = await stranger.event({ type: 'app_uninstalled' })
    expect([answer.status, answer.text]).toEqual([401, ''])
    expect(await kept(service)).toBeDefined()
  })

  it('says of one channel that the app left it or joined it, where it may tell that: so does Integrations', async () => {
    const { service, driver } = await useInstalled()
    const { account_id } = await addPerson(service, 'owner@example.com')
    const installed = (await kept(service)) ?? expect.unreachable()
    await service.composition.deps.installations.put({ ...installed, account_ids: [account_id] })
    const place = { platform: 'slack', tenant: slack.teamId }
    const channels = ['C1', 'C2'].map((channel) => ({ ...place, channel, name: `n-${channel}` }))
    await alter(service, 'accounts', account_id, { channels })
    const troubles = async () =>
      (await service.composition.deps.accounts.find(account_id))?.chat_troubles ?? []
    const joined = { type: 'member_joined_channel', channel: 'C1' }
    for (const type of ['channel_left', 'group_left']) {
      for (const channel of ['C1', 'C-of-nobody'])
        expect((await driver.event({ type, channel })).status).toBe(200)
      // Where the machine halts, the answer goes out before the event is handled.
      const trouble = { ...place, channel: 'C1', name: 'n-C1', reason: 'app_removed' }
      await waitUntil(async () => expect(await troubles()).toMatchObject([trouble]))
      // Of whoever joins Slack tells, too; which of them is the app, the envelope says.
      await driver.event({ ...joined, user: 'U0000ANA' })
      expect(await troubles()).toHaveLength(1)
      await driver.event({ ...joined, user: 'U0BOT' })
      await waitUntil(async () => expect(await troubles()).toEqual([]))
    }
    const other = createSlackDriver({ url: service.url, signingSecret: SIGNING_SECRET, teamId: 'T0OTHER' })
    await other.event({ type: 'channel_left', channel: 'C1' })
    for (const channel of [undefined, 7, { $ne: '' }]) await driver.event({ type: 'channel_left', channel })
    expect(await troubles()).toEqual([])
  })

  it('is only noted in the log when its token comes from the environment', async () => {
    const { driver, logged } = await useSlackService(slack)
    expect((await driver.event({ type: 'app_uninstalled' })).status).toBe(200)
    await waitUntil(() =>
      expect(logged('a Slack workspace removed the app')).toMatchObject([
        { tenant: slack.teamId, removed: false },
      ]),
    )
  })
})
