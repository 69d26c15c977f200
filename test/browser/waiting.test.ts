import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, stopClock, type Visitor } from '../support/browser.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const SECOND = 'req_00000000000000000000000002'

describeInBrowser('pending requests', () => {
  const suite = usePageSuite()
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit()
  })
  const rowsOf = (page: Page): Locator => page.locator('.inbox-row')
  const rows = (): Locator => rowsOf(visitor.page)
  const open = async (): Promise<void> => {
    await visitor.page.goto('/')
    await visitor.page.getByRole('heading', { name: 'Pending requests' }).waitFor()
  }
  const said = (): Promise<string> => visitor.page.locator('#announcements').innerText()
  const looks = (): number => suite.server().calls.filter((call) => call === 'GET /me/pending').length

  it('comes first and says what is asked, by whom, how long there is, and what counts as high impact', async () => {
    const { action, requested_by } = samplePending()
    for (const account of suite.server().state.accounts) account.name = requested_by.account_name
    await open()
    expect(await visitor.page.locator('h2:visible').first().innerText()).toBe('Pending requests')
    const text = await rows().innerText()
    for (const shown of [action, requested_by.key_name, 'High impact']) expect(text).toContain(shown)
    expect(text, 'the account at the head of the page').not.toContain(requested_by.account_name)
    expect(await rows().locator('.time-left').innerText()).toMatch(/^Expires in\s5[89] min$/)
    expect(await visitor.page.locator('.inbox-legend').innerText()).toContain('not checked by Countersign')
    expect([await visitor.page.title(), await said()]).toEqual(['(1) Inbox · Countersign', ''])
  })

  it('leads to the request, from anywhere on its row, and beside the list to either decision', async () => {
    await open()
    expect(await rows().innerText(), 'another account').toContain('Example Ltd')
    await visitor.page.locator('.reading .caller-box').waitFor()
    const reject = visitor.page.locator('.reading').getByRole('link', { name: 'Reject…' })
    expect(await reject.getAttribute('href')).toBe(`/a/${sampleReview().id}?d=reject`)
    await visitor.page.setViewportSize({ width: 390, height: 844 })
    await rows().click({ position: { x: 380, y: 8 } })
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}/a/${sampleReview().id}`)
  })

  it('says what will appear when nothing waits', async () => {
    suite.server().state.pending = []
    await open()
    expect(await rows().count()).toBe(0)
    expect(await visitor.page.getByRole('button', { name: 'Shortcuts' }).isVisible()).toBe(false)
    expect(await visitor.page.locator('#waiting').innerText()).toContain(
      'You have no pending requests. A new request that names you as an approver appears here automatically.',
    )
  })

  it('shows a new request by itself and says it once, without moving the focus', async () => {
    await visitor.page.clock.install()
    await open()
    await rows().first().getByRole('link').focus()
    suite.server().state.pending = [samplePending(), samplePending({ id: SECOND, action: 'Second' })]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(2)
    expect(await said()).toBe('You have a new request')
    expect(await visitor.page.evaluate('document.activeElement.textContent')).toBe(samplePending().action)
    expect(await visitor.page.title()).toBe('(2) Inbox · Countersign')
    await visitor.page.evaluate(`document.querySelector('#announcements').textContent = ''`)
    const before = looks()
    await visitor.page.clock.runFor(5500)
    await expect.poll(looks).toBeGreaterThan(before)
    expect(await said()).toBe('')
  })

  it('takes settled requests away, leaves the others untouched, and does not lose the focus', async () => {
    await visitor.page.clock.install()
    const created_at = new Date().toISOString()
    const first = samplePending()
    const other = samplePending({ id: SECOND, created_at })
    const third = samplePending({ id: 'req_3', created_at })
    suite.server().state.pending = [first, other, third]
    await open()
    await rows().nth(1).getByRole('checkbox').check()
    await rows().first().getByRole('link').focus()
    await visitor.page.locator('.reading .reading-head').waitFor()
    await visitor.page.mouse.move(0, 0)
    suite.server().state.pending = [other, third]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(2)
    expect(await visitor.page.evaluate('document.activeElement.textContent')).toMatch(/^Pending requests/)
    expect(await rows().first().getByRole('checkbox').isChecked()).toBe(true)
    expect(await visitor.page.locator('.reading').innerText()).toContain('no longer needs your decision')
  })

  it('counts down by the clock of the service, whatever that of the device says', async () => {
    const { clock } = visitor.page
    await clock.install({ time: new Date('2001-01-01T00:00:00Z') })
    // Only `runFor` moves it: an answer that comes after the run would set the clock of the service back by it.
    await clock.pauseAt(new Date('2001-01-01T00:01:00Z'))
    const expires_at = new Date(Date.now() + 119_000).toISOString()
    suite.server().state.pending = [samplePending({ expires_at })]
    await open()
    const time = rows().locator('.time-left')
    expect(await time.innerText()).toMatch(/^Expires in\s1 min \d+ s$/)
    expect(await time.getAttribute('class')).toBe('time-left soon')
    await visitor.page.route('**/me/pending', (route) => route.abort())
    await clock.runFor(122_000)
    expect(await time.innerText()).toBe('Expired')
  })

  it('does not look while the page is hidden, nor after the section has left the page', async () => {
    await stopClock(visitor.page)
    await open()
    await visitor.page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })`,
    )
    await visitor.page.clock.runFor(6_000)
    const hidden = looks()
    await visitor.page.clock.runFor(60_000)
    expect(looks()).toBe(hidden)
    await visitor.page.evaluate(
      `document.querySelector('#waiting').remove(); delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`,
    )
    await visitor.page.clock.runFor(60_000)
    expect(looks()).toBe(hidden)
  })

  it('forgets the requests when the session ends, and leaves the rest of the page alone', async () => {
    const { page } = visitor
    suite.server().state.keys = []
    await stopClock(page)
    await open()
    await page.getByText('Create your first API key').click()
    const key = await page.locator('.secret-box code').innerText()
    suite.server().state.signedIn = false
    await rows().first().getByRole('link').focus()
    await page.clock.runFor(5500)
    const ended = page.locator('#waiting', { hasText: 'Your session has ended.' })
    await ended.locator('a[href="/signin?next=%2F"]', { hasText: 'Sign in' }).waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Pending requests')
    expect(await rows().count()).toBe(0)
    expect(await page.locator('main').innerText()).toContain(key)
  })

  it('keeps the list while the service does not answer, says so, and goes on', async () => {
    await visitor.page.clock.install()
    await open()
    await visitor.page.route('**/me/pending', (route) => route.abort())
    await visitor.page.clock.runFor(5500)
    await visitor.page.getByText('This list may be out of date').waitFor()
    expect(await rows().count()).toBe(1)
    await visitor.page.unroute('**/me/pending')
    suite.server().state.pending = []
    await visitor.page.clock.runFor(5500)
    await visitor.page.getByText('You have no pending requests.').waitFor()
    expect(await visitor.page.getByText('This list may be out of date').isVisible()).toBe(false)
  })

  it('keeps hostile text in the frame of the caller: visible, isolated, without markup or badge (T43, T44, T45)', async () => {
    const hostile =
      '<img src=x onerror=alert(1)>\u202e High impact <span class="badge high-impact">Verified</span>'
    suite.server().state.pending = [
      samplePending({
        action: hostile,
        high_impact: false,
        requested_by: { key_name: hostile, account_name: hostile, key_revoked: undefined },
      }),
    ]
    await open()
    expect(await rows().locator('.inbox-action').innerText()).toContain(
      '<img src=x onerror=alert(1)>[U+202E]',
    )
    expect(await rows().locator('.tag.warn').innerText()).toBe('Hidden characters')
    expect(await rows().locator('.badge').count()).toBe(0)
    expect(await visitor.page.locator('main :is(img, script, svg)').count()).toBe(0)
    expect(await rows().locator('bdi.caller-text').count()).toBe(3)
    expect(visitor.incidents).toEqual([])
  })

  it('shows at least 14 rows on a desk and eight on a phone, what ends first on top', async () => {
    const ends = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString()
    const action = 'Send the newsletter of spring to all the customers who asked for it, and to nobody else'
    suite.server().state.pending = Array.from({ length: 16 }, (_, at) =>
      samplePending({
        id: `req_${at}`,
        action: `${at}: ${at === 3 ? 'Pay the invoices of the autumn campaign: 48 120.55 EUR' : action}`,
        expires_at: ends(100 - at),
        high_impact: at === 3,
        quorum: { needed: 2, approved: at === 3 ? 1 : 0 },
        // So that all filters are there.
        requested_by: { key_name: `agent-${at % 2}`, account_name: `Team ${at % 2}`, key_revoked: undefined },
      }),
    )
    const size = async (width: number, height: number, least: number, high: number): Promise<void> => {
      await visitor.page.setViewportSize({ width, height })
      const boxes = (await Promise.all((await rows().all()).map((row) => row.boundingBox()))).map(
        (box) => box ?? { y: 0, height: 0 },
      )
      expect(boxes.filter(({ y, height: tall }) => y + tall <= height).length).toBeGreaterThanOrEqual(least)
      for (const { height: tall } of boxes) expect(Math.abs(Math.round(tall) - high)).toBeLessThanOrEqual(4)
      const cut = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelectorAll('.inbox-row .inbox-action')[12])`
      expect(await visitor.page.evaluate(cut), 'of the amount').toBeLessThanOrEqual(1)
    }
    await open()
    await size(1440, 900, 14, 48)
    await size(390, 844, 8, 68)
    expect(await overflow(visitor.page)).toBeLessThanOrEqual(0)
    const texts = await rows().locator('.inbox-action').allInnerTexts()
    expect(texts.map((text) => Number.parseInt(text, 10))).toEqual(
      Array.from({ length: 16 }, (_, at) => 15 - at),
    )
    expect(await rows().nth(12).innerText()).toContain('High impact')
    expect(await visitor.page.getByText('High impact', { exact: true }).count()).toBe(1)
    expect(await rows().locator('.tag').allTextContents()).toEqual(['1 of 2 approvals'])
  })

  it('moves nothing under the pointer: what is new waits below, what is settled stays, until it has left', async () => {
    await visitor.page.clock.install()
    const soon = samplePending({
      id: SECOND,
      action: 'Soon',
      expires_at: new Date(Date.now() + 90_000).toISOString(),
    })
    suite.server().state.pending = [samplePending(), samplePending({ id: 'req_3', action: 'Third' })]
    await open()
    const time = rows().first().locator('.time-left')
    await time.hover()
    await expect.poll(() => time.getAttribute('title')).toMatch(/^Expires at \d.*UTC$/)
    await rows().first().hover()
    suite.server().state.pending = [soon, samplePending({ id: 'req_3', action: 'Third' })]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(3)
    const actions = (): Promise<string[]> => rows().locator('.inbox-action').allInnerTexts()
    expect(await actions()).toEqual([samplePending().action, 'Third', 'Soon'])
    expect(await rows().first().innerText()).toContain('Settled')
    await visitor.page.mouse.move(0, 0)
    await expect.poll(actions).toEqual(['Soon', 'Third'])
  })

  it('keeps what is read in its place when something urgent comes in above it', async () => {
    await visitor.page.clock.install()
    const many = Array.from({ length: 30 }, (_, at) =>
      samplePending({ id: `req_${at}`, action: `Row ${at}` }),
    )
    suite.server().state.pending = many
    await open()
    await visitor.page.mouse.move(0, 0)
    await visitor.page.evaluate('scrollTo(0, 500)')
    const row = rows().filter({ hasText: 'Row 12' })
    const before = await row.boundingBox()
    const expires_at = new Date(Date.now() + 90_000).toISOString()
    suite.server().state.pending = [...many, samplePending({ id: SECOND, action: 'Soon', expires_at })]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(31)
    expect(await row.boundingBox()).toEqual(before)
  })

  it('is narrowed by who asks, by account and to high impact, and comes back that way and to its place', async () => {
    const by = (key_name: string, account_name = 'Example Ltd') => {
      return { key_name, account_name, key_revoked: undefined }
    }
    suite.server().state.pending = Array.from({ length: 40 }, (_, at) =>
      samplePending({
        id: `req_${at}`,
        high_impact: at % 4 !== 0,
        requested_by: by(at % 2 ? 'deploy-bot' : 'ops', at === 39 ? 'Other' : undefined),
      }),
    )
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 700 })
    await open()
    await page.getByRole('button', { name: 'Filters' }).click()
    // Nothing of it is cut off, nor hidden by something that scrolls.
    const cut = `[...document.querySelectorAll('.inbox-head :is(label, select)')].filter((part) => {
      const { left, right, top, bottom } = part.getBoundingClientRect()
      const shown = [left + 4, right - 4].map((x) => document.elementFromPoint(x, (top + bottom) / 2))
      return part.checkVisibility() && right - left > 1 && !shown.every((seen) => part.contains(seen))
    }).map(({ textContent }) => textContent)`
    expect(await page.evaluate(cut)).toEqual([])
    const { height = 0 } = (await page.getByLabel('Account').boundingBox()) ?? {}
    expect(height, 'for a thumb').toBeGreaterThanOrEqual(44)
    expect(await rows().first().innerText()).toContain('Example Ltd')
    await page.getByLabel('Requested by').selectOption('ops')
    expect(await rows().filter({ visible: true }).count()).toBe(20)
    await page.getByLabel('High impact only').check()
    expect(await rows().filter({ visible: true }).count()).toBe(10)
    expect(new URL(page.url()).search).toBe('?by=ops&impact=high')
    await page.getByLabel('Account').selectOption('Other')
    await page.getByText('No pending requests match these filters.').waitFor()
    await page.goBack()
    await open()
    await page.evaluate('scrollTo(0, 700)')
    await rows().nth(15).getByRole('link').click()
    await page.waitForURL('**/a/req_15')
    await page.goBack()
    await rows().nth(15).waitFor()
    await expect.poll(() => page.evaluate('scrollY')).toBe(700)
  })

  it.each([
    [
      'an iPhone',
      'iPhone; CPU iPhone OS 17_0 like Mac OS X',
      false,
      'Do you have only codes? Add a passkey first',
    ],
    ['an iPad', 'Macintosh; Intel Mac OS X 10_15_7', false, 'press Share, then “Add to Home Screen”'],
    ['the app on an iPhone', 'iPhone; CPU iPhone OS 17_0 like Mac OS X', true, undefined],
    ['Android', 'Linux; Android 14; Pixel 8', undefined, 'in the menu of the browser'],
  ])(
    'says on %s how it comes to the home screen, until it is put away',
    async (_, system, standalone, words) => {
      const { page, incidents } = await suite.visit({
        userAgent: `Mozilla/5.0 (${system}) AppleWebKit/605.1.15`,
        viewport: { width: 390, height: 844 },
        hasTouch: true,
        isMobile: true,
      })
      // As Safari is there; Chromium without windows refuses notifications from the start.
      await page.addInitScript(`{
      const standalone = ${JSON.stringify(standalone ?? null)}
      if (standalone !== null) {
        delete window.PushManager
        for (const [name, value] of [['standalone', standalone], ['maxTouchPoints', 5]]) Object.defineProperty(navigator, name, { value })
      } else Object.defineProperty(Notification, 'permission', { value: 'default' })
    }`)
      const loaded = page.waitForResponse('**/assets/push-*.js')
      await page.goto('/')
      await rowsOf(page).first().waitFor()
      await loaded
      const hint = page.locator('.inbox > .hint')
      if (words === undefined) {
        await page.evaluate('new Promise((done) => setTimeout(done))')
        expect(await hint.count()).toBe(0)
        return
      }
      await hint.waitFor()
      expect(await hint.innerText()).toContain(words)
      expect(await axeViolations(page)).toEqual([])
      expect(await overflow(page)).toBeLessThanOrEqual(0)
      await hint.getByRole('button', { name: 'Do not show again' }).click()
      expect(await page.evaluate('document.activeElement.textContent')).toBe(
        'This is not shown again in this browser.',
      )
      const again = page.waitForResponse('**/assets/push-*.js')
      await page.reload()
      await rowsOf(page).first().waitFor()
      await again
      expect(await hint.count()).toBe(0)
      expect(incidents).toEqual([])
    },
  )

  it('is worked through by keyboard, whose keys `?` tells and one tick takes away', async () => {
    const { page } = visitor
    suite.server().state.pending = [
      samplePending(),
      samplePending({ id: SECOND, action: 'Second' }),
      samplePending({ id: 'req_3', action: 'Third' }),
    ]
    await open()
    await page.keyboard.press('j')
    const current = page.locator('[aria-current=true].inbox-open')
    expect(await current.innerText()).toBe('Second')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    expect(await page.locator('.together-count').innerText()).toBe('2 selected')
    await page.keyboard.press('r')
    await page.getByRole('dialog').getByRole('heading', { name: 'Nothing to decide' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    expect(await page.locator('.together').isVisible()).toBe(false)
    await page.keyboard.press('?')
    for (const said of ['Next request', 'Ctrl K', 'open the next request'])
      expect(await page.getByRole('dialog').innerText()).toContain(said)
    await page.getByRole('checkbox', { name: 'Use shortcuts in this browser' }).uncheck()
    await page.keyboard.press('Escape')
    await page.keyboard.press('k')
    expect(await current.innerText()).toBe('Third')
    await page.getByRole('button', { name: 'Shortcuts' }).click()
    await page.getByRole('checkbox', { name: 'Use shortcuts in this browser' }).check()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await page.keyboard.press('a')
    await page.waitForURL(`**/a/${sampleReview().id}?d=approve`)
  })
})
