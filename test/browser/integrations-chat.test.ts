import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, type Visitor } from '../support/browser.ts'
import { SAMPLE_CHANNEL, SAMPLE_IDENTITY } from '../support/page-chat-answers.ts'
import { integrationsArea } from '../support/page-integration-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const HOSTILE = '<script>alert(1)</script>\u202e'
const INSTALLED = '2026-11-02T08:00:00.000Z'

describeInBrowser('chat on the page of integrations', () => {
  const area = integrationsArea()
  const suite = usePageSuite(area)
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const part = (name: string) => page.getByRole('region', { name, exact: true })
  const open = async (): Promise<void> => {
    await page.goto('/integrations')
    await page.getByRole('heading', { name: 'Integrations', exact: true }).waitFor()
  }
  const text = async (name: string): Promise<string> => (await part(name).innerText()).replace(/\s+/g, ' ')

  it('says of a service without chat what its operator can do, and offers nothing that does not work', async () => {
    await open()
    expect(await text('Slack')).toContain('Slack is not set up on this service.')
    await part('Slack').getByText('Set up Slack, step by step').click()
    await part('Microsoft Teams').getByText('Set up Microsoft Teams, step by step').click()
    for (const [name, ...values] of [
      ['Slack', '"socket_mode_enabled": true', 'SLACK_APP_TOKEN=xapp-…', 'doctor slack'],
      ['Microsoft Teams', `${suite.server().url}/api/messages`, 'TEAMS_TENANT_ID=…', 'teams package'],
    ] as const) {
      const copied = await part(name).locator('.copyable').allInnerTexts()
      for (const value of values) expect(copied.join('\n'), name).toContain(value)
      expect(await axeViolations(page)).toEqual([])
    }
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    expect(await page.getByRole('link', { name: /Add/ }).count()).toBe(0)
    expect(await part('Channels notified of every request').count()).toBe(0)
  })

  it('says that the one workspace is fixed by the operator', async () => {
    const workspace = { tenant: 'T1', name: 'Example Ltd', installed_at: null }
    area.apps.slack = { configured: true, mode: 'one', installations: [workspace] }
    await open()
    expect(await text('Slack')).toContain('Cards go to the workspace Example Ltd.')
    expect(await text('Slack')).toContain('it cannot be changed here.')
    expect(await text('Slack')).toContain('type /countersign link in Slack')
    expect(await page.getByRole('link', { name: /Add/ }).count()).toBe(0)
  })

  it('says that Slack has not named the workspace yet, and what helps', async () => {
    area.apps.slack = { configured: true, mode: 'one', installations: [] }
    await open()
    expect(await text('Slack')).toContain('Slack has not said which one yet.')
    expect(await text('Slack')).toContain('npx countersign doctor')
  })

  it('leads to the installation where owners install the app, and lists what is installed', async () => {
    area.apps.slack = { configured: true, mode: 'many', installations: [] }
    await open()
    expect(await text('Slack')).toContain('No workspace gets cards of this account yet.')
    const add = page.getByRole('link', { name: 'Add to Slack' })
    expect(await add.getAttribute('href')).toBe('/slack/install')
    area.apps.slack.installations = [{ tenant: 'T1', name: 'Example Ltd', installed_at: INSTALLED }]
    await open()
    expect(await text('Slack')).toContain('Example Ltd Slack workspace T1 · added 2 Nov 2026')
    expect(await page.getByRole('link', { name: 'Add another workspace' }).count()).toBe(1)
  })

  it('leaves the page for the installation: it is none of the dashboard’s', async () => {
    area.apps.slack = { configured: true, mode: 'many', installations: [] }
    await page.route('**/slack/install', (route) =>
      route.fulfill({ body: 'to Slack', contentType: 'text/plain' }),
    )
    await open()
    await page.getByRole('link', { name: 'Add to Slack' }).click()
    await page.getByText('to Slack', { exact: true }).waitFor()
  })

  it('asks first, then removes a workspace, and says so', async () => {
    const workspace = { tenant: 'T1', name: 'Example Ltd', installed_at: INSTALLED }
    area.apps.slack = { configured: true, mode: 'many', installations: [workspace] }
    await open()
    await page.getByRole('button', { name: 'Remove the workspace Example Ltd' }).click()
    expect(await page.getByRole('dialog').innerText()).toContain('under “Manage apps”')
    area.refuse = { code: 'not_found' }
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await part('Slack').getByText('There is no such resource').waitFor()
    area.refuse = undefined
    await page.getByRole('button', { name: 'Remove the workspace Example Ltd' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The workspace is removed.').waitFor()
    expect(area.sent.at(-1)).toEqual({ platform: 'slack', tenant: 'T1' })
    expect(await text('Slack')).toContain('No workspace gets cards')
  })

  it('says since when a workspace takes no cards, why, and what to do', async () => {
    const unavailable = [
      { tenant: 'T1', since: '2026-11-20T10:00:00.000Z', reason: 'token_revoked', advice: 'Add it again.' },
    ]
    area.apps.slack = { configured: true, mode: 'many', installations: [], unavailable }
    await open()
    expect(await text('Slack')).toMatch(
      /Slack refuses cards in T1 since .*2026.* \(token_revoked\)\. Add it again\./,
    )
    await page.getByRole('button', { name: 'Give up the workspace T1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Give up' }).click()
    await page.getByText('The workspace is given up.').waitFor()
    expect(area.sent.at(-1)).toEqual({ platform: 'slack', tenant: 'T1' })
    // One that is still installed has its own button; one connected by the operator is not the owner's.
    for (const [mode, installations] of [
      ['many', [{ tenant: 'T1', name: 'Example Ltd', installed_at: null }]],
      ['one', []],
    ] as const) {
      area.apps.slack = { configured: true, mode, installations: [...installations], unavailable }
      await open()
      expect(await text('Slack')).toContain('Slack refuses cards in T1')
      expect(await page.getByRole('button', { name: /^Give up/ }).count()).toBe(0)
    }
  })

  it('names the organisation of Teams, and as whom one is linked', async () => {
    area.apps.teams = { configured: true, tenants: ['tid-1'] }
    suite.server().state.chat.identities = [
      SAMPLE_IDENTITY,
      { ...SAMPLE_IDENTITY, key: 'teams:t:u', platform: 'teams', person: 'Ana in Teams' },
    ]
    await open()
    expect(await text('Microsoft Teams')).toContain('Cards go to the organisation tid-1.')
    area.apps.teams = { ...area.apps.teams, name: 'Example Ltd' }
    await open()
    expect(await text('Microsoft Teams')).toContain('Cards go to the organisation Example Ltd.')
    expect(await text('Microsoft Teams')).toContain(
      'You are linked as Ana in Teams; unlink on your account page.',
    )
    expect(await text('Slack')).toContain('Slack is not set up on this service.')
  })

  it('lists the channels that are told, removes one after a question, and says how to add one', async () => {
    area.apps.slack = { configured: true, mode: 'one', installations: [] }
    suite.server().state.chat.channels = [SAMPLE_CHANNEL]
    await open()
    expect(await text('Channels notified of every request')).toContain('#deploys Slack workspace Example Ltd')
    const unavailable = {
      since: '2026-11-20T10:00:00.000Z',
      reason: 'not_in_channel',
      advice: 'Invite it again.',
    }
    suite.server().state.chat.channels = [{ ...SAMPLE_CHANNEL, unavailable }]
    await open()
    expect(await text('Channels notified of every request')).toMatch(
      /#deploys .*It refuses cards since .*2026.* \(not_in_channel\)\. Invite it again\./,
    )
    await page.getByRole('button', { name: 'Remove #deploys' }).click()
    const sent = page.waitForRequest('**/account/channels/remove')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    const { platform, tenant, channel } = SAMPLE_CHANNEL
    expect((await sent).postDataJSON()).toEqual({ platform, tenant, channel })
    await page.getByText('The channel is removed.').waitFor()
    expect(await text('Channels notified of every request')).toContain('No channel is notified.')
    expect(await text('Channels notified of every request')).toContain('type /countersign channel in Slack')
  })

  it('does not take the webhooks with it when it cannot be read', async () => {
    await page.route('**/account/chat-apps', (route) => route.fulfill({ status: 503, body: 'down' }))
    await open()
    expect(await text('Chat')).toContain('The service answered with status 503.')
    expect(await part('Create a webhook').count()).toBe(1)
    await page.unroute('**/account/chat-apps')
    await part('Chat').getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Slack is not set up').waitFor()
  })

  it('shows names as names (T43, T45)', async () => {
    const workspace = { tenant: 'T1', name: HOSTILE, installed_at: INSTALLED }
    area.apps.slack = { configured: true, mode: 'many', installations: [workspace] }
    suite.server().state.chat.channels = [{ ...SAMPLE_CHANNEL, name: HOSTILE, workspace: 'Example' }]
    await open()
    const shown = HOSTILE.replace('\u202e', '[U+202E]')
    expect(await page.locator('.chat-entry bdi.caller-text').allInnerTexts()).toEqual([
      shown,
      `#${shown}`,
      'Example',
    ])
    await page.getByRole('button', { name: `Remove the workspace ${shown}` }).click()
    expect(await page.getByRole('dialog').innerText()).toContain(shown)
    expect(visitor.incidents).toEqual([])
  })
})
