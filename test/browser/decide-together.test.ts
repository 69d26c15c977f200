import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, type Visitor } from '../support/browser.ts'
import { challengeOf } from '../support/page-answers.ts'
import { type BatchAnswer, batchArea } from '../support/page-batch-answers.ts'
import { SAMPLE_CONTEXT, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const COUNT_PASSKEYS = `
  window.passkeyPrompts = 0
  const original = navigator.credentials.get.bind(navigator.credentials)
  navigator.credentials.get = (options) => { window.passkeyPrompts += 1; return original(options) }`

const { context_json, context_sha256 } = sampleReview({}, {})
const bare = { context_json, context_sha256 }

/** A change to the answer that keeps every hash consistent, as a careful liar would. */
type Lie = (answer: BatchAnswer) => unknown

const rehashed = (answer: BatchAnswer, batch: object): unknown => ({
  ...answer,
  batch,
  options: { ...answer.options, challenge: challengeOf(batch) },
})

const LIES: Record<string, Lie> = {
  'one intent says something else': ({ intents: [first, ...others], ...rest }) => ({
    ...rest,
    intents: [{ ...first, action: 'Delete everything' }, ...others],
  }),
  'one intent turns the decision round': ({ intents: [first, ...others], ...rest }) => ({
    ...rest,
    intents: [{ ...first, decision: 'rejected' }, ...others],
  }),
  'the list has one request more': (answer) => {
    const [first] = answer.batch.items
    const extra = { rid: 'req_4', decision: 'approved', intent_sha256: first?.intent_sha256 }
    return rehashed(answer, { ...answer.batch, items: [...answer.batch.items, extra] })
  },
  'the list leaves one out': (answer) =>
    rehashed(answer, { ...answer.batch, items: answer.batch.items.slice(1) }),
  'the list names another hash': (answer) => {
    const items = answer.batch.items.map((item) => ({ ...item, intent_sha256: 'a'.repeat(64) }))
    return rehashed(answer, { ...answer.batch, items })
  },
  'the list has another order': (answer) =>
    rehashed(answer, { ...answer.batch, items: answer.batch.items.toReversed() }),
  'another person acts': (answer) => rehashed(answer, { ...answer.batch, approver: '0000000000000000' }),
  'another service asks': (answer) => rehashed(answer, { ...answer.batch, aud: 'https://elsewhere.example' }),
  'the batch has a field nobody saw': (answer) => rehashed(answer, { ...answer.batch, extra: 'x' }),
  'it is a single decision': (answer) =>
    rehashed(answer, { ...answer.batch, typ: 'human-approval/intent/v1' }),
  'the challenge is not the hash of the batch': (answer) => ({
    ...answer,
    options: { ...answer.options, challenge: 'A'.repeat(43) },
  }),
  'a touch without fingerprint, face or PIN would do': (answer) => ({
    ...answer,
    options: { ...answer.options, userVerification: 'preferred' },
  }),
}

describeInBrowser('several requests under one gesture', () => {
  const area = batchArea()
  const suite = usePageSuite(area)
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
    await visitor.page.addInitScript(COUNT_PASSKEYS)
  })
  const dialog = (): Locator => page.getByRole('dialog')
  const heading = (): Promise<string> => dialog().getByRole('heading', { level: 2 }).first().innerText()
  /** The frame of what is open has the whole action; of what is folded, the line. */
  const quotes = (within: Locator): Promise<string[]> =>
    within.locator('.action, .batch-item:not([open]) .inbox-action').allInnerTexts()
  const open = async (): Promise<void> => {
    await page.goto('/')
    await openDialog()
  }
  const openDialog = async (): Promise<void> => {
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Approve 3 selected' }).click()
    await dialog().locator('.decision-form').waitFor()
  }
  const confirmWithCode = async (button: string, code = '123456'): Promise<void> => {
    await dialog().getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await dialog().getByLabel('Code from your authenticator app').fill(code)
    await dialog().getByRole('button', { name: button }).click()
  }
  const decideAs = async (button: string, outcome: string): Promise<void> => {
    await confirmWithCode(button)
    await dialog().getByRole('heading', { name: outcome }).waitFor()
  }
  const seeAll = async (): Promise<void> => {
    const more = dialog().locator('.see-more')
    for (let presses = 0; presses < 40 && (await more.isVisible()); presses += 1) await more.press('Enter')
  }

  it('lists what ends first in the inbox, and before signing high impact above it', async () => {
    await open()
    const order = ['Send the newsletter', 'Restart the mail server', 'Drop the invoices table']
    expect(await page.locator('.inbox-row .inbox-action').allInnerTexts()).toEqual(order)
    expect(await quotes(dialog())).toEqual([order[2], order[0], order[1]])
    expect(await heading()).toBe('Approve 3 requests?')
    expect(await dialog().innerText()).toContain('One of them is marked high impact and comes first.')
    expect(await dialog().locator('.batch-item').first().locator('.badge.high-impact').count()).toBe(1)
    expect(await dialog().locator('.badge.high-impact').count()).toBe(1)
  })

  it('shows everything that is signed of high impact at once, and of the others on demand', async () => {
    await open()
    const box = dialog().locator('.caller-box')
    const row = dialog().locator('.batch-item')
    expect(await box.count()).toBe(1)
    expect(await row.first().getAttribute('open')).toBe('')
    const summaries = row.locator('> summary')
    for (const text of await summaries.allInnerTexts()) expect(text).toContain('25 fields')
    const signed = [SAMPLE_CONTEXT.tool, SAMPLE_CONTEXT.reason, 'OPS-4411', 'Stated by Countersign']
    const high = await row.first().innerText()
    for (const shown of [...signed, 'req_3']) expect(high).toContain(shown)
    await summaries.nth(1).click()
    await expect.poll(() => box.count()).toBe(2)
    const asked = await row.nth(1).innerText()
    for (const shown of [...signed, 'req_1']) expect(asked).toContain(shown)
  })

  it('counts the same fields in its line and of what was not on the screen', async () => {
    const values = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`value_${at}`, at]))
    const nested = sampleReview({}, { tool_arguments: { values } })
    area.state.reviews = area.state.reviews.map((review) => ({
      ...review,
      context_json: nested.context_json,
      context_sha256: nested.context_sha256,
    }))
    await page.setViewportSize({ width: 390, height: 600 })
    await open()
    expect(await dialog().locator('.batch-about').first().innerText()).toContain('· 41 fields ·')
    expect(await dialog().locator('.see-more').innerText()).toMatch(/^See (3\d|4[01]) more$/)
  })

  it('says of a request without details that it has none', async () => {
    area.state.reviews = area.state.reviews.map((review) => sampleReview({ ...review, ...bare }))
    await open()
    for (const text of await dialog().locator('.batch-item > summary').allInnerTexts())
      expect(text).toContain('no details')
    await dialog().getByText('The caller gave no further details.').waitFor()
    expect(await dialog().getByText('Exact text of the details').count()).toBe(0)
  })

  it('opens and closes the details of all with one button, also by keyboard', async () => {
    await open()
    const opened = (): Promise<number> => dialog().locator('.batch-item[open]').count()
    const all = (name: string): Locator => dialog().getByRole('button', { name, exact: true })
    await all('Open all details').press('Enter')
    expect(await opened()).toBe(3)
    // An opened part is drawn when the browser says that it was opened.
    await expect.poll(() => dialog().locator('.caller-box').count()).toBe(3)
    await all('Close all details').press('Space')
    expect(await opened()).toBe(0)
    for (const at of [0, 1, 2]) await dialog().locator('.batch-item > summary').nth(at).click()
    await all('Close all details').waitFor()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY')
  })

  it('approves all with one code, says what came of each, and the inbox is empty', async () => {
    await open()
    await dialog().getByLabel('Comment (optional)').fill('All fine.')
    await decideAs('Approve 3 requests', 'Approved: 3 requests')
    expect(area.state.posted).toEqual({ batch_id: 'b'.repeat(64), comment: 'All fine.', totp: '123456' })
    expect(await dialog().locator('.batch-outcome').allInnerTexts()).toEqual(Array(3).fill('Approved.'))
    await dialog().getByRole('button', { name: 'Back to the inbox' }).click()
    await page.getByText('You have no pending requests.').waitFor()
    expect(visitor.incidents).toEqual([])
  })

  it('asks to have seen all of a high impact before it is approved; rejecting is free', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await open()
    const bar = dialog().locator('.decision-bar')
    const { y = 0, height = 0 } = (await bar.boundingBox()) ?? {}
    expect(y + height).toBe(844)
    expect(await bar.innerText()).toMatch(/^See \d+ more\s+Cancel\s+Approve 3 requests$/)
    const topOf = async (name: string) => (await dialog().getByRole('button', { name }).boundingBox())?.y
    expect(await topOf('Cancel')).toBe(await topOf('Approve 3 requests'))
    await confirmWithCode('Approve 3 requests')
    await dialog()
      .getByText(/what you approve has a high impact, and \d+ fields were not on your screen yet/)
      .waitFor()
    expect(suite.server().calls).not.toContain('POST /approvals/decisions/options')
    await seeAll()
    await dialog()
      .getByText(/not on your screen yet/)
      .waitFor({ state: 'detached' })
    // Behind a dialog, screen readers hear nothing.
    expect(await dialog().locator('.announcements').innerText()).toBe(
      'All fields of the request were on your screen',
    )
    await dialog().getByRole('button', { name: 'Approve 3 requests' }).click()
    await dialog().getByRole('heading', { name: 'Approved: 3 requests' }).waitFor()
    area.reset()
    const [other = sampleReview(), ...rest] = area.state.reviews
    area.state.reviews = [{ ...other, requester: { key: 'key_2', account: 'acc_2' } }, ...rest]
    const { account } = other.requester
    area.state.reasons = { [account]: ['Only theirs', 'Not now'], acc_2: ['Not now', 'Only ours'] }
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Reject 3 selected' }).click()
    await dialog().locator('.reasons').waitFor()
    expect(await dialog().locator('.reasons button').allInnerTexts()).toEqual(['Not now'])
    await decideAs('Reject 3 requests', 'Rejected: 3 requests')
  })

  it('leads through a text longer than the screen, too', async () => {
    const { context_json, context_sha256 } = sampleReview({}, { reason: 'Mends it. '.repeat(400) })
    area.state.reviews = area.state.reviews.map((review) => ({ ...review, context_json, context_sha256 }))
    await page.setViewportSize({ width: 390, height: 844 })
    await open()
    await confirmWithCode('Approve 3 requests')
    const rest = dialog().getByText(/not on your screen yet/)
    await rest.waitFor()
    await seeAll()
    expect(await dialog().locator('.see-more').isVisible()).toBe(false)
    const { y = 0, height = 0 } = (await dialog().locator('.long-value').boundingBox()) ?? {}
    expect(y + height).toBeLessThanOrEqual((await dialog().locator('.decision-bar').boundingBox())?.y ?? 0)
    await dialog().getByRole('button', { name: 'Approve 3 requests' }).click()
    await dialog().getByRole('heading', { name: 'Approved: 3 requests' }).waitFor()
  })

  it('keeps what is selected while one of it is looked at, without what waits no more', async () => {
    await page.goto('/')
    for (const n of [1, 2]) await page.getByRole('checkbox', { name: 'Select', exact: true }).nth(n).check()
    const second = page.locator('.inbox-row').nth(1).getByRole('link')
    const look = () => Promise.all([page.waitForURL('**/a/req_*'), second.press('Enter')])
    await look()
    await page.goBack()
    await page.locator('.together').getByText('2 selected', { exact: true }).waitFor()
    await page.setViewportSize({ width: 360, height: 800 })
    const wholeWords = '((count) => count.scrollWidth === count.clientWidth && count.offsetHeight < 40)'
    expect(await page.evaluate(`${wholeWords}(document.querySelector(".together-count"))`)).toBe(true)
    await look()
    area.state.reviews = area.state.reviews.filter(({ id }) => !page.url().endsWith(`/a/${id}`))
    await page.goto('/')
    await page.locator('.together').getByText('1 selected', { exact: true }).waitFor()
    const { state } = suite.server()
    state.user = { ...state.user, approver: '0000000000000000' }
    await page.reload()
    await page.locator('.inbox-row').first().waitFor()
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)
  })

  it('rejects only what is selected, with a reason that the account has', async () => {
    const [first] = area.state.reviews
    area.state.reasons = { [first?.requester.account ?? '']: ['Not <b>allowed', 'Not now'] }
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select', description: 'Send the newsletter' }).check()
    await page.getByRole('button', { name: 'Reject 1 selected' }).click()
    await dialog().locator('.decision-form').waitFor()
    expect(await quotes(dialog())).toEqual(['Send the newsletter'])
    const reasons = dialog().getByRole('group', { name: 'Reason for a rejection (optional)' })
    await reasons.getByRole('button', { name: 'Not now' }).click()
    await reasons.getByRole('button', { name: 'Not <b>allowed' }).click()
    expect(await reasons.getByRole('button', { pressed: true }).allInnerTexts()).toEqual(['Not <b>allowed'])
    expect(await axeViolations(page)).toEqual([])
    await decideAs('Reject 1 request', 'Rejected: 1 request')
    const reason = 'Not <b>allowed'
    expect(area.state.posted).toEqual({ batch_id: 'b'.repeat(64), reason, totp: '123456' })
    await dialog().getByRole('button', { name: 'Back to the inbox' }).click()
    await expect.poll(() => page.locator('.inbox-row').count()).toBe(2)
  })

  it('says in a browser without passkeys that only another one can, and offers no button that could only fail', async () => {
    area.state.reviews = area.state.reviews.map((review) => ({ ...review, methods: ['passkey'] }))
    await page.addInitScript('delete window.PublicKeyCredential')
    await open()
    expect(await dialog().innerText()).toContain('this browser cannot use passkeys')
    expect(await dialog().getByRole('button', { name: 'Approve 3 requests' }).count()).toBe(0)
  })

  it.each([
    { lost: [], name: '3 of 3 requests recorded', first: [], last: ['Approved.'] },
    {
      lost: ['req_2'],
      name: '2 of 3 requests recorded',
      first: ['Not recorded: It ran out meanwhile.'],
      last: [],
    },
  ])('says that it waits for others, and what was lost while writing: $lost', async (by) => {
    const [first = {}] = area.state.reviews.filter(({ id }) => id === 'req_1')
    Object.assign(first, { quorum: { needed: 2, approved: 0 } })
    area.state.lost = by.lost
    await open()
    await decideAs('Approve 3 requests', by.name)
    const outcomes = await dialog().locator('.batch-outcome').allInnerTexts()
    const waits = 'Your approval is recorded. Other approvers still have to decide.'
    expect(outcomes, 'what failed comes first').toEqual([...by.first, 'Approved.', waits, ...by.last])
  })

  it('finds out what is recorded when the answer is lost, and calls nothing undone that is', async () => {
    await open()
    await page.route('**/approvals/decisions', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await decideAs('Approve 3 requests', 'Approved: 3 requests')
    expect(await dialog().locator('.batch-outcome').allInnerTexts()).toEqual(Array(3).fill('Approved.'))
    expect(await dialog().innerText()).not.toContain('Not done')
  })

  it('records nothing when something changed, says so, and shows the list as it is now (T18)', async () => {
    await open()
    area.state.changed = ['req_2']
    await confirmWithCode('Approve 3 requests')
    await dialog().getByText('1 request changed since you looked').waitFor()
    expect(await dialog().innerText()).toContain('Nothing was recorded.')
    await dialog().getByRole('heading', { name: 'Approve 2 requests?' }).waitFor()
    expect(await dialog().innerText()).toContain('1 can no longer be decided by you and is left out.')
    area.state.changed = ['req_3']
    await decideAs('Approve 2 requests', 'Approve 1 request?')
    expect(await dialog().innerText()).toMatch(/You decide it with one signature\. (?!One of them)/)
    await decideAs('Approve 1 request', 'Approved: 1 request')
  })

  it('keeps the list after a wrong code and lets the person try again', async () => {
    await open()
    await confirmWithCode('Approve 3 requests', '000000')
    await dialog().getByText('The code is wrong or was already used').waitFor()
    await decideAs('Approve 3 requests', 'Approved: 3 requests')
  })

  it('refuses before the passkey, whatever the service lies about (T16, T18)', async () => {
    await page.goto('/')
    for (const [what, lie] of Object.entries(LIES)) {
      area.state.lie = lie
      await openDialog()
      await dialog().getByRole('button', { name: 'Approve 3 requests' }).click()
      await dialog()
        .getByRole('heading', { name: /Stopped for your safety|Approved/ })
        .waitFor()
      expect(await dialog().innerText(), what).toContain('Stopped for your safety')
      expect(await dialog().innerText(), what).toContain('Nothing was signed.')
      expect(await page.evaluate('window.passkeyPrompts'), what).toBe(0)
      expect(suite.server().calls, what).not.toContain('POST /approvals/decisions')
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
    }
  })

  it('asks for the passkey once when everything is as shown, and can be stopped', async () => {
    // Without this, Chromium shows a window of its own and takes every click.
    await (await visitor.context.newCDPSession(page)).send('WebAuthn.enable')
    await open()
    await dialog().getByRole('button', { name: 'Approve 3 requests' }).click()
    await dialog().getByText('your browser asks for your passkey now').waitFor()
    expect(await page.evaluate('window.passkeyPrompts')).toBe(1)
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await dialog().getByText('The passkey prompt was stopped').waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(suite.server().calls).not.toContain('POST /approvals/decisions')
  })

  it('names whom a stand-in decides for, in the list and in what is signed', async () => {
    const principal = { name: 'Bo', approver: '1111111111111111', delegate: '7f3a09c2d41be865' }
    const stoodInFor = { approver: null, on_behalf_of: principal }
    area.state.reviews = area.state.reviews.map((review) => ({ ...review, ...stoodInFor }))
    await open()
    expect(await dialog().locator('.batch-item').first().innerText()).toContain('You decide it for Bo')
    const others = dialog().locator('.decision-form .deciding-for')
    expect(await others.innerText()).toBe('You decide for Bo.')
    await decideAs('Approve 3 requests', 'Approved: 3 requests')
  })

  it('does not offer it for one request alone, nor for what the person cannot decide', async () => {
    area.state.reviews = area.state.reviews.slice(0, 1)
    await page.goto('/')
    await page.locator('.inbox-row').waitFor()
    expect(await page.getByRole('button', { name: /Approve/ }).count()).toBe(0)
    expect(await page.getByRole('checkbox').count()).toBe(0)
  })

  it.each([
    [360, 'dark'],
    [1440, 'light'],
  ] as const)('axe finds nothing and nothing overflows at %i px, %s', async (width, colorScheme) => {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    await open()
    await dialog().getByRole('button', { name: 'Open all details' }).click()
    await expect.poll(() => dialog().locator('.caller-box').count()).toBe(3)
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    await seeAll()
    await decideAs('Approve 3 requests', 'Approved: 3 requests')
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
  })
})
