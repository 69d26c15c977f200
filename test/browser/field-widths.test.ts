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

  it.each(['/', '/keys'])(
    'show every command whole on %s: what is cut off at the side looks complete',
    async (path) => {
      suite.server().state.keys = []
      const { page } = await suite.visit()
      await page.goto(path)
      await page.getByLabel('Name of the key').fill('ci')
      await page.getByRole('button', { name: 'Create your first API key' }).click()
      await page.locator('.command').first().waitFor()
      const cut = `[...document.querySelectorAll('.secret-box > :first-child')].filter((box) => box.scrollWidth > box.clientWidth).length`
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate(cut), `${width} px`).toBe(0)
      }
    },
  )

  it.each([320, 1440])('show both reminders at once at %i px', async (width) => {
    people.policy.reminders = [0.25, 0.95]
    const { page } = await suite.visit({ viewport: { width, height: 800 } })
    await page.goto('/settings')
    const field = page.getByLabel('Reminders')
    expect(await field.inputValue()).toBe('25, 95')
    const hidden = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('[name=reminders]'))`
    expect(await page.evaluate(hidden)).toBe(0)
  })

  it.each([320, 360, 1440])('leave a backup code whole, in one line, at %i px', async (width) => {
    const { page } = await suite.visit({ viewport: { width, height: 800 } })
    await page.goto('/account')
    await page.getByRole('button', { name: 'Renew the backup codes' }).click()
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Confirm with the code' }).click()
    await page.locator('.backup-codes').waitFor()
    const broken = `[...document.querySelectorAll('.backup-codes code')]
      .filter((code) => code.clientHeight > 48 || code.scrollWidth > code.clientWidth).length`
    expect(await page.evaluate(broken)).toBe(0)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
  })
})
