import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { normaliseEmail } from '../../src/domain/user.ts'
import { decisionBody } from '../../src/http/api/decisions.ts'
import { shortName } from '../../src/http/api/shared/input.ts'
import { describeInBrowser } from '../support/browser.ts'
import { keysArea } from '../support/page-keys-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const name = (length: number): boolean => shortName.safeParse('x'.repeat(length)).success
const email = (length: number): boolean =>
  normaliseEmail(`${'x'.repeat(64)}@${'y'.repeat(length - 65)}`) !== undefined
const comment = (length: number): boolean =>
  decisionBody.safeParse({ decision: 'approved', comment: 'x'.repeat(length) }).success

interface Limited {
  path: string
  label: string
  taken(length: number): boolean
  act?(page: Page): Promise<void>
}

/** A flag in tag characters, which phones offer and the service refuses. */
const SCOTLAND = '\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'

async function askForPasskey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('Use a code instead').click()
  await page.getByLabel('Code from your authenticator app').fill('123456')
  await page.getByRole('button', { name: 'Confirm with the code' }).click()
}

const FIELDS: Limited[] = [
  { path: '/keys', label: 'Name of the key', taken: name },
  {
    path: '/account',
    label: 'Name of the new passkey',
    taken: name,
    act: askForPasskey,
  },
  { path: '/setup#good-token', label: 'Name of this passkey', taken: name },
  { path: '/setup#good-token', label: 'Your name', taken: name },
  { path: '/setup#good-token', label: 'Organisation (optional)', taken: name },
  { path: '/setup#good-token', label: 'E-mail', taken: email },
  {
    path: '/signin',
    label: 'E-mail',
    taken: email,
    act: (page) => page.getByText('Use a code instead').click(),
  },
  { path: `/a/${sampleReview().id}`, label: 'Comment (optional)', taken: comment },
]

describeInBrowser('the length of a field', () => {
  const suite = usePageSuite(keysArea())

  it.each(FIELDS)(
    '$label on $path is exactly what the service takes',
    async ({ path, label, taken, act }) => {
      if (path === '/signin') suite.server().state.signedIn = false
      const { page } = await suite.visit()
      await page.goto(path)
      await page.locator('h1').waitFor()
      await act?.(page)
      const length = Number(await page.getByLabel(label, { exact: true }).getAttribute('maxlength'))
      expect(length).toBeGreaterThan(0)
      expect([taken(length), taken(length + 1)]).toEqual([true, false])
    },
  )

  it.each([
    [`/a/${sampleReview().id}`, 'Comment (optional)', 'Approve', 'must not contain control or invisible tag'],
    ['/account', 'Name of the new passkey', 'Create a passkey on this device', 'must be one line without'],
    [
      '/setup#good-token',
      'Name of this passkey',
      'Create a passkey on this device',
      'must be one line without',
    ],
  ])('on %s, %s with characters that are refused asks for no passkey', async (path, label, press, said) => {
    const { page } = await suite.visit()
    await page.goto(path)
    await page.locator('h1').waitFor()
    const entry = page.getByLabel(label, { exact: true })
    if (path === '/account') await askForPasskey(page)
    if (path.startsWith('/setup')) {
      await page.getByLabel('E-mail').fill('ana@example.com')
      await page.getByLabel('Your name').fill('Ana')
    }
    // The comment is folded: it opens to show what is wrong.
    const fold = page.getByText('Add a comment')
    if (path.startsWith('/a/')) await fold.click()
    await entry.fill(`Fine ${SCOTLAND}`)
    if (path.startsWith('/a/')) await fold.click()
    const before = suite.server().calls.length
    await page.getByRole('button', { name: press, exact: true }).click()
    await page.getByText(`It ${said}`).waitFor()
    await page.locator('*:focus').and(entry).waitFor()
    const calls = suite.server().calls.slice(before)
    expect(calls.filter((call) => call.startsWith('POST'))).toEqual([])
    await entry.fill('Fine')
    await page.getByText(`It ${said}`).waitFor({ state: 'detached' })
  })
})
