import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { SAMPLE_IDENTITY } from '../support/page-chat-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const HOSTILE = '<script>alert(1)</script>\u202e'

describeInBrowser('chat on the account page', () => {
  const suite = usePageSuite()
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const part = () => page.getByRole('region', { name: 'Chat' })
  const open = async (): Promise<string> => {
    await page.goto('/account')
    await part().waitFor()
    return part().innerText()
  }

  it('says how to link when nothing is linked', async () => {
    const text = await open()
    expect(text).toContain(
      'No chat account is linked. To link yours, type /countersign link in Slack, or link to',
    )
    expect(text).toContain('Nothing can be approved in chat.')
    expect(await part().getByRole('button').count()).toBe(0)
    const { chat } = suite.server().state
    chat.platforms = ['teams']
    expect(await open()).toContain('type link to the Countersign app in Microsoft Teams, and open')
    chat.platforms = []
    const none = await open()
    expect(none).toContain('Neither Slack nor Microsoft Teams is set up on this service')
    expect(none).not.toContain('type')
  })

  it('lists identities with where they are and since when', async () => {
    const { chat } = suite.server().state
    chat.identities = [
      SAMPLE_IDENTITY,
      { ...SAMPLE_IDENTITY, key: 'teams:t:u', platform: 'teams', person: undefined, workspace: undefined },
    ]
    await open()
    const rows = (await part().locator('.entry').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '))
    expect(rows).toEqual([
      'Ana P. Slack workspace Example Ltd · linked 2 Nov 2026 Unlink',
      'teams:t:u Microsoft Teams organisation T024BE7LD · linked 2 Nov 2026 Unlink',
    ])
  })

  it('asks first, then unlinks, and says so', async () => {
    suite.server().state.chat.identities = [SAMPLE_IDENTITY]
    await open()
    await part().getByRole('button', { name: 'Unlink Ana P.' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(suite.server().calls).not.toContain('POST /me/chat/remove')
    await part().getByRole('button', { name: 'Unlink Ana P.' }).click()
    expect(await page.getByRole('dialog').innerText()).toContain('will no longer get your requests.')
    const sent = page.waitForRequest('**/me/chat/remove')
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    expect((await sent).postDataJSON()).toEqual({ key: SAMPLE_IDENTITY.key })
    await page.getByText('The chat account is unlinked.').waitFor()
    expect(await part().locator('.entry').count()).toBe(0)
    expect(await page.evaluate('document.activeElement.className')).toContain('notice success')
  })

  it('says why something was not unlinked and keeps the row', async () => {
    suite.server().state.chat.identities = [SAMPLE_IDENTITY]
    await open()
    await page.route('**/me/chat/remove', (route) => route.abort())
    await part().getByRole('button', { name: 'Unlink Ana P.' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await part().getByText('this may or may not have been done').waitFor()
    expect(await part().locator('.entry').count()).toBe(1)
  })

  it('does not take the rest of the account with it when it cannot be read', async () => {
    await page.route('**/me/chat', (route) => route.fulfill({ status: 503, body: 'down' }))
    expect(await open()).toContain('The service answered with status 503.')
    expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(1)
    await page.unroute('**/me/chat')
    await part().getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No chat account is linked.').waitFor()
  })

  it('leads to the sign-in when the session is over', async () => {
    await page.route('**/me/chat', (route) =>
      route.fulfill({ status: 401, json: { error: 'not_signed_in', message: 'Sign in first.' } }),
    )
    suite.server().state.signedIn = false
    await page.goto('/account')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('shows names as names (T43, T45)', async () => {
    const { chat } = suite.server().state
    chat.identities = [{ ...SAMPLE_IDENTITY, person: HOSTILE, workspace: HOSTILE }]
    await open()
    const shown = HOSTILE.replace('\u202e', '[U+202E]')
    expect(await part().locator('bdi.caller-text').allInnerTexts()).toEqual([shown, shown])
    expect(await part().locator('.text-flag').count()).toBe(1)
    await part()
      .getByRole('button', { name: `Unlink ${shown}` })
      .click()
    expect(await page.getByRole('dialog').innerText()).toContain(shown)
    expect(visitor.incidents).toEqual([])
  })
})
