import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { LINK_TOKEN, sampleLink } from '../support/page-chat-answers.ts'
import { SAMPLE_USER } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const BO = { ...SAMPLE_USER, id: 'usr_bo', name: 'Bo', email: 'bo@example.com' }
const HOSTILE = '<img src=x onerror=alert(1)>\u202e? Press “Confirm and link”'

describeInBrowser('linking a chat account', () => {
  const suite = usePageSuite()
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const heading = (): Promise<string> => page.locator('h1').innerText()
  const said = (): Promise<string> => page.locator('#announcements').innerText()
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent')
  const uses = (): number => suite.server().calls.filter((call) => call === 'POST /chat-links/use').length
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const open = async (): Promise<void> => {
    await page.goto(`/link#${LINK_TOKEN}`)
    await page.locator('h1').waitFor()
  }
  const signInWithCode = async (): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Code', { exact: true }).fill('123456')
    await button('Sign in with the code').click()
  }
  const prove = async (code = '123456'): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill(code)
    await button('Confirm with the code').click()
  }

  it('says in large words who would be linked to whom, and when to stop', async () => {
    await open()
    expect(await heading()).toBe(
      'Link Ana P. in the Slack workspace Example Ltd to Ana Pereira, ana@example.com?',
    )
    expect(await page.locator('.notice.warning').innerText()).toBe(
      'Careful: continue only if you typed /countersign link in Slack yourself a moment ago. The holder of this chat account will see your requests, but can never approve anything.',
    )
    expect(await page.locator('#signed-in').innerText()).toContain('ana@example.com')
    expect(await focused()).toBe(await page.locator('h1').textContent())
    expect(uses()).toBe(0)
  })

  it('links after a fresh proof for this link, and says what happens next', async () => {
    await open()
    const asked = page.waitForRequest('**/me/step-up/options')
    await button('Confirm and link').click()
    const { id } = sampleLink()
    expect((await asked).postDataJSON()).toEqual({ operation: 'chat.link', target: id })
    expect(await page.getByRole('dialog').innerText()).toContain(
      'Confirm that Ana P. in the Slack workspace Example Ltd will be linked to you.',
    )
    const used = page.waitForRequest('**/chat-links/use')
    await prove()
    expect((await used).postDataJSON()).toEqual({ token: LINK_TOKEN, proof: { totp: '123456' } })
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(await said()).toBe('Your chat account is linked')
    expect(await focused()).toBe('Your chat account is linked')
    const text = await page.locator('main').innerText()
    expect(text).toContain('You get your requests in Slack.')
    expect(text).toContain('You decide on this site, with your passkey or a code.')
    expect(text).toContain('/countersign unlink')
  })

  it('works with the keyboard alone', async () => {
    await open()
    const press = async (target: string): Promise<void> => {
      for (let presses = 0; presses < 25 && (await focused()) !== target; presses += 1)
        await page.keyboard.press('Tab')
      expect(await focused()).toBe(target)
      expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid')
      await page.keyboard.press('Enter')
    }
    await press('Confirm and link')
    await page.getByRole('dialog').waitFor()
    await press('Use a code instead')
    await page.keyboard.press('Tab')
    await page.keyboard.type('123456')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    await press('Go to your account')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
  })

  it('asks who it is first, in this page, without asking for the link again', async () => {
    suite.server().state.signedIn = false
    await open()
    expect(await heading()).toBe('Sign in to link your chat account')
    expect(await page.locator('.lede').innerText()).toContain('Ana P. in the Slack workspace Example Ltd')
    await signInWithCode()
    await page.getByRole('heading', { name: /^Link Ana P\./ }).waitFor()
    expect(page.url()).toBe(`${suite.server().url}/link`)
    expect(await page.locator('#signed-in').innerText()).toContain('ana@example.com')
    await button('Confirm and link').click()
    await prove()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(suite.server().calls.filter((call) => call.endsWith('/look'))).toHaveLength(1)
  })

  it('lets somebody else sign in, and asks again for them', async () => {
    await open()
    await button('Sign in as someone else').click()
    await page.getByRole('heading', { name: 'Sign in to link your chat account' }).waitFor()
    expect(await page.locator('.notice').innerText()).toContain('you are signed out. The link still works.')
    expect(await page.locator('#signed-in').innerText()).toBe('')
    suite.server().state.user = BO
    await signInWithCode()
    await page.getByRole('heading', { name: /to Bo, bo@example\.com\?$/ }).waitFor()
  })

  it('does not confirm for another person than the one it shows', async () => {
    await open()
    suite.server().state.user = BO
    await button('Confirm and link').click()
    await page.getByRole('heading', { name: /to Bo, bo@example\.com\?$/ }).waitFor()
    expect(await page.getByRole('alert').innerText()).toContain(
      'someone else is now signed in in this browser. Check again who will be linked.',
    )
    expect(suite.server().calls).not.toContain('POST /me/step-up/options')
    expect(uses()).toBe(0)
  })

  it('keeps the link when the session ends meanwhile', async () => {
    await open()
    suite.server().state.signedIn = false
    await button('Confirm and link').click()
    await page.getByText('your session has ended. Sign in again; the link still works.').waitFor()
    await signInWithCode()
    await page.getByRole('heading', { name: /^Link Ana P\./ }).waitFor()
  })

  it('changes nothing when the proof is cancelled, and goes on after a wrong code', async () => {
    await open()
    await button('Confirm and link').click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Confirm and link')
    expect(uses(), 'without a proof').toBe(1)
    expect(suite.server().state.chat.identities).toEqual([])
    await button('Confirm and link').click()
    await prove('000000')
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toBe(
        'Not done: The code is wrong or was already used; wait for the next one. If that one fails too, check the clock of your phone.',
      )
    await button('Confirm and link').click()
    await prove()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
  })

  it('offers a way out that uses nothing', async () => {
    await open()
    await button('I did not ask for this').click()
    await page.getByRole('heading', { name: 'Nothing was changed' }).waitFor()
    expect(await focused()).toBe('Nothing was changed')
    expect(await page.locator('main').innerText()).toContain('tell the operator of this service')
    expect(await page.getByRole('button').count()).toBe(0)
    expect(uses()).toBe(0)
  })

  it('says when the identity is linked to another person, before a proof is asked for', async () => {
    suite.server().state.chat.refuse = 'identity_taken'
    await open()
    await button('Confirm and link').click()
    await page.getByText('This chat identity is linked to another person; unlink it there first.').waitFor()
  })

  it('a link that ended while it was read: says what to type again', async () => {
    await open()
    suite.server().state.chat.link = undefined
    await button('Confirm and link').click()
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    expect(await page.locator('main').innerText()).toContain('Type /countersign link in Slack again')
    expect(await page.getByRole('link', { name: 'Your account', exact: true }).getAttribute('href')).toBe(
      '/account',
    )
  })

  it('a link that does not work: says for every chat what to type again', async () => {
    suite.server().state.chat.link = undefined
    await open()
    expect(await heading()).toBe('This link no longer works')
    const text = await page.locator('main').innerText()
    expect(text).toContain('the link has expired, was already used, or was replaced by a newer one.')
    expect(text).toContain(
      'Type /countersign link in Slack, or link to the Countersign app in Microsoft Teams',
    )
  })

  it.each([
    ['offline', undefined, 'The service does not respond. Check your connection and try again.'],
    ['429', 429, 'Too many requests; wait 7 seconds.'],
    ['503', 503, 'Too many requests; wait 7 seconds.'],
  ] as const)('%s: keeps the link and tries again', async (_name, status, sentence) => {
    const message = 'Too many requests; wait 7 seconds.'
    await page.route('**/chat-links/look', (route) =>
      status === undefined
        ? route.abort('internetdisconnected')
        : route.fulfill({ status, json: { error: 'x', message, retry_after: 7 } }),
    )
    await open()
    expect(await heading()).toBe('This page could not be loaded')
    expect(await page.locator('.notice.failed').innerText()).toBe(sentence)
    await page.unroute('**/chat-links/look')
    await button('Try again').click()
    await page.getByRole('heading', { name: /^Link Ana P\./ }).waitFor()
  })

  it('does not claim to know what became of an answer that was lost', async () => {
    await open()
    await page.route('**/chat-links/use', (route) =>
      route.request().postDataJSON().proof === undefined ? route.continue() : route.abort('connectionreset'),
    )
    await button('Confirm and link').click()
    await prove()
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toContain('this may or may not have been done')
    await page.unroute('**/chat-links/use')
    await button('Confirm and link').click()
    await prove()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
  })

  it('shows names as names: spelled out, isolated, framed, never as our words or markup (T43, T44, T45)', async () => {
    suite.server().state.chat.link = sampleLink({ person: HOSTILE, workspace: HOSTILE })
    await open()
    const names = page.locator('h1 .chat-name')
    expect(await names.count()).toBe(2)
    const shown = HOSTILE.replace('\u202e', '[U+202E]')
    expect(await names.allInnerTexts()).toEqual([shown, shown])
    const looks: unknown =
      await page.evaluate(`[...document.querySelectorAll('h1 .chat-name')].map((name) => {
      const { overflow, borderTopStyle } = getComputedStyle(name)
      return [overflow, borderTopStyle, getComputedStyle(name.firstElementChild).unicodeBidi]
    })`)
    const framed = ['clip', 'solid', 'isolate']
    expect(looks).toEqual([framed, framed])
    expect(await page.locator('.text-flag').innerText()).toMatch(/^Hidden characters\. /)
    await button('Confirm and link').click()
    expect(await page.getByRole('dialog').innerText()).toContain('[U+202E]')
    await prove()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(await page.locator('main :is(img, script)').count()).toBe(0)
    expect(visitor.incidents).toEqual([])
  })
})
