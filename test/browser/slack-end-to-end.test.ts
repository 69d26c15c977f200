import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OPEN_LINK_ID } from '../../adapters/slack/answers.ts'
import { ACTION_IDS } from '../../adapters/slack/cards.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { buttonsOf, shownText } from '../support/block-parts.ts'
import { describeInBrowser } from '../support/browser.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { createKey, type Person, useServiceSuite } from '../support/service-suite.ts'
import { createSlackDriver, type SlackReply } from '../support/slack-driver.ts'
import { type SlackEmulator, type SlackMessage, startSlack } from '../support/slack-emulator.ts'

const SIGNING_SECRET = 'e2e0e2e0e2e0e2e0e2e0e2e0e2e0e2e0'

const run = promisify(execFile)

describeInBrowser('Slack, from a curl to a verdict in the channel', () => {
  let slack: SlackEmulator
  const env: Record<string, string> = {}
  beforeAll(async () => {
    slack = await startSlack({ users: [{ name: 'ana', email: 'ana@example.com' }] })
    Object.assign(env, {
      SLACK_API_URL: slack.apiUrl,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
    })
  })
  const suite = useServiceSuite({ env, work: true })
  afterAll(() => slack.close())

  const driver = () =>
    createSlackDriver({ url: suite.service().url, signingSecret: SIGNING_SECRET, teamId: slack.teamId })
  const ana = () => ({ user: slack.user('ana'), userName: 'ana' })

  /** Asks as the README does. */
  const curl = async (key: string, body: object): Promise<string> => {
    const { stdout } = await run('curl', [
      ...['-sS', '-X', 'POST', `${suite.service().url}/api/v1/approvals/request`],
      ...['-H', `Authorization: Bearer ${key}`, '-H', 'Content-Type: application/json'],
      ...['-d', JSON.stringify(body)],
    ])
    const answer: Record<string, unknown> = Object(JSON.parse(stdout))
    expect(answer, stdout).toMatchObject({ status: 'pending' })
    return String(answer.id)
  }

  /** The one message about the request, once it satisfies the check. */
  const card = async (
    id: string,
    check: (shown: string) => void = () => undefined,
  ): Promise<SlackMessage> => {
    let found: SlackMessage | undefined
    await waitUntil(async () => {
      const messages = await slack.dmOf(slack.user('ana'))
      const about = messages.filter((message) => JSON.stringify(message).includes(id))
      expect(about).toHaveLength(1)
      found = about[0]
      check(shownText(found?.blocks))
    })
    return found ?? expect.unreachable()
  }

  const setUp = async (): Promise<{ owner: Person; key: string }> => {
    const owner = await suite.visit()
    await owner.page.goto(suite.service().setupUrl ?? expect.unreachable())
    await owner.page.getByLabel('E-mail').fill('ana@example.com')
    await owner.page.getByLabel('Your name').fill('Ana Pereira')
    await owner.page.getByRole('button', { name: 'Create a passkey' }).click()
    await owner.page
      .getByRole('heading', { name: 'From an API key to a checked receipt, in four steps' })
      .waitFor()
    return { owner, key: await createKey(owner, 'deploy-bot') }
  }

  const link = async ({ page }: Person): Promise<void> => {
    const answer = await driver().command('/countersign', 'link', ana())
    expect(answer.body.response_type).toBe('ephemeral')
    await page.goto(buttonUrl(answer.body.blocks, OPEN_LINK_ID))
    await page.getByRole('button', { name: 'Confirm and link' }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
  }

  it('asks, reaches the person, links, decides with a passkey, edits the card, and /verify agrees', async () => {
    const { owner, key } = await setUp()
    const { page } = owner
    const service = suite.service()

    const early = await curl(key, { action: 'Rotate the signing certificate' })
    await card(early, (shown) => {
      expect(shown).toContain('Rotate the signing certificate')
      expect(shown).toContain('/countersign link')
    })
    await link(owner)

    const id = await curl(key, {
      action: 'Pay invoice 4711 to Example Ltd',
      context: { agent_name: 'billing', amount: '1200.00', currency: 'EUR' },
    })
    const asked = await card(id, (shown) => {
      expect(shown).toContain('Pay invoice 4711 to Example Ltd')
      expect(shown).toContain('1200.00')
      expect(shown).not.toContain('/countersign link')
    })
    const waiting = await driver().command('/countersign', 'pending', ana())
    expect(shownText(waiting.body.blocks)).toContain('Pay invoice 4711 to Example Ltd')

    const approve = buttonUrl(asked.blocks, ACTION_IDS.approve)
    expect(approve).toBe(`${service.url}/a/${id}?d=approve`)
    const opened = await slack.call('conversations.open', { users: slack.user('ana') })
    const channel = String(Object(opened.channel).id)
    const click = await driver().click({ ...asked, channel }, ACTION_IDS.approve, slack.user('ana'))
    expect([click.status, click.text]).toEqual([200, ''])
    expect(await status(service.url, key, id)).toMatchObject({ status: 'pending' })

    await page.goto(approve)
    await page.getByText('Add a comment').click()
    await page.getByLabel('Comment (optional)').fill('Matches the purchase order.')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()

    const read = await status(service.url, key, id)
    expect(read).toMatchObject({ status: 'approved', decision: { method: 'passkey' } })
    const decisionId = String(Object(read.decision).id)
    const decided = await card(id, (shown) => {
      expect(shown).toContain('Approved')
      expect(shown).toContain('Passkey')
      expect(shown).toContain('Matches the purchase order.')
      expect(shown).not.toContain('1200.00')
    })
    expect(decided.ts).toBe(asked.ts)
    expect(JSON.stringify(decided.blocks)).not.toContain(ACTION_IDS.approve)
    await waitUntil(async () => {
      const [reply, ...others] = await slack.threadOf(channel, decided.ts)
      expect(others).toEqual([])
      expect(shownText(reply?.blocks)).toContain(decisionId)
    })

    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    const receipt = JSON.stringify(read.decision)
    const offline = verifyReceiptJson(JSON.parse(receipt), keys)
    if (!offline.valid) expect.unreachable(offline.message)
    expect(offline.payload.rid).toBe(id)
    for (const asked of [id, decisionId, receipt]) {
      const verdict = said(await driver().command('/verify', asked, ana()), 'ephemeral')
      expect(verdict).toContain('The receipt is valid: a person approved this.')
      expect(verdict).toContain(decisionId)
      expect(verdict).toContain(offline.payload.approver)
      expect(verdict).toContain(offline.kid)
    }
    const shared = said(await driver().command('/verify', `${id} share`, ana()), 'in_channel')
    expect(shared).toContain('The receipt is valid: a person approved this.')
    expect(shared).not.toContain('1200.00')
    const forged = receipt.replace('approved', 'rejected')
    expect(said(await driver().command('/verify', forged, ana()), 'ephemeral')).toContain('Not valid')
  })
})

function said(answer: SlackReply, to: 'ephemeral' | 'in_channel'): string {
  expect([answer.status, answer.body.response_type]).toEqual([200, to])
  return shownText(answer.body.blocks)
}

function buttonUrl(blocks: unknown, actionId: string): string {
  const found = Array.isArray(blocks) ? buttonsOf(blocks) : []
  return String(found.find(({ action_id }) => action_id === actionId)?.url ?? expect.unreachable())
}

async function status(url: string, key: string, id: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/api/v1/approvals/${id}`, {
    headers: { Authorization: `Bearer ${key}` },
  })
  return Object(await response.json())
}
