import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { batchArea } from '../support/page-batch-answers.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const SENTENCE =
  'Careful: This API key was revoked after it made the request. Reject the request unless you know that it should still be carried out.'
const LOST = { key_name: 'lost-agent', account_name: 'Example Ltd', key_revoked: true } as const

const warnings = (within: Page | Locator): Locator => within.locator('.notice.warning', { hasText: SENTENCE })

describeInBrowser('a request of a key that was revoked since', () => {
  const suite = usePageSuite()

  it('is marked in the inbox, also when the key is revoked while one looks', async () => {
    const { page } = await suite.visit()
    const { state } = suite.server()
    state.pending = [samplePending(), samplePending({ id: 'req_2', action: 'Send the newsletter' })]
    await page.clock.install()
    await page.goto('/')
    await page.locator('.inbox-row').nth(1).waitFor()
    expect(await page.getByText('Key revoked').count()).toBe(0)
    state.pending = [samplePending(), samplePending({ id: 'req_2', requested_by: LOST })]
    await page.clock.runFor(5500)
    await page.getByText('Key revoked').waitFor()
    expect(await page.locator('.inbox-row').nth(1).innerText()).toContain('Key revoked')
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await overflow(page)).toBe(0)
  })

  it('is marked on its own page while one writes a comment, which stays', async () => {
    const { page } = await suite.visit()
    const { state } = suite.server()
    await page.clock.install()
    await page.goto(`/a/${sampleReview().id}`)
    const comment = page.getByRole('textbox', { name: /^Comment/ })
    await page.getByText('Add a comment').click()
    await comment.fill('Looks right')
    state.review = { ...sampleReview(), ...state.review, requested_by: LOST }
    // The page looks every four seconds.
    await page.clock.runFor(4500)
    await warnings(page).waitFor()
    expect(await page.locator('.request-head').innerText()).toContain(SENTENCE)
    expect(await page.locator('#announcements').innerText()).toContain(
      'was revoked after it made the request',
    )
    expect(await comment.inputValue()).toBe('Looks right')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
    const looks = () => suite.server().calls.filter((call) => call.endsWith('/review')).length
    for (let more = 0; more < 2; more += 1) {
      const before = looks()
      await page.clock.runFor(4500)
      await expect.poll(looks).toBeGreaterThan(before)
    }
    expect(await warnings(page).count()).toBe(1)
  })

  it('is marked on its own page, before what the caller wrote', async () => {
    const { page } = await suite.visit()
    suite.server().state.review = sampleReview({ requested_by: LOST })
    await page.goto(`/a/${sampleReview().id}`)
    await warnings(page).waitFor()
    expect(await page.locator('.request-head').innerText()).toContain(SENTENCE)
    expect(await axeViolations(page)).toEqual([])
  })
})

describeInBrowser('requests of a revoked key among others', () => {
  const area = batchArea()
  const suite = usePageSuite(area)

  it('are marked before they are signed together', async () => {
    const { page } = await suite.visit()
    area.state.reviews = area.state.reviews.map((review) =>
      review.id === 'req_2' ? sampleReview({ ...review, requested_by: LOST }) : review,
    )
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Approve 3 selected' }).click()
    const rows = page.getByRole('dialog').locator('.batch-item')
    await rows.nth(2).waitFor()
    expect(await warnings(rows.nth(2)).count()).toBe(1)
    expect(await warnings(page.getByRole('dialog')).count()).toBe(1)
    expect(await axeViolations(page)).toEqual([])
  })
})
