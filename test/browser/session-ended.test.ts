import type { Page, Route } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, stopClock, type Visitor } from '../support/browser.ts'
import { batchArea } from '../support/page-batch-answers.ts'
import { sampleConsent } from '../support/page-consent-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

async function useCode(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
  await page.getByLabel('Code from your authenticator app').fill('123456')
}

describeInBrowser('a session that ends while a request is on the screen', () => {
  const suite = usePageSuite()
  const path = `/a/${sampleReview().id}`
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const signOut = (): void => {
    suite.server().state.signedIn = false
  }
  /** The word arrives, its answer does not, and the session is over before the page can ask. */
  const loseAnswer = async (route: Route): Promise<void> => {
    await route.fetch()
    signOut()
    await route.abort()
  }
  const said = () => page.locator('.notice').first().innerText()

  it('claims nothing of a word whose answer was lost, and shows what came of it after the sign-in', async () => {
    await page.goto(path)
    await useCode(page)
    await page.route('**/decision', loseAnswer)
    await page.getByRole('button', { name: 'Approve' }).click()
    await heading(page, 'Sign in to see this request').waitFor()
    expect(await said()).toBe(
      'Note: your session has ended. It is not known whether your approval arrived. Sign in to continue.',
    )
    expect(await page.locator('main').innerText()).not.toContain('Nothing was recorded')
    suite.server().state.signedIn = true
    await page.reload()
    await heading(page, 'Approved').waitFor()
  })

  it('is said when the page notices it by itself, and keeps the comment', async () => {
    await stopClock(page)
    await page.goto(path)
    await page.getByText('Add a comment').click()
    await page.getByLabel('Comment (optional)').fill('Fine with me.')
    signOut()
    await expect
      .poll(async () => {
        await page.clock.runFor(4000)
        return heading(page, 'Sign in to see this request').count()
      })
      .toBe(1)
    expect(await said()).toBe('Note: your session has ended. Your comment is kept.')
  })

  it('is said on the page of an API key, with what is known of the word', async () => {
    await stopClock(page)
    for (const [meanwhile, sentence] of [
      [signOut, 'Nothing was recorded.'],
      [() => page.route('**/decision', loseAnswer), 'It is not known whether your rejection arrived.'],
    ] as const) {
      suite.server().state.signedIn = true
      await page.goto(`/b/${sampleConsent().id}`)
      await useCode(page)
      await meanwhile()
      await page.getByRole('button', { name: 'Reject' }).click()
      await heading(page, 'Sign in to see this request').waitFor()
      expect(await said()).toBe(`Note: your session has ended. ${sentence} Sign in to continue.`)
    }
  })

  it('in another tab takes what was shown off this one, too, and another person gets their own view (T13)', async () => {
    for (const [address, shown, next] of [
      [path, 'Approve or reject this action?', 'Sign in to see this request'],
      ['/account', 'Your account', 'Sign in'],
    ] as const) {
      suite.server().state.signedIn = true
      await page.goto('/')
      await heading(page, 'Inbox').waitFor()
      await page.goto(address)
      await heading(page, shown).waitFor()
      const other = await visitor.context.newPage()
      await other.goto('/account')
      await other.getByRole('button', { name: 'Sign out' }).click()
      await heading(other, 'Sign in').waitFor()
      await heading(page, next).waitFor()
      await other.close()
    }
    suite.server().state.signedIn = true
    await page.goto('/')
    // Else the browser does not know yet that somebody is signed in.
    await heading(page, 'Inbox').waitFor()
    await page.goto(path)
    await heading(page, 'Approve or reject this action?').waitFor()
    const { state } = suite.server()
    state.user = { ...state.user, approver: 'aa11bb22cc33dd44', email: 'bo@example.com' }
    state.review = sampleReview({ ...state.review, approver: 'aa11bb22cc33dd44' })
    const other = await visitor.context.newPage()
    await other.goto('/')
    await page.getByText('bo@example.com').waitFor()
    await heading(page, 'Approve or reject this action?').waitFor()
  })

  it('is not taken for ended when the service does not answer the sign-out', async () => {
    await page.goto('/account')
    await page.route('**/session', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    )
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('Not done: you are still signed in.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/account')
  })

  it('leads from a form that was sent to the sign-in and back', async () => {
    await page.goto('/account')
    await page.getByLabel('Your name').fill('Ana B')
    signOut()
    await page.getByRole('button', { name: 'Save the profile' }).click()
    await page.getByText('Not done: your session has ended. Sign in and try again.').waitFor()
    expect(await page.getByRole('link', { name: 'Sign in', exact: true }).first().getAttribute('href')).toBe(
      '/signin?next=%2Faccount',
    )
  })

  it('does not hide that a word is recorded, also when the request cannot be loaded again', async () => {
    await page.goto(path)
    await useCode(page)
    await page.route('**/decision', async (route) => {
      await page.route('**/review', (look) => look.abort())
      await route.continue()
    })
    await page.getByRole('button', { name: 'Approve' }).click()
    await heading(page, 'The request could not be loaded').waitFor()
    expect(await said()).toBe('Done: your approval is recorded.')
    await page.unroute('**/review')
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading(page, 'Approved').waitFor()
    expect(await said()).toBe('Done: your approval is recorded.')
  })

  it('calls a word that the browser sent twice what it is: recorded', async () => {
    await page.goto(path)
    await useCode(page)
    await page.route('**/decision', async (route) => {
      await route.fetch()
      await route.continue()
    })
    await page.getByRole('button', { name: 'Approve' }).click()
    await heading(page, 'Approved').waitFor()
    expect(await said()).toBe('Done: your approval is recorded.')
  })
})

describeInBrowser('a session that ends while several are decided', () => {
  const suite = usePageSuite(batchArea())
  let page: Page

  beforeEach(async () => {
    page = (await suite.visit()).page
    await stopClock(page)
    await page.goto('/?impact=any')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Reject 3 selected' }).click()
    await page.getByLabel('Comment (optional)').fill('Not today.')
  })
  const dialog = () => page.getByRole('dialog')

  it.each([
    ['is over before the press', 'abort', 'Nothing was recorded.'],
    ['loses the answer', 'fetch', 'It is not known whether your rejections arrived.'],
  ] as const)(
    '%s: says what is known, hides the requests, and all is there after the sign-in',
    async (_, way, known) => {
      await useCode(page)
      await page.route('**/approvals/decisions', async (route) => {
        if (way === 'fetch') await route.fetch()
        suite.server().state.signedIn = false
        await (way === 'fetch' ? route.abort() : route.continue())
      })
      await dialog().getByRole('button', { name: 'Reject 3 requests' }).click()
      await dialog().getByText(`Note: your session has ended. ${known}`).waitFor()
      expect(await dialog().innerText()).not.toContain('invoices')
      const href = await dialog().getByRole('link', { name: 'Sign in' }).getAttribute('href')
      expect(href).toBe(`/signin?next=${encodeURIComponent('/?impact=any')}`)
      if (way === 'fetch') return
      suite.server().state.signedIn = true
      await page.reload()
      await page.getByRole('button', { name: 'Reject 3 selected' }).click()
      await expect.poll(() => dialog().getByLabel('Comment (optional)').inputValue()).toBe('Not today.')
    },
  )

  it('is said by the dialog, too, where it ended before the requests are loaded', async () => {
    // The inbox looks again when its dialog closes: a look that is refused would say it first, and take the button away.
    const looked = page.waitForResponse((response) => response.url().endsWith('/api/v1/me/pending'))
    await page.keyboard.press('Escape')
    await looked
    suite.server().state.signedIn = false
    await page.getByRole('button', { name: 'Reject 3 selected' }).click()
    await dialog().getByText('Note: your session has ended.').waitFor()
    await dialog().getByRole('link', { name: 'Sign in' }).waitFor()
    expect(await dialog().innerText()).not.toContain('Try again')
  })

  it('is noticed without a press, by the dialog and by the inbox, which keeps the selection', async () => {
    suite.server().state.signedIn = false
    await expect
      .poll(async () => {
        await page.clock.runFor(5000)
        return dialog().getByText('Note: your session has ended.').count()
      })
      .toBe(1)
    expect(await page.locator('body').innerText()).not.toContain('invoices')
    suite.server().state.signedIn = true
    await page.reload()
    await page.getByRole('button', { name: 'Reject 3 selected' }).waitFor()
  })
})
