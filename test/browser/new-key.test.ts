import { expect, it } from 'vitest'
import { describeInBrowser, overflow } from '../support/browser.ts'
import { keysArea } from '../support/page-keys-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('a new API key', () => {
  const area = keysArea()
  const suite = usePageSuite(area)

  it.each([360, 1440])('shows commands whole, inside their box, at %i px', async (width) => {
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
      const cut = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight
      return { tabIndex: box.tabIndex, cut, inside: box.clientWidth < innerWidth }
    })`)
    const whole = { tabIndex: -1, cut: false, inside: true }
    expect(commands).toEqual([whole, whole, whole])
  })

  it('says what comes after the first request, up to the checked receipt', async () => {
    const { page } = await suite.visit()
    const { url } = suite.server()
    await page.goto('/keys')
    await page.getByLabel('Name of the key').fill('deploy-bot')
    await page.getByRole('button', { name: 'Create an API key' }).click()
    const text = await page.locator('.new-key').innerText()
    for (const part of [
      `curl -X POST ${url}/api/v1/approvals/request`,
      'The request appears in your inbox automatically',
      `curl '${url}/api/v1/approvals/req_…/wait?timeout=25'`,
      'npx countersign verify decision.json',
      `--jwks ${url}/.well-known/jwks.json`,
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('--allow-sandbox')
  })

  it('speaks of a first approval only to whoever had no key, and no more of having none', async () => {
    const { page } = await suite.visit()
    const make = async (button: string): Promise<string[]> => {
      await page.goto('/keys')
      await page.getByLabel('Name of the key').fill('deploy-bot')
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('heading', { name: 'Your new API key' }).waitFor()
      return page.locator('.new-key h3').allInnerTexts()
    }
    expect((await make('Create an API key'))[0]).toBe('Make a request')
    area.keys = area.keys.filter(({ revoked_at }) => revoked_at !== null)
    expect((await make('Create an API key'))[0]).toBe('Make a request')
    const list = await page.getByRole('region', { name: 'Keys of this account' }).innerText()
    expect(list).toContain('Every other key is revoked. Your new one is below')
    area.keys = []
    expect((await make('Create your first API key'))[0]).toBe('Make your first request')
  })
})
