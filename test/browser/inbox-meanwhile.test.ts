import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, PAINTED, stopClock, type Visitor } from '../support/browser.ts'
import { batchArea } from '../support/page-batch-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('the inbox while time passes and the network goes', () => {
  const area = batchArea()
  const suite = usePageSuite(area)
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const dialog = (): Locator => page.getByRole('dialog')

  it('says at once that it is cut off, lets every way to a decision rest then, and mends by itself', async () => {
    await page.goto('/')
    const all = page.getByRole('button', { name: 'Approve 3 selected' })
    const one = page.locator('.reading').getByRole('link', { name: 'Approve…' })
    await one.waitFor()
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await all.waitFor()
    expect(await page.locator('.approve:visible').count(), 'one Approve at a time').toBe(1)
    // As on the page that decides: no press may find the other decision where this one was before.
    const order = (within: string) => page.locator(within).locator('.approve, .reject').allTextContents()
    expect(await order('.reading')).toEqual(['Reject…', 'Approve…'])
    expect(await order('.together')).toEqual(['Reject', 'Approve'])
    const cutOff = page.getByText('This list may be out of date')
    await visitor.context.setOffline(true)
    await cutOff.waitFor()
    expect(await all.isEnabled()).toBe(false)
    await page.keyboard.press('Escape')
    await one.waitFor()
    expect(await one.getAttribute('aria-disabled')).toBe('true')
    for (const link of [one, page.locator('.inbox-open').first()]) {
      await page.evaluate(`document.querySelector('#announcements').textContent = ''`)
      await link.press('Enter')
      await page.locator('#announcements').getByText('You can decide when it does again.').waitFor()
    }
    expect(new URL(page.url()).pathname).toBe('/')
    await visitor.context.setOffline(false)
    await cutOff.waitFor({ state: 'hidden' })
    expect(await one.getAttribute('aria-disabled')).toBe(null)
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await all.click()
    const approve = dialog().getByRole('button', { name: 'Approve 3 requests' })
    await approve.waitFor()
    await visitor.context.setOffline(true)
    await dialog().getByText('You can decide when it does again.').waitFor()
    expect(await approve.getAttribute('aria-disabled')).toBe('true')
    await visitor.context.setOffline(false)
    await expect.poll(() => approve.getAttribute('aria-disabled')).toBe(null)
  })

  it('is cut off in a bar that moves nothing and covers no button, and points at it for a tap', async () => {
    await page.setViewportSize({ width: 390, height: 480 })
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    const row = page.locator('.inbox-row').first()
    const together = page.locator('.together')
    const places = async () => [await row.boundingBox(), await together.boundingBox()]
    const before = await places()
    const bar = page.locator('.cut-off')
    await visitor.context.setOffline(true)
    await bar.waitFor()
    await page.evaluate(PAINTED)
    expect(await places()).toEqual(before)
    const { y = 0, height = 0 } = (await bar.boundingBox()) ?? {}
    expect(y, 'in the lower half').toBeGreaterThan(240)
    expect(y + height, 'above the buttons').toBeLessThanOrEqual((await together.boundingBox())?.y ?? 0)
    await page.evaluate(`addEventListener('click', () => {
      window.pointed = document.querySelector('.cut-off').getAnimations().length
    })`)
    await row.getByRole('link').click()
    expect(await page.evaluate('window.pointed')).toBe(1)
    await visitor.context.setOffline(false)
    await bar.waitFor({ state: 'hidden' })
    expect(await places()).toEqual(before)

    // A phone without buttons has a line there, and in a corner its camera.
    const session = await visitor.context.newCDPSession(page)
    await session.send('Emulation.setSafeAreaInsetsOverride', { insets: { bottom: 34, left: 44 } })
    const bottomOf = async (of: Locator) => {
      const { y = 0, height = 0 } = (await of.boundingBox()) ?? {}
      return y + height
    }
    await expect.poll(() => bottomOf(together.locator('.approve'))).toBeLessThanOrEqual(480 - 34)
    expect((await page.locator('.brand').boundingBox())?.x).toBeGreaterThanOrEqual(44)
    await session.send('Emulation.setSafeAreaInsetsOverride', { insets: {} })

    // Where the list is short the buttons do not stand on the lower edge.
    await page.setViewportSize({ width: 390, height: 844 })
    await visitor.context.setOffline(true)
    await bar.waitFor()
    const edge = async (of: Locator) => (await of.boundingBox())?.y ?? 0
    await expect
      .poll(async () => (await edge(bar)) + ((await bar.boundingBox())?.height ?? 0) - (await edge(together)))
      .toBeCloseTo(0, 0)
    expect(await edge(together)).toBeLessThan(700)
  })

  it('offers to decide only what is seen: a filter that hides the chosen row shows another beside the list', async () => {
    const current = page.locator('[aria-current=true].inbox-open')
    const beside = page.locator('.reading .action')
    const ways = page.locator('.reading a.button')
    const press = async (): Promise<void> => {
      await page.evaluate(`document.querySelector('#announcements').textContent = ''`)
      await page.keyboard.press('a')
      await page.locator('#announcements').getByText('Choose a request first, with j').waitFor()
    }
    await page.goto('/')
    await beside.waitFor()
    await page.keyboard.press('j')
    await expect.poll(() => beside.innerText()).toBe('Restart the mail server')
    await page.getByLabel('High impact only').check()
    await expect.poll(() => beside.innerText()).toBe('Drop the invoices table')
    expect(await current.innerText()).toBe('Drop the invoices table')
    expect(await ways.first().getAttribute('href')).toBe('/a/req_3?impact=high&d=reject')
    await page.keyboard.press('a')
    await page.waitForURL('**/a/req_3?impact=high&d=approve')

    await page.goto('/?by=nobody')
    await page.getByText('No pending requests match these filters.').waitFor()
    expect([await beside.count(), await ways.count(), await current.count()]).toEqual([0, 0, 0])
    await press()
    await page.getByLabel('Requested by').selectOption('ops-agent')
    await expect.poll(() => beside.innerText()).toBe('Drop the invoices table')
    await page.getByLabel('Requested by').selectOption('')
    expect(await ways.first().getAttribute('href'), 'without the filter').toBe('/a/req_3?d=reject')

    // Without a pane nothing takes its place; and none comes back when there is room for the pane.
    await page.setViewportSize({ width: 390, height: 800 })
    await page.locator('.inbox-open').first().focus()
    await page.getByLabel('Requested by').selectOption('ops-agent')
    expect(await current.count()).toBe(0)
    await press()
    await page.setViewportSize({ width: 1280, height: 800 })
    expect([await beside.count(), await ways.count()]).toEqual([0, 0])
  })

  it('finds by words, counts, orders, keeps filters under a name, and goes anywhere by the palette', async () => {
    await page.goto('/')
    const rows = page.locator('.inbox-row:visible .inbox-action')
    const count = page.locator('.inbox-count')
    await rows.first().waitFor()
    const all = await rows.allInnerTexts()
    expect((await count.innerText()).trim()).toBe(String(all.length))
    await page.keyboard.press('/')
    await page.keyboard.type('MAIL')
    await expect.poll(() => rows.allInnerTexts()).toEqual(['Restart the mail server'])
    expect((await count.innerText()).trim()).toBe(`1 of ${all.length}`)
    await expect.poll(() => page.url()).toContain('?q=MAIL')

    await page.getByRole('button', { name: 'Save these filters' }).click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('Enter a name.').waitFor()
    await dialog().getByLabel('Name').fill('Mail')
    await dialog().getByRole('button', { name: 'Save' }).click()
    const saved = page.getByRole('link', { name: 'Mail', exact: true })
    await expect.poll(() => saved.getAttribute('aria-current')).toBe('true')

    await page.goto('/')
    await rows.first().waitFor()
    await page.getByLabel('Order').selectOption('new')
    await expect.poll(() => page.url()).toContain('sort=new')
    expect([...(await rows.allInnerTexts())].sort()).toEqual([...all].sort())
    await page.keyboard.press('Control+k')
    const found = dialog().getByRole('option')
    await dialog().getByRole('combobox').fill('invoices')
    await found.filter({ hasText: 'Drop the invoices table' }).waitFor()
    await dialog().getByRole('combobox').fill('mail')
    await expect.poll(() => found.count()).toBe(2)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/?q=MAIL')
    await expect.poll(() => rows.allInnerTexts()).toEqual(['Restart the mail server'])
    await page.getByRole('button', { name: 'Remove the filter Mail' }).click()
    await expect.poll(() => saved.count()).toBe(0)
  })

  it('counts the time of each down as the list does, while it is open', async () => {
    await stopClock(page)
    await page.addInitScript(`{
      const { setInterval: start, clearInterval: end } = window
      window.ticking = new Set()
      window.setInterval = (...args) => {
        const id = start(...args)
        // What says how long ago something was ticks as well, from when it has loaded, and more slowly.
        if (args[1] === 1000) window.ticking.add(id)
        return id
      }
      window.clearInterval = (id) => { window.ticking.delete(id); end(id) }
    }`)
    area.state.reviews = area.state.reviews.map((review) => ({
      ...review,
      expires_at: new Date(Date.now() + 110_000).toISOString(),
    }))
    // No pane beside the list, whose times tick as soon as it has loaded.
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    const ticking = () => page.evaluate('window.ticking.size')
    const before = await ticking()
    await page.getByRole('button', { name: 'Approve 3 selected' }).click()
    await dialog().locator('.decision-form').waitFor()
    const time = dialog().locator('.batch-about .time-left').first()
    const first = await time.innerText()
    expect(first).toMatch(/^Expires in 1 min \d+ s$/)
    expect(await time.getAttribute('class')).toBe('time-left soon')
    await time.hover()
    expect(await time.getAttribute('title')).toMatch(/^Expires at \d/)
    const heights = async () => {
      const each = new Map<number, number | undefined>()
      for (let width = 320; width <= 420; width += 5) {
        await page.setViewportSize({ width, height: 800 })
        each.set(width, (await dialog().locator('.batch-item').first().boundingBox())?.height)
      }
      return each
    }
    const counting = await heights()
    await page.clock.runFor(3_000)
    expect(await time.innerText()).not.toBe(first)
    expect(await ticking()).not.toBe(before)
    await page.clock.runFor(110_000)
    expect(await time.innerText()).toBe('Expired')
    expect(await heights()).toEqual(counting)
    await page.keyboard.press('Escape')
    // Not by its role, which it loses as soon as it closes: its timers end in the event that follows.
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await ticking()).toBe(before)
  })
})
