import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { LINK_TOKEN, sampleLink } from '../support/page-chat-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('a link from chat that is about a channel or a browser', () => {
  const suite = usePageSuite()
  let page: Page

  beforeEach(async () => {
    page = (await suite.visit()).page
  })
  const channel = (): void => {
    suite.server().state.chat.link = sampleLink({ kind: 'channel', channel: 'deploys' })
  }
  const browser = (): void => {
    suite.server().state.chat.link = sampleLink({ kind: 'browser' })
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const main = (): Promise<string> => page.locator('main').innerText()
  const open = async (): Promise<void> => {
    await page.goto(`/link#${LINK_TOKEN}`)
    await page.locator('h1').waitFor()
  }
  const confirm = async (): Promise<void> => {
    await button('Confirm and notify the channel').click()
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await button('Confirm with the code').click()
  }

  it('channel: says which channel is told what of which account, and by whom it is read', async () => {
    channel()
    await open()
    expect(await page.locator('h1').innerText()).toBe(
      'Notify the channel #deploys of the Slack workspace Example Ltd of every request of the account of Ana Pereira, ana@example.com?',
    )
    const text = await main()
    expect(text).toContain('It sees action, caller and status, never the details.')
    expect(text).toContain('continue only if you typed /countersign channel in Slack yourself a moment ago.')
    expect(text).toContain('Everyone in this channel, now or later, sees the requests of your account')
  })

  it('channel: names a private one, whose name Slack does not tell, without a #', async () => {
    suite.server().state.chat.link = sampleLink({ kind: 'channel', channel: 'private channel G0SECRET' })
    await open()
    expect(await page.locator('h1').innerText()).toMatch(
      /^Notify the private channel G0SECRET of the Slack workspace Example Ltd of every request /,
    )
  })

  it('channel: is added after a fresh proof for this link', async () => {
    channel()
    await open()
    const asked = page.waitForRequest('**/me/step-up/options')
    await confirm()
    expect((await asked).postDataJSON()).toEqual({ operation: 'chat.channel', target: sampleLink().id })
    await page.getByRole('heading', { name: 'The channel will be notified' }).waitFor()
    expect(await page.locator('#announcements').innerText()).toBe('The channel will be notified')
    expect(await main()).toContain(
      'If nothing arrives, add the Countersign app to the channel: type /invite @Countersign in it.',
    )
    const onward = page.getByRole('link', { name: 'Go to your integrations' })
    expect(await onward.getAttribute('href')).toBe('/integrations')
  })

  it('channel: asks whoever is not signed in to sign in first', async () => {
    channel()
    suite.server().state.signedIn = false
    await open()
    expect(await page.locator('h1').innerText()).toBe('Sign in to notify a channel')
    expect(await main()).toContain('It is about the channel #deploys of the Slack workspace Example Ltd.')
  })

  it('channel: says so when somebody else asked for the link, and lets them sign in', async () => {
    channel()
    suite.server().state.chat.refuse = 'chat_link_not_yours'
    await open()
    await button('Confirm and notify the channel').click()
    await page.getByRole('heading', { name: 'Someone else asked for this link' }).waitFor()
    expect(await main()).toContain('you are signed in as Ana Pereira, ana@example.com.')
    expect(await main()).toContain(
      'or type /countersign channel in Slack yourself to get a link of your own.',
    )
    await button('Sign in as someone else').click()
    await page.getByRole('heading', { name: 'Sign in to notify a channel' }).waitFor()
    expect(suite.server().state.signedIn).toBe(false)
  })

  it('channel: says when the account has as many as it may have, before a proof is asked for', async () => {
    channel()
    suite.server().state.chat.refuse = 'channel_limit'
    await open()
    await button('Confirm and notify the channel').click()
    await page.getByText('has reached the limit of 5 channels; remove one first.').waitFor()
  })

  it('channel: says why it was not connected and what to do, in words and not in codes of the platform', async () => {
    channel()
    suite.server().state.chat.refuse = 'channel_unreachable'
    await open()
    await confirm()
    const words =
      'The app cannot post in this channel, so nothing was connected; add the app to it, then confirm again.'
    await page.getByText(words).waitFor()
    expect(await main()).not.toContain('not_in_channel')
  })

  it('browser: one button without signing in, then the codes are offered at once', async () => {
    browser()
    suite.server().state.signedIn = false
    await open()
    expect(await page.locator('h1').innerText()).toBe(
      'Trust this browser for signing in with e-mail and code?',
    )
    expect(await main()).toContain('Requested by Ana P. in the Slack workspace Example Ltd.')
    expect(await main()).toContain('and only on your own device.')
    const used = page.waitForRequest('**/chat-links/use')
    await button('Trust this browser').click()
    expect((await used).postDataJSON()).toEqual({ token: LINK_TOKEN })
    await page.getByRole('heading', { name: 'This browser is trusted now' }).waitFor()
    expect(await page.locator('#announcements').innerText()).toBe('This browser is trusted now')
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Code', { exact: true }).fill('123456')
    await button('Sign in with the code').click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  })

  it('browser: works with the keyboard alone', async () => {
    browser()
    suite.server().state.signedIn = false
    await open()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Trust this browser')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'This browser is trusted now' }).waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('This browser is trusted now')
  })

  it('browser: says who is signed in already', async () => {
    browser()
    await open()
    await button('Trust this browser').click()
    await page.getByText('From now on you can also sign in here with codes.').waitFor()
    expect(await main()).toContain('You are signed in as Ana Pereira, ana@example.com.')
    expect(await page.getByRole('link', { name: 'Go to your account' }).count()).toBe(1)
  })

  it('browser: a link that ended meanwhile says what to type again', async () => {
    browser()
    await open()
    suite.server().state.chat.link = undefined
    await button('Trust this browser').click()
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    expect(await main()).toContain('Type /countersign browser in Slack again')
  })

  it('browser: the way out uses nothing', async () => {
    browser()
    await open()
    await button('I did not ask for this').click()
    await page.getByText('it can be an attempt to interfere with how you sign in.').waitFor()
    expect(suite.server().calls).not.toContain('POST /chat-links/use')
  })
})
