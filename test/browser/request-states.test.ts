import { beforeEach, expect, it } from 'vitest'
import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { describeInBrowser, stopClock, type Visitor } from '../support/browser.ts'
import { sampleDecided } from '../support/page-history-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const VOTE: Review['votes'][number] = {
  approver: 'aa11bb22cc33dd44',
  delegate: undefined,
  decision: 'approved',
  method: 'passkey',
  at: '2026-11-21T10:00:00.000Z',
  mine: false,
  comment: 'Checked the backup first.',
}
const TWO = { needed: 2, approved: 1 }
const HELD = 'Neither is possible until the operator runs “countersign restore confirm”.'

const STATES: [name: string, review: Partial<Review>, heading: string, sentence: string][] = [
  [
    'expired',
    { status: 'expired', may_decide: false },
    'Expired without a decision',
    'The request expired without a decision. Nothing was signed',
  ],
  [
    'withdrawn',
    { status: 'expired', cancelled: true, may_decide: false },
    'Withdrawn',
    'The request was withdrawn.',
  ],
  [
    'voted, others missing',
    { may_decide: false, why_not: 'already_voted', quorum: TWO, votes: [{ ...VOTE, mine: true }] },
    'You approved. Waiting for others',
    'Your vote is recorded.',
  ],
  [
    'a passkey is demanded',
    { may_decide: false, why_not: 'passkey_required', methods: [] },
    'Waiting for a decision',
    'This request must be decided with a passkey. Add a passkey, then come back.',
  ],
  ['held', { may_decide: false, held: true, methods: [] }, 'Waiting for a decision', HELD],
  ['approved, and held', { ...sampleDecided(), held: true }, 'Approved', HELD],
  [
    'no allowed factor',
    { may_decide: false, why_not: 'method_not_enrolled', methods: [] },
    'Waiting for a decision',
    'None of your factors is allowed here.',
  ],
  [
    'an owner who only looks on',
    { may_decide: false, approver: null },
    'Waiting for a decision',
    'You can follow this request here, but you cannot decide it.',
  ],
  ['sandbox', { may_decide: false, sandbox: true }, 'Waiting for a decision', 'decided automatically.'],
]

describeInBrowser('the states of a request', () => {
  const suite = usePageSuite()
  let visitor: Visitor
  const path = `/a/${sampleReview().id}`
  const heading = (name: string) => visitor.page.getByRole('heading', { name, exact: true })

  beforeEach(async () => {
    visitor = await suite.visit({ viewport: { width: 1440, height: 1600 } })
  })

  it('that nothing can be done in are named, and offer no decision', async () => {
    for (const [name, review, title, sentence] of STATES) {
      suite.server().state.review = sampleReview(review)
      await visitor.page.goto(path)
      await heading(title).waitFor()
      const panel = await visitor.page.locator('.panel').innerText()
      expect(panel, name).toContain(sentence)
      if (review.sandbox) expect(panel).not.toContain('approval is needed')
      else if (title === 'Waiting for a decision') expect(panel, name).toContain('Still to decide: ')
      expect(await visitor.page.getByRole('button', { name: /^(Approve|Reject)$/ }).count(), name).toBe(0)
    }
  })

  it('shows the votes of others with their comments and the progress', async () => {
    const sample = sampleReview({ quorum: TWO, votes: [VOTE] })
    const approvers = [VOTE.approver, ...sample.policy.approvers, ...'123456'].map(String)
    const policy = { ...sample.policy, approvers }
    suite.server().state.review = { ...sample, policy, names: { 1: 'Bo <b>Lind</b>' } }
    await visitor.page.goto(path)
    await heading('Approve or reject this action?').waitFor()
    const panel = await visitor.page.locator('.panel').innerText()
    for (const shown of [
      '1 of 2 needed approvals so far',
      'Still to decide: you, Bo <b>Lind</b>, 2, 3, 4 and 2 more.',
      'aa11bb22cc33dd44',
      'Checked the backup first.',
    ]) {
      expect(panel).toContain(shown)
    }
  })

  it('says of an approval before a rejection that it was not signed, and of no other vote', async () => {
    const rejection = { ...VOTE, approver: 'ee11bb22cc33dd44', decision: 'rejected' as const, comment: null }
    const votes = [VOTE, rejection]
    suite.server().state.review = sampleReview({ status: 'rejected', may_decide: false, quorum: TWO, votes })
    await visitor.page.goto(path)
    const rows = visitor.page.locator('.panel .quorum .vote')
    await rows.first().waitFor()
    const texts = await rows.allInnerTexts()
    expect(texts.map((text) => text.includes('Not signed: the request was rejected.'))).toEqual([true, false])
    suite.server().state.review = sampleReview({ quorum: TWO, votes: [VOTE] })
    await visitor.page.reload()
    await rows.first().waitFor()
    expect(await visitor.page.getByText('Not signed: ').count()).toBe(0)
  })

  it('says who could not be reached in chat, by reference, and the person themselves as such', async () => {
    const own = sampleReview().approver ?? ''
    suite.server().state.review = sampleReview({ not_reachable: [own, 'aa11bb22cc33dd44'] })
    await visitor.page.goto(path)
    await visitor.page.getByText('Not reachable in chat: you, approver aa11bb22cc33dd44.').waitFor()
    suite.server().state.review = sampleReview()
    await visitor.page.reload()
    await heading('Approve or reject this action?').waitFor()
    expect(await visitor.page.getByText('Not reachable').count()).toBe(0)
  })

  it('adds the vote of somebody else without touching a comment that is being written', async () => {
    await visitor.page.clock.install()
    const review = sampleReview({ quorum: { needed: 3, approved: 0 } })
    suite.server().state.review = review
    await visitor.page.goto(path)
    const comment = visitor.page.getByLabel('Comment (optional)')
    await visitor.page.getByText('Add a comment').click()
    await comment.fill('half a sent')
    suite.server().state.review = { ...review, quorum: { needed: 3, approved: 1 }, votes: [VOTE] }
    await visitor.page.clock.runFor(4500)
    await visitor.page.locator('.panel').getByText('1 of 3 needed approvals so far').waitFor()
    expect(await comment.inputValue()).toBe('half a sent')
    expect(await visitor.page.evaluate('document.activeElement.name')).toBe('comment')
    expect(await visitor.page.locator('#announcements').innerText()).toBe('1 of 3 approvals')
  })

  it('counts down by the clock of the server, announces few thresholds, and notices the end', async () => {
    const { clock } = visitor.page
    await clock.install({ time: new Date('2001-01-01T00:00:00Z') })
    // Only `runFor` moves it: of two thresholds that pass while the machine is busy, the first would not be seen.
    await clock.pauseAt(new Date('2001-01-01T00:01:00Z'))
    const review = sampleReview({ expires_at: new Date(Date.now() + 359_000).toISOString() })
    suite.server().state.review = review
    await visitor.page.goto(path)
    const timer = visitor.page.getByRole('timer')
    const [, seconds] = /^Expires in 5 min (\d+) s$/.exec(await timer.innerText()) ?? []
    expect(seconds).toBeDefined()
    const said = visitor.page.locator('#announcements')
    expect(await said.innerText()).toBe('')
    // Its next answers would say that for the service almost no time has passed.
    await visitor.page.route('**/review', (route) => route.abort())
    await clock.runFor((Number(seconds) + 1) * 1_000)
    await expect.poll(() => said.innerText()).toBe('Expires in 5 min 0 s')
    await clock.runFor(240_000)
    await expect.poll(() => said.innerText()).toBe('Expires in 1 min 0 s')
    await clock.runFor(30_000)
    await expect.poll(() => said.innerText()).toBe('Expires in 30 s')
    suite.server().state.review = { ...review, status: 'expired', may_decide: false }
    await visitor.page.unroute('**/review')
    // A look that gave up during the run is followed by another only if the time goes on.
    await clock.resume()
    await clock.runFor(300_000)
    await heading('Expired without a decision').waitFor()
    // What came under the finger takes no press for a moment, to its end.
    const style = `getComputedStyle(document.querySelector('.request.settling'))`
    const rest = `(({ animationName, animationTimingFunction: how }) => animationName + ' ' + how)(${style})`
    expect(await visitor.page.evaluate(rest)).toBe('settling steps(1)')
  })

  it('counts down through a sleep of the device, and by the service again at its next answer', async () => {
    await stopClock(visitor.page)
    const expires_at = new Date(Date.now() + 359_000).toISOString()
    suite.server().state.review = sampleReview({ expires_at })
    await visitor.page.goto(path)
    const minutes = async (): Promise<string | undefined> =>
      /^Expires in (\d) min/.exec(await visitor.page.getByRole('timer').innerText())?.[1]
    expect(await minutes()).toBe('5')
    // Where `performance.now()` stands still meanwhile, as in WebKit and Firefox.
    await visitor.page.evaluate(`{ const now = Date.now.bind(Date); Date.now = () => now() + 120_000 }`)
    await visitor.page.clock.runFor(1000)
    expect(await minutes()).toBe('3')
    await visitor.page.clock.runFor(4000)
    await expect
      .poll(async () => {
        await visitor.page.clock.runFor(1000)
        return minutes()
      })
      .toBe('5')
  })

  it('says what it sends while all buttons rest, and not known yet until a lost answer is known', async () => {
    const { page } = visitor
    await page.goto(path)
    await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    let lose = (): void => {}
    const held = new Promise<void>((resolve) => {
      lose = resolve
    })
    await page.route('**/decision', async (route) => {
      await route.fetch()
      await held
      await route.abort()
    })
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Sending your approval …').waitFor()
    expect(await page.locator('.decision-buttons [aria-disabled="true"]').count()).toBe(2)
    // Not before: a look that fails holds the buttons.
    await page.route('**/review', (route) => route.abort())
    lose()
    await page.getByText('Not known yet whether your approval arrived. Checking …').waitFor()
    expect(await page.locator('.decision-buttons [aria-disabled="true"]').count()).toBe(2)
    expect(await page.locator('main').innerText()).not.toContain('Not done')
    await page.unroute('**/review')
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await heading('Approved').waitFor()
    expect(await page.locator('.notice').innerText()).toBe('Done: your approval is recorded.')
  })

  it('says that nothing was recorded when the service knows of nothing, and can be pressed again', async () => {
    const { page } = visitor
    await page.goto(path)
    await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.route('**/decision', (route) => route.abort())
    await page.getByRole('button', { name: 'Reject' }).click()
    const missing = page.getByText('your rejection did not arrive: the service has recorded nothing.')
    await expect
      .poll(async () => {
        await page.evaluate(`dispatchEvent(new Event('online'))`)
        return missing.count()
      })
      .toBe(1)
    await page.unroute('**/decision')
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Reject' }).click()
    await heading('Rejected').waitFor()
  })

  it('shows nothing again to who is signed out meanwhile and comes back, and keeps the comment', async () => {
    const { page } = visitor
    await page.goto(path)
    await page.getByText('Add a comment').click()
    await page.getByLabel('Comment (optional)').fill('Half a thought')
    suite.server().state.signedIn = false
    // As when a browser keeps the page that one leaves, and shows it again.
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
    expect(await page.locator('body').isVisible()).toBe(false)
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    await heading('Sign in to see this request').waitFor()
    expect(await page.locator('body').innerText()).not.toContain('invoices')
    suite.server().state.signedIn = true
    await page.reload()
    await heading('Approve or reject this action?').waitFor()
    expect(await page.getByLabel('Comment (optional)').inputValue()).toBe('Half a thought')
  })

  it('stops looking while the page is hidden and looks again when it is shown', async () => {
    await stopClock(visitor.page)
    await visitor.page.goto(path)
    await heading('Approve or reject this action?').waitFor()
    const looks = () => suite.server().calls.filter((call) => call.endsWith('/review')).length
    await visitor.page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })`,
    )
    await visitor.page.clock.runFor(60_000)
    const before = looks()
    await visitor.page.clock.runFor(60_000)
    expect(looks()).toBe(before)
    await visitor.page.evaluate(
      `delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`,
    )
    await visitor.page.clock.runFor(100)
    await expect.poll(looks).toBe(before + 1)
  })

  it('asks to sign in again when the session ends, keeps the comment, and comes back', async () => {
    await stopClock(visitor.page)
    await visitor.page.goto(path)
    await visitor.page.getByText('Add a comment').click()
    await visitor.page.getByLabel('Comment (optional)').fill('Fine with me.')
    await visitor.page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await visitor.page.getByLabel('Code from your authenticator app').fill('123456')
    await visitor.page.setViewportSize({ width: 1440, height: 700 })
    const approve = visitor.page.getByRole('button', { name: 'Approve' })
    await visitor.page.evaluate('scrollTo(0, 240)')
    await approve.scrollIntoViewIfNeeded()
    const place = await visitor.page.evaluate('scrollY')
    suite.server().state.signedIn = false
    await approve.dispatchEvent('click')
    await heading('Sign in to see this request').waitFor()
    expect(await visitor.page.locator('.notice').innerText()).toBe(
      'Note: your session has ended. Nothing was recorded. Your comment is kept.',
    )
    expect(await visitor.page.locator('body').innerText()).not.toContain('invoices')
    await visitor.page.getByText('Use a code instead').click()
    await visitor.page.getByLabel('E-mail').fill('ana@example.com')
    await visitor.page.getByLabel('Code', { exact: true }).fill('123456')
    await visitor.page.getByRole('button', { name: 'Sign in with the code' }).click()
    await heading('Approve or reject this action?').waitFor()
    expect(await visitor.page.getByLabel('Comment (optional)').inputValue()).toBe('Fine with me.')
    expect(place).toBeGreaterThan(0)
    expect(await visitor.page.evaluate('scrollY')).toBe(place)
  })

  it('says that somebody was faster', async () => {
    await stopClock(visitor.page)
    const review = sampleReview()
    suite.server().state.review = review
    await visitor.page.goto(path)
    await visitor.page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await visitor.page.getByLabel('Code from your authenticator app').fill('123456')
    suite.server().state.review = { ...review, status: 'expired', cancelled: true, may_decide: false }
    await visitor.page.getByRole('button', { name: 'Approve' }).click()
    await heading('Withdrawn').waitFor()
    expect(await visitor.page.locator('.notice').innerText()).toBe(
      'Careful: your decision is not recorded; the request had ended before.',
    )
  })

  it('offers to try again when the service does not answer, and does by itself once there is a network', async () => {
    await visitor.page.route('**/review', (route) => route.abort())
    await visitor.page.goto(path)
    await heading('The request could not be loaded').waitFor()
    await visitor.page.unroute('**/review')
    await visitor.context.setOffline(true)
    await visitor.context.setOffline(false)
    await heading('Approve or reject this action?').waitFor()
    await visitor.page.route('**/review', (route) => route.abort())
    await visitor.page.reload()
    await heading('The request could not be loaded').waitFor()
    // Nothing was to be done, so nothing was "not done".
    expect(await visitor.page.locator('.notice').innerText()).toBe(
      'The service does not respond. Check your connection and try again.',
    )
    await visitor.page.unroute('**/review')
    await visitor.page.getByRole('button', { name: 'Try again' }).click()
    await heading('Approve or reject this action?').waitFor()
  })

  it('says beside the buttons for whom a stand-in decides, and what pressing them does', async () => {
    suite.server().state.review = sampleReview({
      approver: null,
      on_behalf_of: { name: 'Olga <b>B</b>', approver: 'aa11bb22cc33dd44', delegate: '7f3a09c2d41be865' },
    })
    await visitor.page.goto(`/a/${sampleReview().id}`)
    const form = visitor.page.locator('.decision-form')
    await form.waitFor()
    expect(await form.locator('.bar-line:has(.deciding-for) + .decision-buttons').count()).toBe(1)
    expect(await form.locator('.deciding-for').innerText()).toBe('You decide for Olga <b>B</b>.')
    expect(await form.innerText()).toContain('Nothing is decided until you confirm with your passkey.')
    await form.getByLabel('Code from an authenticator app').check()
    expect(await form.innerText()).toContain('Pressing the button decides, with the code you typed.')
    expect(await form.innerText()).not.toContain('Nothing is decided until')
  })

  it('does not lose an enrolment link to a moment without network', async () => {
    await visitor.page.route('**/lookup', (route) => route.abort())
    await visitor.page.goto('/enroll#good-token')
    await heading('This page could not be loaded').waitFor()
    await visitor.page.unroute('**/lookup')
    await visitor.page.getByRole('button', { name: 'Try again' }).click()
    await visitor.page.getByRole('button', { name: 'Create a passkey' }).waitFor()
  })

  it('says before one signs in that a browser without cookies cannot stay signed in', async () => {
    await visitor.page.addInitScript(`Object.defineProperty(navigator, 'cookieEnabled', { value: false })`)
    suite.server().state.signedIn = false
    await visitor.page.goto('/signin')
    await visitor.page.getByText('this browser blocks the cookies of this page').waitFor()
  })

  it('leads only to pages of its own after signing in, and a new owner to the inbox', async () => {
    suite.server().state.keys = []
    for (const next of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/api/v1/session',
    ]) {
      await visitor.page.goto(`/signin?next=${encodeURIComponent(next)}`)
      await heading('Inbox').waitFor()
      expect(visitor.page.url()).toBe(`${suite.server().url}/`)
    }
    await visitor.page.goto(`/signin?next=${encodeURIComponent(`${path}?d=reject`)}`)
    await heading('Approve or reject this action?').waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}${path}?d=reject`)
    expect(visitor.incidents).toEqual([])
  })
})
