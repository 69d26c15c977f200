import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { freePort } from '../support/service.ts'
import { type Person, useServiceSuite } from '../support/service-suite.ts'
import { type SlackEmulator, startSlack } from '../support/slack-emulator.ts'

const SIGNING_SECRET = 'e2e0e2e0e2e0e2e0e2e0e2e0e2e0e2e0'
const HOSTILE = 'Acme <b>&Co'

const slackText = async ({ page }: Person): Promise<string> => {
  await page.goto('/integrations')
  return page.getByRole('region', { name: 'Slack', exact: true }).innerText()
}

describeInBrowser('the page of integrations where owners install the Slack app', () => {
  let slack: SlackEmulator
  const env: Record<string, string> = {}
  beforeAll(async () => {
    const port = await freePort()
    const redirectUris = [`http://localhost:${port}/slack/oauth_redirect`]
    const users = [{ name: 'ana', email: 'ana@example.com' }]
    slack = await startSlack({ teamName: HOSTILE, users, redirectUris })
    Object.assign(env, {
      SLACK_API_URL: slack.apiUrl,
      SLACK_CLIENT_ID: slack.clientId,
      SLACK_CLIENT_SECRET: slack.clientSecret,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
    })
    options.port = port
  })
  const options: { env: Record<string, string>; port?: number } = { env }
  const suite = useServiceSuite(options)
  afterAll(() => slack.close())

  it('adds a workspace through the consent page of Slack, lists it and removes it', async () => {
    const person = await suite.signedIn('ana@example.com')
    const { page, incidents } = person
    expect(await slackText(person)).toContain('No workspace gets cards of this account yet.')
    await page.getByRole('link', { name: 'Add to Slack' }).click()
    await page.waitForURL(`${slack.siteUrl}/**`)
    await page.locator('form', { hasText: 'ana' }).getByRole('button').first().click()
    await page.getByRole('heading', { name: 'Countersign is installed in Slack' }).waitFor()
    // The only way that leads to another site, and the owner went it.
    expect(incidents.filter((incident) => !incident.startsWith(`request ${slack.siteUrl}/`))).toEqual([])
    incidents.length = 0

    await page.getByRole('link', { name: 'Go to your integrations' }).click()
    await page.getByRole('button', { name: `Remove the workspace ${HOSTILE}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The workspace is removed.').waitFor()
    expect(await slackText(person)).toContain('No workspace gets cards of this account yet.')
    expect(await suite.service().composition.deps.installations.find('slack', slack.teamId)).toBeUndefined()
  })
})

describeInBrowser('the page of integrations where the operator connected one workspace', () => {
  let slack: SlackEmulator
  const env: Record<string, string> = {}
  beforeAll(async () => {
    slack = await startSlack({ teamName: HOSTILE, users: [] })
    Object.assign(env, {
      SLACK_API_URL: slack.apiUrl,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
    })
  })
  const suite = useServiceSuite({ env })
  afterAll(() => slack.close())

  it('names it as fixed, and says so on a page to whoever follows a link to the installation', async () => {
    const person = await suite.signedIn('ben@example.com')
    const { page } = person
    expect(await slackText(person)).toContain(`Cards go to the workspace ${HOSTILE}.`)
    await page.goto('/slack/install')
    await page.getByRole('heading', { name: 'Slack is connected already' }).waitFor()
    await page.getByRole('link', { name: 'Go to your integrations' }).click()
    await page.getByRole('heading', { name: 'Integrations', exact: true }).waitFor()
  })
})
