import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { axeViolations, describeInBrowser, overflow, stopClock } from '../support/browser.ts'
import { sampleConsent } from '../support/page-consent-answers.ts'
import { samplePending } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

/** Counts what the stream has told, so that a test need not guess when it arrives. */
const COUNT_TOLD = `
  window.told = 0
  const listen = EventSource.prototype.addEventListener
  EventSource.prototype.addEventListener = function (type, ...rest) {
    listen.call(this, type, () => { window.told += 1 })
    listen.call(this, type, ...rest)
  }`

describeInBrowser('the inbox by the service’s stream', () => {
  const suite = usePageSuite()
  let page: Page

  beforeEach(async () => {
    // That of the test before must not pass for the one of this page.
    await expect.poll(() => suite.server().inboxes()).toBe(0)
    suite.server().state.events = true
    suite.server().state.pending = []
    page = (await suite.visit()).page
    await stopClock(page)
    await page.addInitScript(COUNT_TOLD)
    await page.goto('/')
    await page.getByText('You have no pending requests.').waitFor()
    await expect.poll(() => suite.server().inboxes()).toBe(1)
  })
  const looks = (): number => suite.server().calls.filter((call) => call === 'GET /me/pending').length

  it('shows a request as soon as it is told, and asks no more than once a minute otherwise', async () => {
    suite.server().state.pending = [samplePending()]
    suite.server().tellInboxes()
    await expect.poll(() => page.evaluate('window.told')).toBe(1)
    await page.clock.runFor(10)
    await page.locator('.inbox-row').waitFor()
    const before = looks()
    await page.clock.runFor(45_000)
    expect(looks()).toBe(before)
    await page.clock.runFor(25_000)
    await expect.poll(looks).toBe(before + 1)
  })

  it('says of what settles before it was read that it waits no more, and not of what stood there', async () => {
    const second = 'req_00000000000000000000000002'
    const tell = async (...pending: PendingRequest[]): Promise<void> => {
      suite.server().state.pending = pending
      const before = Number(await page.evaluate('window.told'))
      suite.server().tellInboxes()
      await expect.poll(() => page.evaluate('window.told')).toBe(before + 1)
      await page.clock.runFor(10)
      await expect.poll(() => page.title()).toBe(`(${pending.length}) Inbox · Countersign`)
    }
    await tell(samplePending(), samplePending({ id: second }))
    const pane = page.locator('.reading')
    await page.locator('.inbox-row').first().getByRole('link').focus()
    await pane.locator('.reading-head').waitFor()
    const mark = `getComputedStyle(document.querySelector('.inbox-open[aria-current]'), '::after').boxShadow`
    expect(await page.evaluate(mark), 'where there is no :has, too').toContain('inset')
    await page.route(`**/${second}/review`, () => undefined)
    const asked = page.waitForRequest(`**/${second}/review`)
    await page.locator('.inbox-row').nth(1).getByRole('link').focus()
    await asked
    await tell(samplePending())
    expect(await pane.innerText()).toContain('no longer needs your decision')
    expect(await pane.innerText()).not.toContain(samplePending().action)
  })

  const other = samplePending({ id: 'req_00000000000000000000000003', action: 'Other' })
  /** On a phone that looks every five seconds. */
  async function otherRow(): Promise<Locator> {
    const { state } = suite.server()
    state.events = false
    const below = Array.from({ length: 8 }, (_, at) => samplePending({ id: `req_below_${at}` }))
    state.pending = [samplePending(), other, ...below]
    const touch = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    page = (await suite.visit(touch)).page
    await stopClock(page)
    await page.goto('/')
    return page.locator('.inbox-row').filter({ hasText: 'Other' })
  }

  it.each([
    [
      'something urgent',
      samplePending({ id: 'req_4', expires_at: new Date(Date.now() + 90_000).toISOString() }),
    ],
    ['a request for a key that ended', undefined],
  ])('takes no tap for a moment after %s moved its rows, but every key', async (_, comes) => {
    const { state } = suite.server()
    state.consents.waiting = [sampleConsent()]
    const row = await otherRow()
    const before = await row.boundingBox()
    if (comes === undefined) state.consents.waiting = []
    else state.pending.push(comes)
    await page.clock.runFor(5500)
    await expect.poll(() => row.boundingBox()).not.toEqual(before)
    const tap = (x: number) => page.touchscreen.tap(x, (before?.y ?? 0) + 8)
    await page.evaluate(`addEventListener('click', (event) => { window.dead = event.defaultPrevented })`)
    for (const x of [20, 200]) {
      await page.evaluate('window.dead = undefined')
      await tap(x)
      await expect.poll(() => page.evaluate('window.dead')).toBe(true)
    }
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)
    await row.getByRole('checkbox').press('Space')
    expect(await page.locator('.together-count').innerText()).toBe('1 selected')
    await page.clock.runFor(1000)
    await row.getByRole('link').tap()
    await page.waitForURL('**/a/*')
  })

  it('has room for the filter by name: no row moves when it comes', async () => {
    const row = await otherRow()
    const before = await row.boundingBox()
    const requested_by = { ...other.requested_by, key_name: 'second' }
    suite.server().state.pending.push(samplePending({ id: 'req_4', requested_by }))
    await page.clock.runFor(5500)
    await expect.poll(() => page.locator('option', { hasText: 'second' }).count()).toBe(1)
    expect(await row.boundingBox()).toEqual(before)
  })

  it('folds like requests, and selects of them what was opened or has no high impact', async () => {
    const like = (n: number, changes = {}) =>
      samplePending({
        ...{ id: `req_${n}`, action: `Refund ${n}`, high_impact: false, kind: 'refund' },
        expires_at: new Date(Date.now() + (60 + n) * 60_000).toISOString(),
        ...changes,
      })
    suite.server().state.pending = [
      like(1),
      samplePending({ id: 'req_other', action: 'Restart', kind: 'restart' }),
      like(2),
      like(3, { high_impact: true }),
      like(4, { high_impact: true, opened: true }),
    ]
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto('/')
    const rows = page.locator('.inbox-row:visible .inbox-action')
    await expect.poll(() => rows.count()).toBe(5)
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByLabel('Group like requests').check()
    await expect.poll(() => rows.count()).toBe(2)
    expect(await page.locator('.inbox-count').innerText(), 'all of them').toContain('5')
    const refunds = page.locator('.inbox-row', { hasText: 'Refund 1' })
    await refunds.getByText('1 of high impact must be opened first').waitFor()
    await refunds.getByRole('button', { name: 'Select 3' }).click()
    await expect.poll(() => page.locator('.together-count').innerText()).toBe('3 selected')
    await refunds.getByRole('button', { name: '3 more like it' }).click()
    await expect.poll(() => rows.allInnerTexts()).toHaveLength(5)
    const shown = await rows.allInnerTexts()
    const first = shown.indexOf('Refund 1')
    expect(shown.slice(first, first + 4)).toEqual(['Refund 1', 'Refund 2', 'Refund 3', 'Refund 4'])
    const ticked = page.locator('.inbox-row', { has: page.getByRole('checkbox', { checked: true }) })
    expect(await ticked.locator('.inbox-action').allInnerTexts()).toEqual([
      'Refund 1',
      'Refund 2',
      'Refund 4',
    ])
    await page.clock.resume()
    expect([await axeViolations(page), await overflow(page)]).toEqual([[], 0])
    await refunds.getByRole('button', { name: 'Show one' }).click()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Group like requests').uncheck()
    await expect.poll(() => rows.count()).toBe(5)
    await expect.poll(() => ticked.count()).toBe(0)
  })

  it('closes the stream when the person goes to another page', async () => {
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await expect.poll(() => suite.server().inboxes()).toBe(0)
  })

  it('closes it while nobody sees the page, and looks at once when somebody does again', async () => {
    await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
    await expect.poll(() => suite.server().inboxes()).toBe(0)
    suite.server().state.pending = [samplePending()]
    await page.evaluate(
      `delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`,
    )
    await page.clock.runFor(10)
    await page.locator('.inbox-row').waitFor()
    await expect.poll(() => suite.server().inboxes()).toBe(1)
  })
})
