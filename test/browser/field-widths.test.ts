import { expect, it } from 'vitest'
import { describeInBrowser, overflow } from '../support/browser.ts'
import { historyArea } from '../support/page-history-answers.ts'
import { peopleArea } from '../support/page-people-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const WIDTHS = [320, 360, 414, 480, 600, 768, 1024, 1280, 1440]

/** Fields that stick out of their form, or are narrower than the time in them needs. */
const MISFITS = `[...document.querySelectorAll('main :is(input, select, textarea)')].filter((field) => field.checkVisibility())
  .flatMap((field) => {
    const { right, width } = field.getBoundingClientRect()
    const out = right - field.closest('form, .section-body').getBoundingClientRect().right
    let short = 0
    if (field.type.startsWith('date')) {
      field.style.width = 'max-content'
      short = field.getBoundingClientRect().width - width
      field.style.width = ''
    }
    return out > 0.5 || short > 0.5 ? [field.name + ': ' + Math.round(out) + ' px out, ' + Math.round(short) + ' px short'] : []
  })`

describeInBrowser('fields in their forms', () => {
  const people = peopleArea()
  const suite = usePageSuite(people, historyArea())

  it.each([
    ['/account', '.pair'],
    ['/requests', '.filters'],
    ['/audit', '.filters'],
  ])('fit on %s, from the smallest phone to a desk', async (path, ready) => {
    people.candidates = [{ user_id: 'usr_2', email: 'bo@example.com', name: 'Bo Lind' }]
    const { page } = await suite.visit()
    await page.goto(path)
    await page.locator(ready).waitFor()
    const filters = page.locator('.filters > summary')
    if ((await filters.count()) > 0) await filters.click()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      expect(await page.evaluate(MISFITS), `${width} px`).toEqual([])
      expect(await overflow(page), `${width} px`).toBeLessThanOrEqual(0)
    }
  })
})
