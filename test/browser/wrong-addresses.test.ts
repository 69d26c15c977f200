import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('wrong addresses', () => {
  const suite = useServiceSuite()
  let visitor: Awaited<ReturnType<typeof suite.visit>>
  beforeEach(async () => {
    visitor = await suite.visit()
  })

  it('say to whoever is not signed in, too, that there is no such page, and where to start', async () => {
    const { page } = visitor
    const answer = await page.goto('/nowhere')
    expect(answer?.status()).toBe(404)
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/nowhere')
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await overflow(page)).toBe(0)
    await page.getByRole('link', { name: 'Go to the start' }).click()
    await page.waitForURL('**/signin?next=%2F')
  })

  it('by loopback address lead to localhost, with query and the token that stands behind the #', async () => {
    const { page } = visitor
    const { url } = suite.service()
    const { port } = new URL(url)
    await page.goto(`http://127.0.0.1:${port}/signin?next=/account#kept`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(page.url()).toBe(`${url}/signin?next=/account#kept`)
    const { incidents } = visitor
    expect(incidents.splice(0)).toEqual([`request http://127.0.0.1:${port}/signin?next=/account`])
  })
})
