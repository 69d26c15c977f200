import { beforeEach, expect, it } from 'vitest'
import { refusal } from '../../src/domain/errors.ts'
import { axeViolations, describeInBrowser, overflow, type Visitor } from '../support/browser.ts'
import type { PageArea } from '../support/page-area.ts'
import { sampleConsent } from '../support/page-consent-answers.ts'
import { SAMPLE_USER, samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const PATH = `/a/${sampleReview().id}`
const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString()

describeInBrowser('the way on from a request', () => {
  let special: ReturnType<PageArea['routes']> = {}
  const area: PageArea = {
    reset: () => {
      special = {}
    },
    routes: () => special,
  }
  const suite = usePageSuite(area)
  let visitor: Visitor
  const links = () => visitor.page.getByRole('navigation', { name: 'Continue' }).getByRole('link')
  const addresses = async (): Promise<(string | null)[]> =>
    Promise.all((await links().all()).map((one) => one.getAttribute('href')))
  const approve = async (then = 'Approved', from = ''): Promise<void> => {
    const { page } = visitor
    await page.goto(`${PATH}?${from}d=approve`)
    await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: then, exact: true }).waitFor()
  }

  beforeEach(async () => {
    visitor = await suite.visit()
  })

  it('offers the request whose time runs out first, by a link that carries no decision over', async () => {
    suite.server().state.pending = [
      samplePending({ id: 'req_other', expires_at: inMinutes(1), may_decide: false }),
      samplePending({ id: 'req_stuck', expires_at: inMinutes(2), methods: [] }),
      samplePending(),
      samplePending({ id: 'req_soon', expires_at: inMinutes(5) }),
      samplePending({ id: 'req_late', expires_at: inMinutes(50) }),
    ]
    await approve()
    await expect.poll(addresses).toEqual(['/', '/a/req_soon'])
    expect(await links().allInnerTexts()).toEqual(['Back to the inbox', 'Next request'])
    suite.server().state.review = sampleReview({ id: 'req_soon', action: 'The next one' })
    await links().nth(1).click()
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(await visitor.page.locator('.action').innerText()).toBe('The next one')
    expect(await visitor.page.locator('[data-wanted]').count()).toBe(0)
    expect(await visitor.page.getByLabel('Comment (optional)').inputValue()).toBe('')
  })

  it('keeps the filter of the list it came from: back, and for the next, however far down the list', async () => {
    const others = Array.from({ length: 150 }, (_, at) => samplePending({ id: `req_${at}` }))
    const by = { ...samplePending().requested_by, key_name: 'support & co' }
    suite.server().state.pending = [...others, samplePending({ id: 'req_mine', requested_by: by })]
    await approve('Approved', 'by=support+%26+co&impact=high&')
    const filter = '?by=support+%26+co&impact=high'
    await expect.poll(addresses).toEqual([`/${filter}`, `/a/req_mine${filter}`])
    const inbox = visitor.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Inbox' })
    expect(await inbox.getAttribute('href')).toBe(`/${filter}`)
    // In the order of the list, also of what the service lists last; and the key n leads to it.
    const newest = samplePending({ id: 'req_new', created_at: inMinutes(0), requested_by: by })
    suite.server().state.pending = [...others, samplePending({ id: 'req_mine', requested_by: by }), newest]
    suite.server().state.review = sampleReview()
    await approve('Approved', 'by=support+%26+co&sort=new&')
    await expect
      .poll(addresses)
      .toEqual(['/?by=support+%26+co&sort=new', '/a/req_new?by=support+%26+co&sort=new'])
    await visitor.page.keyboard.press('n')
    await visitor.page.waitForURL('**/a/req_new?*')
    // None of another list is offered where that list has no more.
    suite.server().state.pending = others
    suite.server().state.review = sampleReview()
    suite.server().calls.length = 0
    await approve('Approved', 'by=support+%26+co&')
    const looks = () => suite.server().calls.filter((call) => call === 'GET /me/pending').length
    await expect.poll(looks).toBe(2)
    expect(await addresses()).toEqual(['/?by=support+%26+co'])
    await links().click()
    await visitor.page.getByText('No pending requests match these filters.').waitFor()
  })

  it('asks what else waits only after the decision, and leads back when nothing does', async () => {
    await approve()
    const { calls } = suite.server()
    await expect.poll(() => calls.filter((call) => call === 'GET /me/pending')).toHaveLength(1)
    expect(calls.indexOf('GET /me/pending')).toBeGreaterThan(
      calls.findIndex((call) => call.startsWith('POST') && call.endsWith('/decision')),
    )
    expect(await addresses()).toEqual(['/'])
    await links().click()
    await visitor.page.getByRole('heading', { name: 'Pending requests' }).waitFor()
  })

  it('leads back all the same when it cannot be told what else waits', async () => {
    special = {
      'GET /me/pending': () => {
        throw refusal('internal_error')
      },
    }
    await approve()
    await expect.poll(() => suite.server().calls).toContain('GET /me/pending')
    expect(await addresses()).toEqual(['/'])
    expect(await visitor.page.locator('.notice.error').count()).toBe(0)
    expect(visitor.incidents).toEqual([])
  })

  it('leads back from what is settled already, without asking what else waits', async () => {
    suite.server().state.review = sampleReview({ status: 'expired', may_decide: false })
    await visitor.page.goto(PATH)
    await visitor.page.getByRole('heading', { name: 'Expired without a decision' }).waitFor()
    expect(await addresses()).toEqual(['/'])
    expect(suite.server().calls).not.toContain('GET /me/pending')
  })

  it('stays while the page waits for the votes of others and follows them', async () => {
    const { state } = suite.server()
    state.pending = [samplePending({ id: 'req_next' })]
    const review = sampleReview({ quorum: { needed: 2, approved: 1 } })
    state.review = review
    const vote = { approver: SAMPLE_USER.approver, delegate: undefined, comment: null, mine: true }
    const votes = [{ ...vote, decision: 'approved' as const, method: 'totp' as const, at: inMinutes(0) }]
    special = {
      'POST /approvals/:id/decision': () => {
        state.review = { ...review, may_decide: false, why_not: 'already_voted', votes }
        return { id: review.id, status: 'pending' }
      },
    }
    await visitor.page.clock.install()
    await approve('You approved. Waiting for others')
    await expect.poll(addresses).toEqual(['/', '/a/req_next'])
    state.review = { ...review, status: 'rejected', may_decide: false, votes }
    await visitor.page.clock.runFor(5000)
    await visitor.page.getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
    expect(await addresses()).toEqual(['/', '/a/req_next'])
    expect(suite.server().calls.filter((call) => call === 'GET /me/pending')).toHaveLength(1)
  })

  it('of a delegate whose vote was given meanwhile goes on with the request, which is not over', async () => {
    const { state } = suite.server()
    const review = sampleReview({ quorum: { needed: 2, approved: 0 } })
    state.review = review
    special = {
      'POST /approvals/:id/decision': () => {
        state.review = { ...review, quorum: { needed: 2, approved: 1 }, may_decide: false }
        throw refusal('already_voted')
      },
    }
    await approve('Waiting for a decision')
    expect(await visitor.page.locator('.request > .notice').innerText()).toBe(
      'Careful: your decision is not recorded; this vote had been cast before, or you may no longer cast it.',
    )
  })

  it('of a page that comes back while an answer is overdue is to look again right after it', async () => {
    const { page } = visitor
    await page.clock.install()
    await page.clock.pauseAt(inMinutes(1))
    await page.goto(PATH)
    await page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    const held: (() => Promise<void>)[] = []
    await page.route('**/review', (route) => void held.push(() => route.continue()))
    await page.clock.runFor(5000)
    await expect.poll(() => held.length).toBe(1)
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await page.clock.runFor(100)
    expect(held).toHaveLength(1)
    const answered = page.waitForResponse('**/review')
    await held[0]?.()
    await (await answered).finished()
    // Three seconds of the page's clock, less than it waits between two looks.
    for (let turn = 0; held.length < 2 && turn < 300; turn += 1) await page.clock.runFor(10)
    expect(held).toHaveLength(2)
    await held[1]?.()
  })

  it('shows no way on beside an open decision, but the brand leads to the inbox from every page', async () => {
    await visitor.page.goto(PATH)
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(await links().count()).toBe(0)
    await visitor.page.getByRole('link', { name: 'Countersign: start' }).click()
    await visitor.page.getByRole('heading', { name: 'Pending requests' }).waitFor()
    expect(new URL(visitor.page.url()).pathname).toBe('/')
  })

  it('of a person whose only passkey is suspended leads to who lets them in again, as their account says', async () => {
    const { state } = suite.server()
    const { page } = visitor
    const said = page.locator('.notice', { hasText: 'has been suspended since' })
    for (const [index, one] of state.factors.passkeys.entries())
      Object.assign(one, {
        authenticator: 'Token A',
        device_bound: true,
        ...(index === 0 && { attested: true }),
      })
    await page.goto('/account')
    await said.waitFor()
    expect(await page.getByText('Token A').allInnerTexts()).toEqual([
      expect.stringMatching(/^Token A \(proven\), device-bound · /),
      expect.stringMatching(/^says it is Token A, device-bound · /),
    ])
    expect(await said.innerText()).toMatch(
      /^Careful: your passkey Phone has been suspended since .*2026.* remove it\.$/,
    )
    state.factors.passkeys.shift()
    state.factors.totp = { enabled: false, since: null }
    state.review = sampleReview({ may_decide: false, why_not: 'passkey_required', methods: [] })
    state.consents.one = sampleConsent({ methods: [] })
    for (const address of ['/account', PATH, `/b/${state.consents.one.id}`]) {
      await page.goto(address)
      expect(await said.innerText(), address).toMatch(/a copy.*countersign user invite .*--renew/)
      expect(await page.locator('.panel').getByRole('link').count(), address).toBe(0)
    }
    await page.goto('/account')
    expect(await page.locator('h1 + .notice').innerText()).toBe(await said.innerText())
    expect(await page.getByRole('button', { name: 'Remove the passkey Phone' }).count()).toBe(0)
  })

  it('of a person with a suspended passkey begins in the inbox, which says so', async () => {
    const { state } = suite.server()
    const { page } = visitor
    const said = page.locator('h1 + .notice')
    await page.goto('/')
    await page.locator('.inbox-row').first().waitFor()
    expect(await said.count()).toBe(0)
    state.user = { ...SAMPLE_USER, has_suspended_passkey: true }
    await page.reload()
    await said.getByText('one of your passkeys is suspended, because a copy of it may exist.').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await overflow(page)).toBe(0)
    await said.getByRole('link', { name: 'See your account' }).click()
    await page.getByText('has been suspended since').waitFor()
  })

  it('of a person whose codes were switched off says so, with a passkey or without', async () => {
    const { state } = suite.server()
    const { page } = visitor
    state.factors.passkeys = state.factors.passkeys.filter(({ suspended }) => !suspended)
    state.factors.totp = { enabled: false, since: '2026-11-01T09:00:00.000Z' }
    await page.goto('/account')
    await page.getByText('Your codes are switched off: too many wrong ones were entered. Set').waitFor()
    expect(await page.locator('h1 + .notice').count()).toBe(0)
    state.factors.passkeys = []
    state.review = sampleReview({ may_decide: false, why_not: 'passkey_required', methods: [] })
    await page.goto(PATH)
    expect(await page.locator('.panel .notice').innerText()).toMatch(/codes are switched off.*--renew/)
  })
})
