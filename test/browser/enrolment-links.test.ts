import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { usePageSuite } from '../support/page-suite.ts'

const DEAD: [path: string, advice: string][] = [
  [
    '/setup',
    'Not signed up yet? On the server, “countersign user owner-link” prints a new link. If a command invited you, use the link it printed.',
  ],
  ['/enroll', 'Not enrolled yet? Ask the person who sent you the link for a new one.'],
]

const IPHONE = '(iPhone; CPU iPhone OS 17_0 like Mac OS X)'
const MAC = '(Macintosh; Intel Mac OS X 10_15_7)'
/** What a browser calls itself after “Mozilla/5.0”, how many fingers its screen takes, and what a passkey in it is called. */
const DEVICES: [system: string, version: string, fingers: number, name: string][] = [
  [IPHONE, 'Version/17.0 Mobile/15E148', 5, 'Safari on iPhone'],
  [IPHONE, 'CriOS/120.0.6099.119 Mobile/15E148', 5, 'Chrome on iPhone'],
  [IPHONE, 'FxiOS/120.0 Mobile/15E148', 5, 'Firefox on iPhone'],
  [IPHONE, 'EdgiOS/120.0 Version/17.0 Mobile/15E148', 5, 'Edge on iPhone'],
  [MAC, 'Version/17.0', 0, 'Safari on Mac'],
  [MAC, 'Version/17.0', 5, 'Safari on iPad'],
]

const AGAIN = { account_name: 'Ana', role: 'approver' as const }
const SECOND = 'S'.repeat(43)

describeInBrowser('links to enrol with', () => {
  const suite = usePageSuite()
  const visit = async (path: string): Promise<Page> => {
    suite.server().state.signedIn = false
    const { page } = await suite.visit()
    await page.goto(path)
    await page.locator('h1').waitFor()
    return page
  }
  const main = (page: Page): Promise<string> => page.locator('main').innerText()

  it.each(DEAD)('%s, used or expired, says whom to ask and leads to the sign-in', async (path, advice) => {
    const page = await visit(`${path}#bad-token`)
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(await main(page)).toContain('the link has expired or was already used.')
    expect(await main(page)).toContain(advice)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  })

  it.each(DEVICES)(
    '%s %s with %i fingers offers to call its passkey so',
    async (system, version, fingers, name) => {
      const userAgent = `Mozilla/5.0 ${system} AppleWebKit/605.1.15 (KHTML, like Gecko) ${version} Safari/604.1`
      const { page } = await suite.visit({ userAgent })
      await page.addInitScript(`Object.defineProperty(navigator, 'maxTouchPoints', { value: ${fingers} })`)
      await page.goto('/setup#good-token')
      expect(await page.getByLabel('Name of this passkey').inputValue()).toBe(name)
    },
  )

  it('a reload, which has lost the token, asks for the complete link', async () => {
    const page = await visit('/setup#good-token')
    await page.getByRole('heading', { name: 'Set up Countersign' }).waitFor()
    expect(await page.getByRole('heading', { level: 2, name: 'Passkey', exact: true }).count()).toBe(1)
    expect(await main(page)).toContain('Colleagues know you by it')
    await page.reload()
    await page.getByRole('heading', { name: 'Open the complete link again' }).waitFor()
    expect(await main(page)).toContain('this address is only half of the link')
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('/signin')
  })

  it('a reload by who is signed in says so, and where backup codes not yet saved are renewed', async () => {
    const { page } = await suite.visit()
    await page.goto('/setup')
    await page.getByRole('heading', { name: 'You are enrolled' }).waitFor()
    const { email } = suite.server().state.user
    expect(await main(page)).toContain(`You are enrolled and signed in as ${email}.`)
    expect(await main(page)).toContain('Backup codes not saved? Renew them under Account.')
    expect(await main(page)).toContain('Invited to another account? Open that link again.')
    expect(await page.getByRole('link', { name: 'Account' }).last().getAttribute('href')).toBe('/account')
  })

  it.each([
    ['Set up how you sign in', {}],
    ['Enrol as an approver', { account_name: 'Ana', role: 'approver' as const }],
    ['Enrol as an auditor', { account_name: 'Ana', role: 'auditor' as const }],
    ['Set up your sign-in anew', { ...AGAIN, opens_at: '2026-01-01T00:00:00.000Z' }],
    ['This link does not work yet', { ...AGAIN, opens_at: '2099-01-01T00:00:00.000Z' }],
  ])('is headed "%s" for who is asked to be %j', async (heading, joins) => {
    const person = { kind: 'invite' as const, email: 'bob@example.com', name: 'Bob' }
    suite.server().state.invitation = { ...person, expires_at: '2100-01-01T00:00:00.000Z', ...joins }
    const page = await visit('/enroll#good-token')
    expect(await page.locator('h1').innerText()).toBe(heading)
  })

  it.each(['/setup', '/enroll'])(
    '%s: a second link in the same tab is followed, and leaves the address',
    async (path) => {
      const page = await visit(path)
      await page.getByRole('heading', { name: 'Open the complete link again' }).waitFor()
      await page.evaluate(`location.hash = '${SECOND}'`)
      await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
      expect(suite.server().calls).toContain('POST /enrollment/lookup')
      expect(page.url()).toBe(`${suite.server().url}${path}`)
      expect(await page.evaluate('JSON.stringify(history.state) + location.href')).not.toContain(SECOND)
    },
  )

  it('an authenticator app: says what codes cannot do, and leads back with what was typed', async () => {
    const page = await visit('/setup#good-token')
    expect(await main(page)).toContain('A fake site could steal a code')
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Your name').fill('Ana')
    await page.getByRole('button', { name: 'Use an authenticator app' }).click()
    await page.getByRole('heading', { name: 'Set up your authenticator app' }).waitFor()
    expect(await page.locator('.notice.warning').innerText()).toContain(
      'codes and backup codes sign you in only in browsers where you signed up',
    )
    expect(await page.locator('.steps > li').count()).toBe(2)
    await page.getByRole('button', { name: 'Back: use a passkey instead' }).click()
    await page.getByRole('button', { name: 'Create a passkey' }).waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).toBe('ana@example.com')
    expect(await page.getByLabel('Your name').inputValue()).toBe('Ana')
  })
})
