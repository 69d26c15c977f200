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

const FIELDS: Limited[] = [
  { path: '/keys', label: 'Name of the key', taken: name },
  {
    path: '/account',
    label: 'Name of the new passkey',
    taken: name,
    act: async (page) => {
      await page.getByRole('button', { name: 'Add a passkey' }).click()
      await page.getByText('Use a code instead').click()
      await page.getByLabel('Code from your authenticator app').fill('123456')
      await page.getByRole('button', { name: 'Confirm with the code' }).click()
    },
  },
  { path: '/setup#good-token', label: 'Name of this passkey', taken: name },
  { path: '/setup#good-token', label: 'Your name', taken: name },
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
})
