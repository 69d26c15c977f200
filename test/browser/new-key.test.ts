import { expect, it } from 'vitest'
import { describeInBrowser, overflow } from '../support/browser.ts'
import { keysArea } from '../support/page-keys-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('a new API key', () => {
  const area = keysArea()
  const suite = usePageSuite(area)

  it.each([360, 1440])(
    'shows commands that keep their lines and scroll inside their box at %i px',
    async (width) => {
      area.keys = []
      const { page } = await suite.visit({ viewport: { width, height: 800 } })
      await page.goto('/keys')
      await page.getByLabel('Name of the key').fill('deploy-bot')
      await page.getByRole('button', { name: 'Create your first API key' }).click()
      const heading = page.getByRole('heading', { name: 'Your new API key' })
      await heading.waitFor()
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Your new API key')
      expect(await page.getByRole('heading', { name: 'Create your first API key' }).count()).toBe(0)
      expect(await overflow(page)).toBeLessThanOrEqual(0)

      const commands: unknown = await page.evaluate(`[...document.querySelectorAll('.command')].map((box) => {
      const lines = box.textContent.split('\\n').length
      const height = parseFloat(getComputedStyle(box).lineHeight) * lines
      return { tabIndex: box.tabIndex, wrapped: box.scrollHeight > height + 20, inside: box.clientWidth < innerWidth }
    })`)
      const whole = { tabIndex: 0, wrapped: false, inside: true }
      expect(commands).toEqual([whole, whole, whole])
    },
  )

  it('says what comes after the first request, up to the checked receipt', async () => {
    const { page } = await suite.visit()
    const { url } = suite.server()
    await page.goto('/keys')
    await page.getByLabel('Name of the key').fill('deploy-bot')
    await page.getByRole('button', { name: 'Create an API key' }).click()
    const text = await page.locator('.new-key').innerText()
    for (const part of [
      `curl -X POST ${url}/api/v1/approvals/request`,
      'The request appears in your inbox by itself',
      `curl '${url}/api/v1/approvals/req_…/wait?timeout=25'`,
      'npx countersign verify decision.json',
      `--jwks ${url}/.well-known/jwks.json`,
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('--allow-sandbox')
  })
})
