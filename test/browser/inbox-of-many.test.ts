import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, stopClock } from '../support/browser.ts'
import { samplePending } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('an inbox of many', () => {
  const suite = usePageSuite()
  let page: Page

  beforeEach(async () => {
    page = (await suite.visit()).page
  })
  const rows = (): Locator => page.locator('.inbox-row')
  const looks = (): number => suite.server().calls.filter((call) => call === 'GET /me/pending').length
  const open = async (): Promise<void> => {
    await page.goto('/')
    await page.getByRole('heading', { name: 'Pending requests' }).waitFor()
  }

  // 2,000 are what bench/inbox-scroll.mjs measures.
  it('lists 600 page by page, draws those in sight, and finds each by search, key, screen reader and on return', async () => {
    const [created, end] = ['created_at', 'expires_at'].map((name) =>
      Date.parse(Object(samplePending())[name]),
    )
    suite.server().state.pending = Array.from({ length: 600 }, (_, at) =>
      samplePending({
        ...{
          id: `req_${at}`,
          action: `Pay invoice ${at}.`,
          created_at: new Date(Number(created)).toISOString(),
        },
        expires_at: new Date(Number(end) + at * 1000).toISOString(),
      }),
    )
    await stopClock(page)
    await open()
    await expect.poll(() => rows().count()).toBe(600)
    await expect.poll(() => page.title()).toBe('(600) Inbox · Countersign')
    expect(looks()).toBe(6)
    // A screen reader finds rows that are not drawn, though none that is hidden.
    const links = (drawn: boolean): Promise<number> =>
      page.evaluate(
        `[...document.querySelectorAll('.inbox-open')].filter((link) => link.checkVisibility({ contentVisibilityAuto: ${drawn} })).length`,
      )
    expect(await links(false)).toBe(600)
    await expect.poll(() => links(true)).toBeLessThan(200)

    await page.keyboard.press('/')
    await page.locator('input:focus').fill('invoice 598.')
    await expect.poll(() => page.locator('.inbox-row:visible').count()).toBe(1)
    expect(await page.locator('#waiting h2').first().innerText()).toBe('Pending requests 1 of 600')
    await page.getByRole('searchbox').fill('')
    await rows().nth(598).getByRole('link').focus()
    await page.keyboard.press('j')
    const chosen = page.locator('.inbox-row:has([aria-current="true"])')
    await expect.poll(() => chosen.textContent()).toContain('Pay invoice 599.')
    const below = `document.activeElement.getBoundingClientRect().bottom - innerHeight`
    expect(await page.evaluate(below)).toBeLessThanOrEqual(0)
    await page.reload()
    await expect.poll(() => chosen.textContent()).toContain('Pay invoice 599.')
  })

  it('keeps the order and the focus of a long list when a request comes and one goes', async () => {
    const { state } = suite.server()
    const end = Date.parse(samplePending().expires_at)
    const nth = (at: number) =>
      samplePending({
        id: `req_${at}`,
        action: `Invoice ${at}.`,
        expires_at: new Date(end + at * 1000).toISOString(),
      })
    state.pending = Array.from({ length: 260 }, (_, at) => nth(at * 10))
    await page.clock.install()
    await open()
    await expect.poll(() => rows().count()).toBe(260)
    await rows().nth(100).getByRole('link').focus()
    state.pending = [...state.pending.slice(1), nth(15), nth(1255)]
    await page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(261)
    const expected = Array.from({ length: 259 }, (_, at) => (at + 1) * 10)
      .concat(15, 1255)
      .sort((a, b) => a - b)
    expect(await rows().locator('.inbox-action').allTextContents()).toEqual(
      expected.map((at) => `Invoice ${at}.`),
    )
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Invoice 1000.')
    await page.getByRole('combobox', { name: 'Order' }).selectOption('By caller')
    expect(await page.evaluate(`document.querySelectorAll('.inbox-part').length`)).toBeGreaterThan(5)
  })

  it('shows the number on the icons, as long as it is followed', async () => {
    await page.addInitScript(`
      navigator.setAppBadge = async (count) => { window.badge = count }
      navigator.clearAppBadge = async () => { sessionStorage.setItem('badge', 'cleared') }`)
    const icon = (): Promise<unknown> => page.evaluate(`document.querySelector('link[rel="icon"]').href`)
    suite.server().state.pending = Array.from({ length: 3 }, (_, at) => samplePending({ id: `req_${at}` }))
    await open()
    await expect.poll(icon).toMatch(/^data:image\/svg\+xml,.*%3E3%3C%2Ftext/)
    expect(await page.evaluate('window.badge')).toBe(3)
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await expect.poll(icon).toMatch(/\/assets\/favicon-/)
    suite.server().state.pending = []
    await open()
    await expect.poll(() => page.evaluate('window.badge')).toBe(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate(`sessionStorage.getItem('badge')`)).toBe('cleared')
  })

  it('has the theme that was chosen in this browser, from the first moment and on every page', async () => {
    const shown = (): Promise<unknown> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const [light, dark] = ['rgb(243, 245, 244)', 'rgb(15, 21, 19)']
    // What is known before the page's own script runs.
    await page.addInitScript(
      `addEventListener('DOMContentLoaded', () => { window.early = document.documentElement.dataset.theme }, { once: true })`,
    )
    await page.emulateMedia({ colorScheme: 'light' })
    for (const [choice, system, colour] of [
      ['Dark', 'light', dark],
      ['Light', 'dark', light],
      ['As the system', 'dark', dark],
    ] as const) {
      await page.emulateMedia({ colorScheme: system })
      await page.goto('/account')
      const reloaded = page.waitForEvent('load')
      await page.getByRole('combobox', { name: 'Colours' }).selectOption(choice)
      await reloaded
      await expect.poll(shown).toBe(colour)
      await page.goto('/a/req_7K2M9Q4R8S1T6W5X0YZABCDEFG')
      expect(await shown()).toBe(colour)
      const early = choice === 'As the system' ? undefined : choice.toLowerCase()
      expect(await page.evaluate('window.early'), 'no flash').toBe(early)
    }
  })
})
