import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import {
  describeInBrowser,
  NOTE_SHIFTS,
  overflow,
  PAINTED,
  stopClock,
  type Visitor,
} from '../support/browser.ts'
import { historyArea } from '../support/page-history-answers.ts'
import { SAMPLE_USER, samplePending } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const HOME = { id: 'acc_home', name: 'Example Ltd', role: 'auditor', own: false } as const
const OWN = { id: 'acc_own', name: 'Ana Pereira', role: 'owner', own: true } as const

describeInBrowser('the shell of the dashboard', () => {
  const suite = usePageSuite(historyArea())
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const nav = () => page.getByRole('navigation', { name: 'Main' })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name })
  const focused = () => page.evaluate('document.activeElement.textContent')
  const open = async (path: string, title: string): Promise<void> => {
    await page.goto(path)
    await heading(title).waitFor()
  }

  it('goes from page to page without loading anew; focus, title, address and current entry follow', async () => {
    await open('/', 'Inbox')
    await page.evaluate('window.kept = true')
    await nav().getByRole('link', { name: 'Account' }).click()
    await heading('Your account').waitFor()
    expect(await page.evaluate('window.kept')).toBe(true)
    expect(await focused()).toBe('Your account')
    expect(await page.title()).toBe('Account · Countersign')
    expect(page.url()).toBe(`${suite.server().url}/account`)
    expect(await page.locator('#announcements').innerText()).toBe('Account')
    expect(await nav().locator('[aria-current]').allInnerTexts()).toEqual(['Account'])
    await page.goBack()
    await heading('Inbox').waitFor()
    expect(await page.evaluate('window.kept')).toBe(true)
    expect(await nav().locator('[aria-current=page]').allInnerTexts()).toEqual(['Inbox'])
    expect(visitor.incidents).toEqual([])
  })

  it('leads from the foot of every page to the check of receipts and to the interface', async () => {
    await open('/account', 'Your account')
    const foot = page.getByRole('contentinfo')
    expect(await foot.getByRole('link', { name: 'API reference' }).getAttribute('href')).toBe('/docs')
    await foot.getByRole('link', { name: 'Verify a receipt' }).click()
    await page.waitForURL('**/verify')
    expect(await foot.getByRole('link').count()).toBe(2)
  })

  it.each(['none', 'active'] as const)(
    'shows at an edge of the navigation that it goes on there, with forced colours: %s',
    async (forcedColors) => {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.emulateMedia({ forcedColors })
      await open('/', 'Inbox')
      const strips = async (): Promise<Buffer[]> => {
        const { y, height } = (await nav().boundingBox()) ?? { y: 0, height: 0 }
        const strip = (x: number) => page.screenshot({ clip: { x, y, width: 24, height } })
        return [await strip(0), await strip(366)]
      }
      // Which edges look otherwise without the arrows.
      const arrows = async (): Promise<boolean[]> => {
        const shown = await strips()
        await page.evaluate(`document.adoptedStyleSheets = [new CSSStyleSheet()]
          document.adoptedStyleSheets[0].replaceSync('.site-nav > ul::before, .site-nav > ul::after { content: none }')`)
        const bare = await strips()
        await page.evaluate('document.adoptedStyleSheets = []')
        return shown.map((strip, edge) => !strip.equals(bare[edge] ?? strip))
      }
      const scrollTo = (place: string) =>
        page.evaluate(`document.querySelector('.site-nav > ul').scrollLeft = ${place}`)
      expect(await arrows()).toEqual([false, true])
      await scrollTo('200')
      expect(await arrows()).toEqual([true, true])
      await scrollTo('9999')
      expect(await arrows()).toEqual([true, false])
      // Not so far that its first entry is cut, which would cover the arrow there.
      await page.goto('/requests')
      await heading('Requests').waitFor()
      expect(await page.evaluate(`document.querySelector('.site-nav > ul').scrollLeft`)).toBe(0)
      // And its last entry is in sight where the page is its own.
      await page.goto('/account')
      await heading('Your account').waitFor()
      const right = `document.querySelector('.site-nav [aria-current]').getBoundingClientRect().right`
      await expect.poll(() => page.evaluate(`${right} <= innerWidth`)).toBe(true)
      await page.setViewportSize({ width: 1280, height: 844 })
      expect(await arrows()).toEqual([false, false])
    },
  )

  it.each([
    ['/', 'Inbox'],
    ['/requests', 'Requests'],
    ['/audit', 'Audit log'],
    ['/account', 'Your account'],
  ])('moves nothing while it comes: %s', async (path, title) => {
    await page.setViewportSize({ width: 1280, height: 900 })
    await open('/', 'Inbox')
    await page.addInitScript(NOTE_SHIFTS)
    await page.route('**/api/v1/session?optional=true', async (route) => {
      await page.locator('.loading').first().waitFor()
      await page.evaluate(PAINTED)
      await route.continue()
    })
    await open(path, title)
    await page.evaluate(PAINTED)
    expect(await page.evaluate('window.shifts.reduce((all, { value }) => all + value, 0)')).toBeLessThan(0.1)
  })

  it.each([1024, 768, 481, 390, 320])(
    'has one line of header with several accounts, too: %i px',
    async (width) => {
      suite.server().state.accounts = [HOME, OWN]
      await page.setViewportSize({ width, height: 844 })
      await open('/', 'Inbox')
      expect((await page.locator('.site-header').boundingBox())?.height).toBeLessThan(64)
      expect(await overflow(page)).toBeLessThanOrEqual(0)
      const { width: room = 0 } = (await page.getByRole('combobox', { name: 'Account' }).boundingBox()) ?? {}
      expect(room, 'of the choice').toBeGreaterThan(120)
      expect(await page.locator('#signed-in').ariaSnapshot()).toContain('ana@example.com')
    },
  )

  it('promises an auditor no requests', async () => {
    suite.server().state.accounts = [HOME, OWN]
    suite.server().state.pending = []
    await open('/', 'Inbox')
    const waiting = page.locator('#waiting')
    expect(await waiting.innerText()).toContain('New requests do not name auditors')
    expect(await waiting.innerText()).not.toContain('your approval')
  })

  it('leaves the focus alone on the first paint and says nothing', async () => {
    await open('/', 'Inbox')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY')
    expect(await page.locator('#announcements').innerText()).toBe('')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to content')
    await page.keyboard.press('Enter')
    // The browser makes the jump by itself, perhaps after the press.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content')
    expect(await heading('Inbox').isVisible()).toBe(true)
  })

  it('comes back to where the page was read', async () => {
    await page.setViewportSize({ width: 360, height: 500 })
    await open('/account', 'Your account')
    await page.evaluate('scrollTo(0, 600)')
    await page.evaluate(`document.querySelector('#navigation a[href="/"]').click()`)
    await heading('Inbox').waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
    await page.goBack()
    await heading('Your account').waitFor()
    await expect.poll(() => page.evaluate('scrollY')).toBe(600)
  })

  it('opens nothing again for a jump within a page whose filters changed its address', async () => {
    await open('/requests', 'Requests')
    await page.getByLabel('Search').fill('deploy')
    await page.waitForURL('**/requests?q=deploy')
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    const { calls } = suite.server()
    calls.length = 0
    await page.locator('.skip-link').press('Enter')
    await page.waitForURL('**/requests?q=deploy#content')
    await page.goBack()
    await page.evaluate(`fetch('/api/v1/account/policy')`)
    expect(calls).toEqual(['GET /account/policy'])
    expect(await page.getByLabel('Search').inputValue()).toBe('deploy')
  })

  it('says who is signed in, and signs out', async () => {
    await open('/account', 'Your account')
    expect(await page.locator('#signed-in').innerText()).toContain('ana@example.com')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
    expect(suite.server().calls).toContain('DELETE /session')
  })

  it('shows nothing again to who is signed out meanwhile and comes back (T13)', async () => {
    await page.setViewportSize({ width: 360, height: 500 })
    await open('/account', 'Your account')
    const leaveAndComeBack = async (): Promise<void> => {
      // As when a browser keeps the page that one leaves, and shows it again.
      await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
      expect(await page.locator('body').isVisible()).toBe(false)
      await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    }
    await page.evaluate('scrollTo(0, 600)')
    await leaveAndComeBack()
    await expect.poll(() => page.evaluate('scrollY')).toBe(600)
    suite.server().state.signedIn = false
    await leaveAndComeBack()
    await heading('Sign in').waitFor()
    expect(await page.locator('body').innerText()).not.toContain('ana@example.com')
  })

  it('leads whoever is not signed in to the sign-in and back to the very address', async () => {
    suite.server().state.signedIn = false
    await page.goto('/account?account=acc_home')
    await heading('Sign in').waitFor()
    expect(new URL(page.url()).searchParams.get('next')).toBe('/account?account=acc_home')
  })

  it('asks for nothing that a signed-out person would only be refused, and for what waits at once where one was signed in', async () => {
    const red: string[] = []
    page.on('response', (response) => response.status() >= 400 && red.push(response.url()))
    suite.server().state.signedIn = false
    await page.goto('/')
    await heading('Sign in').waitFor()
    expect(red).toEqual([])
    suite.server().state.signedIn = true
    await open('/', 'Inbox')
    const held = page.waitForRequest('**/session?*')
    await page.route('**/session?*', () => undefined)
    const asked = page.waitForRequest('**/me/pending')
    await page.reload()
    await Promise.all([held, asked])
  })

  it('has no account to choose for whoever has one', async () => {
    await open('/', 'Inbox')
    expect(await page.getByRole('combobox').count()).toBe(0)
  })

  it('switches between accounts, keeps the choice in the address, and shows what the role opens', async () => {
    suite.server().state.accounts = [HOME, OWN]
    const each = [HOME, OWN].map(({ id }) => samplePending({ id, account_id: id, action: id }))
    suite.server().state.pending = each
    await open('/', 'Inbox')
    const account = page.getByRole('combobox', { name: 'Account' })
    expect(await account.inputValue(), 'the inbox has the requests of all').toBe('All accounts')
    expect(await nav().getByRole('link').allInnerTexts()).not.toContain('API keys')
    await account.selectOption('Ana Pereira (yours)')
    await page.waitForURL('**/?account=acc_own')
    await expect.poll(() => page.locator('.inbox-row:not([hidden])').count()).toBe(1)
    await nav().getByRole('link', { name: 'API keys' }).waitFor()
    await nav().getByRole('link', { name: 'Account' }).click()
    await heading('Your account').waitFor()
    expect(page.url()).toBe(`${suite.server().url}/account?account=acc_own`)
    await account.selectOption('Example Ltd (auditor)')
    await page.waitForURL('**/account')
    await expect.poll(() => nav().getByRole('link').allInnerTexts()).not.toContain('API keys')
  })

  it('writes out what is hidden in the name of an account of somebody else', async () => {
    suite.server().state.accounts = [{ ...HOME, name: 'Acme (yours)\u202e' }, OWN]
    await open('/', 'Inbox')
    const offered = page.getByRole('combobox', { name: 'Account' }).getByRole('option')
    expect((await offered.allInnerTexts()).slice(1)).toEqual([
      'Acme (yours)[U+202E] (auditor)',
      'Ana Pereira (yours)',
    ])
  })

  it('takes the guide of an owner up with the newest key that is not revoked', async () => {
    const { state } = suite.server()
    const [first] = state.keys
    if (first === undefined) throw new Error('no sample key')
    const revoked_at = '2026-11-20T09:00:00.000Z'
    const named = (id: string, changes = {}) => ({ ...first, id, revoked_at: null, ...changes })
    state.keys = [
      named('key_a', { revoked_at }),
      named('key_b'),
      named('key_c'),
      named('key_d', { revoked_at }),
    ]
    await page.addInitScript(`localStorage.setItem('countersign.first-run', '${SAMPLE_USER.id}')`)
    const asked = page.waitForRequest(/\/account\/requests\?/)
    await open('/', 'Inbox')
    expect(new URL((await asked).url()).searchParams.get('key')).toBe('key_c')
  })

  it('does not open a page that the role does not, and offers the person’s own', async () => {
    suite.server().state.accounts = [HOME, OWN]
    await open('/keys', 'You do not have access to this page')
    expect(await page.locator('main').innerText()).toContain(
      'Your role in the account Example Ltd does not open it.',
    )
    expect(suite.server().calls.filter((call) => call.includes('api-keys'))).toEqual([])
    await page.getByRole('link', { name: 'See this page for your own account' }).click()
    await page.waitForURL('**/keys?account=acc_own')
    await heading('You do not have access to this page').waitFor({ state: 'detached' })
    await expect.poll(() => suite.server().calls).toContain('GET /account/api-keys')
  })

  it('says so when the address names an account this person may not look at', async () => {
    await open('/?account=acc_other', 'Account not available')
    expect(suite.server().calls).toEqual(['GET /session'])
    await page.getByRole('link', { name: 'Go to the start' }).click()
    await heading('Inbox').waitFor()
  })

  it('says why a page could not be loaded, and tries again', async () => {
    await page.route('**/me/factors', (route) => route.fulfill({ status: 503, body: 'down' }))
    await open('/account', 'This page could not be loaded')
    expect(await page.locator('.notice').innerText()).toContain('The service answered with status 503.')
    await page.unroute('**/me/factors')
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading('Your account').waitFor()
  })

  it('comes back by itself when the network does', async () => {
    await page.route('**/me/factors', (route) => route.abort())
    await open('/account', 'This page could not be loaded')
    await page.unroute('**/me/factors')
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await heading('Your account').waitFor()
  })

  it('comes back by itself when the service does, after longer and longer pauses, and says when it stops', async () => {
    await stopClock(page)
    await page.route('**/api/v1/**', (route) => route.abort())
    await open('/account', 'This page could not be loaded')
    const hint = page.getByText('The page tries again automatically.')
    await hint.waitFor()
    await expect
      .poll(async () => {
        await page.clock.runFor(60_000)
        return page.getByText('The page has stopped trying.').isVisible()
      })
      .toBe(true)
    await page.reload()
    await hint.waitFor()
    await page.unroute('**/api/v1/**')
    await page.clock.runFor(2_000)
    await heading('Your account').waitFor()
  })

  it('says so when the script of a page does not arrive, and loads anew', async () => {
    await open('/', 'Inbox')
    await page.route('**/assets/account-page-*.js', (route) => route.abort())
    await nav().getByRole('link', { name: 'Account' }).click()
    await heading('This page could not be loaded').waitFor()
    expect(await page.locator('.notice').innerText()).toContain('Part of this page failed to load.')
    await page.unroute('**/assets/account-page-*.js')
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading('Your account').waitFor()
  })

  it('shows the page that was asked for last, whichever arrives first', async () => {
    await open('/verify', 'Verify a receipt')
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/me/pending', async (route) => {
      await held
      await route.continue()
    })
    // A page that is left before it knows the session asks for nothing more.
    const asked = page.waitForRequest('**/me/pending')
    await nav().getByRole('link', { name: 'Inbox' }).click()
    await asked
    await nav().getByRole('link', { name: 'Account' }).click()
    await heading('Your account').waitFor()
    const late = page.waitForResponse('**/me/pending')
    release()
    await (await late).finished()
    // Answered after the late one, and so read after it.
    await page.evaluate(`fetch('/api/v1/session').then((answer) => answer.text())`)
    expect(await heading('Your account').isVisible()).toBe(true)
    expect(await heading('Inbox').count()).toBe(0)
  })

  it('declines an invitation and says so', async () => {
    const { state } = suite.server()
    state.invitations = [
      {
        account_id: 'acc_2',
        account_name: 'Example Ltd',
        role: 'approver',
        invited_at: '2026-11-20T11:00:00Z',
      },
    ]
    await page.route('**/me/invitations/acc_2/decline', (route) => {
      state.invitations = []
      return route.fulfill({ json: { ok: true } })
    })
    await open('/', 'Inbox')
    expect(await page.getByRole('region', { name: 'Invitations' }).innerText()).toContain('As approver')
    await page.getByRole('button', { name: 'Decline the invitation to Example Ltd' }).click()
    await page.getByText('The invitation is declined.').waitFor()
    expect(await page.evaluate('document.activeElement.className')).toContain('notice success')
    expect(await page.getByRole('region', { name: 'Invitations' }).count()).toBe(0)
  })
})
