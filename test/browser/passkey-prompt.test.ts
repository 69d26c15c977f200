import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, FULL_BROWSER } from '../support/browser.ts'
import { LINK_TOKEN, sampleLink } from '../support/page-chat-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

/** Counts the prompts that are open, so that a test sees whether leaving one took it back. */
const WATCH = `
  window.open = 0
  for (const way of ['get', 'create']) {
    const original = navigator.credentials[way].bind(navigator.credentials)
    navigator.credentials[way] = (options) => {
      window.open += 1
      return original(options).finally(() => { window.open -= 1 })
    }
  }`

const ASKING = 'your browser asks for your passkey now'
const STOPPED = 'The passkey prompt was stopped or timed out.'

describeInBrowser('a passkey prompt that nobody answers', () => {
  const suite = usePageSuite()

  /** Without `ownPrompt` the browser shows no window of its own, as those do whose prompt leaves the page usable. */
  const visit = async (path: string, ownPrompt = false): Promise<Page> => {
    suite.server().state.keys = []
    const { page, context } = await suite.visit({}, ownPrompt ? FULL_BROWSER : undefined)
    if (!ownPrompt) await (await context.newCDPSession(page)).send('WebAuthn.enable')
    await page.addInitScript(WATCH)
    await page.goto(path)
    await page.locator('h1').waitFor()
    return page
  }
  const expectPrompts = async (page: Page, count: number): Promise<void> => {
    await expect.poll(() => page.evaluate('window.open')).toBe(count)
  }
  const signInWithCode = async (page: Page): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByText(STOPPED).waitFor()
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Code', { exact: true }).fill('123456')
    await page.getByRole('button', { name: 'Sign in with the code' }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  }

  it('gives way to a code on the sign-in page', async () => {
    suite.server().state.signedIn = false
    const page = await visit('/signin')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText(ASKING).waitFor()
    await expectPrompts(page, 1)
    await signInWithCode(page)
  })

  it('ends by itself where Chromium keeps its own prompt open and the page gets no clicks', async () => {
    suite.server().state.signedIn = false
    const page = await visit('/signin', true)
    await page.clock.install()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText(ASKING).waitFor()
    await expectPrompts(page, 1)
    await page.clock.runFor(61_000)
    await page.getByText(STOPPED).waitFor()
    await expectPrompts(page, 0)
    await signInWithCode(page)
  })

  it('is said to be open, can be stopped, and can be asked for again', async () => {
    suite.server().state.signedIn = false
    const page = await visit('/signin')
    const button = page.getByRole('button', { name: 'Sign in with a passkey' })
    for (const time of ['first', 'second']) {
      await button.click()
      await page.getByText(ASKING).waitFor()
      await expectPrompts(page, 1)
      await button.press('Enter')
      await expect
        .poll(() => page.locator('#announcements').innerText(), { message: time })
        .toBe('Still working, please wait')
      await page.getByRole('button', { name: 'Stop waiting' }).press('Enter')
      await page.getByText(STOPPED).waitFor()
      await expectPrompts(page, 0)
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Sign in with a passkey')
      expect(await button.getAttribute('aria-disabled')).toBe(null)
    }
  })

  it('gives way to a code while deciding, and nothing is decided twice', async () => {
    const page = await visit(`/a/${sampleReview().id}`)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText(ASKING).waitFor()
    await expectPrompts(page, 1)
    expect(await page.locator('.decision-buttons [aria-disabled="true"]').allInnerTexts()).toEqual([
      'Reject',
      'Approve',
    ])
    await page.getByRole('button', { name: 'Approve' }).press('Enter')
    await expect
      .poll(() => page.locator('#announcements').innerText())
      .toBe('The first press is still in progress. Nothing else was started.')
    await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await page.getByText(STOPPED).waitFor()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    const decisions = suite.server().calls.filter((call) => call.endsWith('/decision'))
    expect(decisions).toHaveLength(1)
  })

  it('is taken back when the step-up is cancelled, and gives way to a code in it', async () => {
    const page = await visit('/account')
    const begin = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Renew the backup codes' }).click()
      await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
      await page.getByText(ASKING).waitFor()
      await expectPrompts(page, 1)
    }
    await begin()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expectPrompts(page, 0)
    await begin()
    await page.getByText('Use a code instead').click()
    await page.getByText(STOPPED).waitFor()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Confirm with the code' }).click()
    await page.locator('.backup-codes').waitFor()
  })

  it('gives way to an authenticator app while enrolling', async () => {
    const page = await visit('/setup#good-token')
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Your name').fill('Ana')
    await page.getByRole('button', { name: 'Create a passkey' }).click()
    await page.getByText(ASKING).waitFor()
    await expectPrompts(page, 1)
    await page.getByRole('button', { name: 'Use an authenticator app' }).click()
    await page.getByRole('heading', { name: 'Set up your authenticator app' }).waitFor()
    await expectPrompts(page, 0)
  })
})

describeInBrowser('a browser without passkeys, such as a window inside a chat app', () => {
  const suite = usePageSuite()
  const visit = async (path: string): Promise<Page> => {
    const { page } = await suite.visit()
    await page.addInitScript('delete window.PublicKeyCredential')
    await page.goto(path)
    await page.locator('h1').waitFor()
    return page
  }
  const sentence = 'this browser cannot use passkeys; windows inside other apps never can.'

  it('says before anything is pressed that only another browser can, and gives the link', async () => {
    suite.server().state.review = sampleReview({ methods: ['passkey'] })
    const page = await visit(`/a/${sampleReview().id}`)
    expect(await page.locator('.decision-bar').innerText()).toContain(sentence)
    expect(await page.getByRole('button', { name: /^(Approve|Reject)$/ }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Copy the link to this page' }).innerText()).toBe(
      'Copy link',
    )
    suite.server().state.signedIn = false
    await page.goto('/signin')
    expect(await page.locator('.card').innerText()).toContain(sentence)
    expect(await page.getByLabel('E-mail').isVisible()).toBe(true)
  })

  it('takes a code at once where one is allowed, also to confirm a change', async () => {
    const page = await visit(`/a/${sampleReview().id}`)
    expect(await page.getByRole('radio').count()).toBe(0)
    await page.locator('.decision-bar').getByLabel('Code from your authenticator app').fill('123456')
    await page.keyboard.press('Enter')
    await page.getByText('Press Approve or Reject.').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    const pdf = await page.pdf({ format: 'A4' })
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g), 'printed pages').toHaveLength(1)
    await page.goto('/account')
    await page.getByRole('button', { name: 'Renew the backup codes' }).click()
    await page.getByLabel('Code from your authenticator app').waitFor()
    expect(await page.getByRole('button', { name: 'Confirm with a passkey' }).count()).toBe(0)
  })

  it.each([
    ['/link', LINK_TOKEN, ''],
    ['/link', LINK_TOKEN, 'Confirm and link'],
    ['/setup', 'good-token', ''],
    ['/enroll', 'good-token', ''],
  ])('%s copies the whole link, whose secret stands nowhere in the page: %#', async (path, token, press) => {
    suite.server().state.signedIn = press !== ''
    suite.server().state.stepUp = ['passkey']
    const page = await visit(`${path}#${token}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    if (press !== '') await page.getByRole('button', { name: press }).click()
    const copy = page.getByRole('button', { name: 'Copy the link to this page' })
    await copy.click()
    await page.getByRole('button', { name: 'Copied: the link to this page' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `${suite.server().url}${path}#${token}`,
    )
    expect(await page.evaluate('document.documentElement.outerHTML + location.href')).not.toContain(token)
    expect(await axeViolations(page)).toEqual([])
  })

  it('where nothing may be copied, says where the link is', async () => {
    suite.server().state.signedIn = false
    const page = await visit(`/link#${LINK_TOKEN}`)
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error())`)
    await page.getByRole('button', { name: 'Copy the link to this page' }).click()
    await page
      .getByRole('button', { name: 'Not copied: use the link from the message in which you got it' })
      .waitFor()
  })

  it('a browser made known leads on without its link, which is used', async () => {
    suite.server().state.signedIn = false
    suite.server().state.chat.link = sampleLink({ kind: 'browser' })
    const page = await visit(`/link#${LINK_TOKEN}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Trust this browser' }).click()
    await page.getByRole('button', { name: 'Copy the link to this page' }).click()
    await page.getByRole('button', { name: 'Copied: the link to this page' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`${suite.server().url}/`)
  })
})
