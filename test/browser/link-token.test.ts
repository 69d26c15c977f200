import type { Page, Request } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { LINK_TOKEN } from '../support/page-chat-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LINK = `/link#${LINK_TOKEN}`

/** Everything by which the token could leave the page or outlive it. */
async function traces(page: Page): Promise<unknown> {
  return page.evaluate(`({
    address: location.href,
    referrer: document.referrer,
    state: JSON.stringify(history.state),
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, window.name]),
    html: document.documentElement.outerHTML,
    title: document.title,
  })`)
}

/** All that a request told the service. */
async function contentOf(request: Request): Promise<{ path: string; head: string; body: string }> {
  const { pathname, search } = new URL(request.url())
  const head = JSON.stringify([pathname, search, await request.allHeaders()])
  return { path: pathname, head, body: request.postData() ?? '' }
}

describeInBrowser('the token of a link from chat', () => {
  const suite = usePageSuite()

  it('is in three JSON bodies and nowhere else: no address, header, storage, document or history (T14)', async () => {
    const { page, incidents } = await suite.visit()
    const requests: Request[] = []
    page.on('request', (request) => void requests.push(request))
    await page.goto(LINK)
    await page.getByRole('heading', { name: /^Link/ }).waitFor()
    expect(JSON.stringify(await traces(page))).not.toContain(LINK_TOKEN)
    await page.getByRole('button', { name: 'Confirm and link' }).click()
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Confirm with the code' }).click()
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(JSON.stringify(await traces(page))).not.toContain(LINK_TOKEN)
    await page.getByRole('link', { name: 'Go to your account' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    expect(JSON.stringify(await traces(page))).not.toContain(LINK_TOKEN)

    const sent = await Promise.all(requests.map(contentOf))
    const withToken = sent.filter(({ body }) => body.includes(LINK_TOKEN)).map(({ path }) => path)
    const [use, proven] = ['/api/v1/chat-links/use', '/api/v1/chat-links/use']
    expect(withToken, 'without and with the proof').toEqual(['/api/v1/chat-links/look', use, proven])
    expect(sent.filter(({ head }) => head.includes(LINK_TOKEN))).toEqual([])
    expect(sent.filter(({ head }) => /"referer":"[^"]/i.test(head))).toEqual([])
    expect(incidents).toEqual([])
  })

  it('does not come back with the back button', async () => {
    const { page } = await suite.visit()
    await page.goto('/account')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.goto(LINK)
    await page.getByRole('heading', { name: /^Link/ }).waitFor()
    await page.goto('/signin?next=/account')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.goBack()
    await page.waitForURL('**/link')
    expect(page.url()).toBe(`${suite.server().url}/link`)
    await page.getByRole('heading', { name: /^Link|^Open the complete link again/ }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    expect(suite.server().calls).not.toContain('POST /chat-links/use')
  })

  it('is gone after a reload, which says so and where to get the link again', async () => {
    const { page } = await suite.visit()
    await page.goto(LINK)
    await page.getByRole('heading', { name: /^Link/ }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Open the complete link again' }).waitFor()
    const text = await page.locator('main').innerText()
    expect(text).toContain('this address is only half of the link.')
    expect(text).toContain('Open the link in the chat again')
  })

  it('leaves the address and asks the service nothing when it is no token', async () => {
    const { page } = await suite.visit()
    const cut = LINK_TOKEN.slice(1)
    for (const fragment of [
      '#short',
      `#${LINK_TOKEN}x`,
      `#${cut}`,
      '#',
      '',
      '#%00',
      `#token=${LINK_TOKEN}`,
    ]) {
      // Else only the fragment changes, and nothing is opened.
      await page.goto('about:blank')
      await page.goto(`/link${fragment}`)
      await page.getByRole('heading', { name: 'Open the complete link again' }).waitFor()
      expect(page.url(), fragment).toBe(`${suite.server().url}/link`)
      expect(suite.server().calls, fragment).toEqual([])
    }
  })

  it('of a second link in the same tab is taken out of the address as well', async () => {
    const { page } = await suite.visit()
    await page.goto('/link')
    await page.getByRole('heading', { name: 'Open the complete link again' }).waitFor()
    await page.evaluate(`location.hash = '${LINK_TOKEN}'`)
    await page.getByRole('heading', { name: /^Link/ }).waitFor()
    expect(page.url()).toBe(`${suite.server().url}/link`)
    expect(JSON.stringify(await traces(page))).not.toContain(LINK_TOKEN)
  })

  it('survives the way over the content', async () => {
    const { page } = await suite.visit()
    await page.goto(LINK)
    await page.getByRole('heading', { name: /^Link/ }).waitFor()
    await page.locator('.skip-link').focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/link#content')
    await page.getByRole('button', { name: 'Confirm and link' }).click()
    await page.getByRole('dialog').waitFor()
    expect(suite.server().calls.filter((call) => call.endsWith('/look'))).toHaveLength(1)
  })
})
