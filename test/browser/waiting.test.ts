import type { Locator } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const SECOND = 'req_00000000000000000000000002'

describeInBrowser('what waits for a person', () => {
  const suite = usePageSuite()
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit()
  })
  const rows = (): Locator => visitor.page.locator('.waiting')
  const open = async (): Promise<void> => {
    await visitor.page.goto('/')
    await visitor.page.getByRole('heading', { name: 'Waiting for you' }).waitFor()
  }
  const said = (): Promise<string> => visitor.page.locator('#announcements').innerText()
  const looks = (): number => suite.server().calls.filter((call) => call === 'GET /me/pending').length

  it('comes first and says what is asked, by whom, how long there is, and what counts as high impact', async () => {
    await open()
    expect(await visitor.page.locator('h2').first().innerText()).toBe('Waiting for you')
    const { action, requested_by } = samplePending()
    const text = await rows().innerText()
    for (const shown of [action, requested_by.key_name, requested_by.account_name, 'High impact'])
      expect(text).toContain(shown)
    expect(await rows().locator('.time-left').innerText()).toMatch(/^5[89] min \d+ s left to decide$/)
    expect(await rows().locator('.caller-box-title').innerText()).toMatch(/^Written by the caller/)
    expect(await said()).toBe('')
  })

  it('leads to the request', async () => {
    await open()
    await rows().getByRole('link', { name: 'Look and decide' }).click()
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}/a/${sampleReview().id}`)
  })

  it('says what will appear when nothing waits', async () => {
    suite.server().state.pending = []
    await open()
    expect(await rows().count()).toBe(0)
    expect(await visitor.page.locator('#waiting').innerText()).toContain(
      'Nothing waits for you now. A request that names you as an approver will appear here by itself.',
    )
  })

  it('says so when the list is as long as the service makes it', async () => {
    suite.server().state.pending = Array.from({ length: 100 }, (_, at) => samplePending({ id: `req_${at}` }))
    await open()
    expect(await rows().count()).toBe(100)
    expect(await visitor.page.locator('#waiting').innerText()).toContain('These are the 100 oldest')
  })

  it('shows a new request by itself and says it once, without moving the focus', async () => {
    await visitor.page.clock.install()
    await open()
    await rows().first().getByRole('link', { name: 'Look and decide' }).focus()
    suite.server().state.pending = [samplePending(), samplePending({ id: SECOND, action: 'Second' })]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(2)
    expect(await said()).toBe('A new request waits for you')
    expect(await visitor.page.evaluate('document.activeElement.textContent')).toBe('Look and decide')
    await visitor.page.evaluate(`document.querySelector('#announcements').textContent = ''`)
    const before = looks()
    await visitor.page.clock.runFor(5500)
    await expect.poll(looks).toBeGreaterThan(before)
    expect(await said()).toBe('')
  })

  it('takes settled requests away, leaves the others untouched, and does not lose the focus', async () => {
    await visitor.page.clock.install()
    const created_at = new Date().toISOString()
    const long = samplePending({ id: SECOND, action: 'word '.repeat(300), created_at })
    suite.server().state.pending = [samplePending(), long]
    await open()
    await visitor.page.getByRole('button', { name: 'Show at full length' }).click()
    await rows().first().getByRole('link', { name: 'Look and decide' }).focus()
    suite.server().state.pending = [long]
    await visitor.page.clock.runFor(5500)
    await expect.poll(() => rows().count()).toBe(1)
    expect(await visitor.page.evaluate('document.activeElement.textContent')).toBe('Waiting for you')
    expect(await visitor.page.getByRole('button', { name: 'Show in a box' }).count()).toBe(1)
  })

  it('counts down by the clock of the service, whatever that of the device says', async () => {
    await visitor.page.clock.install({ time: new Date('2001-01-01T00:00:00Z') })
    const expires_at = new Date(Date.now() + 100_000).toISOString()
    suite.server().state.pending = [samplePending({ expires_at })]
    await open()
    const time = rows().locator('.time-left')
    expect(await time.innerText()).toMatch(/^1 min \d+ s left to decide$/)
    await visitor.page.route('**/me/pending', (route) => route.abort())
    await visitor.page.clock.runFor(102_000)
    expect(await time.innerText()).toBe('The time is up')
  })

  it('does not look while the page is hidden, nor after the section has left the page', async () => {
    await visitor.page.clock.install()
    await open()
    await visitor.page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })`,
    )
    await visitor.page.clock.runFor(6_000)
    const hidden = looks()
    await visitor.page.clock.runFor(60_000)
    expect(looks()).toBe(hidden)
    await visitor.page.evaluate(
      `document.querySelector('#waiting').remove(); delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`,
    )
    await visitor.page.clock.runFor(60_000)
    expect(looks()).toBe(hidden)
  })

  it('forgets the requests when the session ends, and leaves the rest of the page alone', async () => {
    await visitor.page.clock.install()
    suite.server().state.keys = []
    await open()
    await visitor.page.getByRole('button', { name: 'Create your first API key' }).click()
    const key = await visitor.page.locator('.secret-box code').innerText()
    suite.server().state.signedIn = false
    await visitor.page.clock.runFor(5500)
    await visitor.page.getByText('Your session has ended.').waitFor()
    expect(await rows().count()).toBe(0)
    expect(await visitor.page.locator('main').innerText()).toContain(key)
    const link = visitor.page.getByRole('link', { name: 'Sign in', exact: true })
    expect(await link.getAttribute('href')).toBe('/signin?next=/')
  })

  it('keeps the list while the service does not answer, says so, and goes on', async () => {
    await visitor.page.clock.install()
    await open()
    await visitor.page.route('**/me/pending', (route) => route.abort())
    await visitor.page.clock.runFor(5500)
    await visitor.page.getByText('This list may be out of date.').waitFor()
    expect(await rows().count()).toBe(1)
    await visitor.page.unroute('**/me/pending')
    suite.server().state.pending = []
    await visitor.page.clock.runFor(5500)
    await visitor.page.getByText('Nothing waits for you now.').waitFor()
    expect(await visitor.page.getByText('This list may be out of date.').isVisible()).toBe(false)
  })

  it('keeps hostile text in the frame of the caller: visible, isolated, without markup or badge (T43, T44, T45)', async () => {
    const hostile =
      '<img src=x onerror=alert(1)>\u202e High impact <span class="badge high-impact">Verified</span>'
    suite.server().state.pending = [
      samplePending({
        action: hostile,
        high_impact: false,
        requested_by: { key_name: hostile, account_name: hostile, key_revoked: undefined },
      }),
    ]
    await open()
    expect(await rows().locator('.caller-box').innerText()).toContain('<img src=x onerror=alert(1)>[U+202E]')
    expect(await rows().locator('.text-flag').innerText()).toMatch(/^Hidden characters\. /)
    expect(await rows().locator('.badge').count()).toBe(0)
    expect(await visitor.page.locator('main :is(img, script, svg)').count()).toBe(0)
    expect(await rows().locator('bdi.caller-text').count()).toBe(3)
    expect(visitor.incidents).toEqual([])
  })

  it('does not cut a long text', async () => {
    suite.server().state.pending = [samplePending({ action: `${'lorem ipsum '.repeat(120)}THE END` })]
    await open()
    const text = await rows().innerText()
    expect(text).toContain('THE END')
    expect(text).toContain('1,447 characters, scroll to read them all.')
  })
})
