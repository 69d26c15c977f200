import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, stopClock } from '../support/browser.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const PHONE = { width: 390, height: 844 }
const PATH = `/a/${sampleReview().id}`
const ARGUMENTS = { service: 'billing-api', version: '4.2.1', environment: 'production', replicas: 12 }
const DEPLOY = { agent_name: 'release-bot', tool: 'deploy', reason: 'A fix.', tool_arguments: ARGUMENTS }
/** All that callers usually say. */
const ORDINARY = {
  ...DEPLOY,
  tool: 'kubernetes.deploy',
  agent_purpose: 'Deploys what was reviewed.',
  reason: 'Mends the rounding of VAT in invoices, which customers reported on Friday (INC-2211).',
  tool_arguments_fingerprint: '9c1e77ab03f2',
}
/** Folds: a list of 40 in the arguments, of which no more than 12 values would start open. */
const DEEP = { tool_arguments: { cluster: 'eu', hosts: Array.from({ length: 40 }, (_, at) => `host-${at}`) } }
const SQL = Array.from({ length: 60 }, (_, at) => `DELETE FROM invoices WHERE id = ${at};`).join('\n')
const DIFF = [
  '--- a/x.ts',
  '+++ b/x.ts',
  '@@ -1,2 +1,16 @@',
  ...Array.from({ length: 14 }, (_, at) => `+line ${at} ${'x'.repeat(50)}`),
]
const DESK = { width: 1280, height: 900 }
const host = (at: number) => ({
  ip: `10.0.0.${at}`,
  labels: { env: 'prod', owner: 'team-1', role: 'db' },
  packages: [
    { from: '1', name: 'openssl', to: '2' },
    { from: '3', name: 'curl', to: '4' },
  ],
})
const HOSTS = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`host_${at + 10}`, host(at)]))
/** From where to where the long text is on the screen, and how long it is. */
const SEEN_OF_TEXT = `(() => {
  const { top, height } = document.querySelector('.long-value').getBoundingClientRect()
  const bar = document.querySelector('.decision-bar')
  const floor = getComputedStyle(bar).position === 'fixed' ? bar.getBoundingClientRect().top : innerHeight
  return { from: -top, to: floor - top, height }
})()`
interface SeenOfText {
  from: number
  to: number
  height: number
}

describeInBrowser('deciding on a phone', () => {
  const suite = usePageSuite()
  const open = async (viewport = PHONE): Promise<Page> => {
    const { page } = await suite.visit({ viewport })
    await page.goto(PATH)
    await page.locator('.decision-form').waitFor()
    return page
  }
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  const left = async (page: Page): Promise<number> =>
    Number(/See (\d+) more/.exec((await page.locator('.see-more').textContent()) ?? '')?.[1])
  const asked = (): number => suite.server().calls.filter((call) => call.endsWith('/options')).length

  it('shows time and buttons in a bar at the lower edge, and the arguments on the first screen', async () => {
    suite.server().state.review = sampleReview({}, DEPLOY)
    const page = await open()
    const bar = await page.locator('.decision-bar').boundingBox()
    if (bar === null) throw new Error('no bar')
    expect(bar.y + bar.height).toBe(PHONE.height)
    expect(bar.height).toBeLessThan(160)
    expect(await page.locator('.decision-bar').innerText()).toMatch(
      /^Expires in [^\n]+\s+(See \d more\s+)?Reject\s+Approve$/,
    )
    for (const name of ['Reject', 'Approve']) {
      const box = await page.getByRole('button', { name, exact: true }).boundingBox()
      expect(box?.height).toBeGreaterThanOrEqual(48)
    }
    for (const text of [sampleReview().action, ...Object.values(ARGUMENTS).map(String)]) {
      const box = await page.locator('.caller-box').getByText(text, { exact: true }).boundingBox()
      expect((box?.y ?? 0) + (box?.height ?? 0), text).toBeLessThan(bar.y)
    }
    expect(await page.getByText('Stated by Countersign').isVisible()).toBe(false)
    await page.getByText('Evidence').click()
    await page.getByText(sampleReview({}, DEPLOY).context_sha256).waitFor()
    await page.getByText('Add a comment').click()
    await page.getByLabel('Comment (optional)').focus()
    const comment = await page.getByLabel('Comment (optional)').boundingBox()
    expect((comment?.y ?? 0) + (comment?.height ?? 0)).toBeLessThanOrEqual(bar.y)
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
    expect(await page.title()).toBe(`Approve? ${sampleReview().action.slice(0, 60)}… · Countersign`)
    await page.setViewportSize({ width: 768, height: 1024 })
    const left = await page.getByRole('button', { name: 'Reject', exact: true }).boundingBox()
    expect(left?.x, 'in line with the page').toBe((await page.locator('.caller-box').boundingBox())?.x)
  })

  it('has an ordinary high impact whole on the first screen: one press, and the passkey is asked', async () => {
    suite.server().state.review = sampleReview({ reversibility: 'irreversible' }, ORDINARY)
    const page = await open()
    expect(await page.locator('.see-more').isVisible()).toBe(false)
    expect(await page.locator('[data-unread]').count()).toBe(0)
    const title = await page.getByRole('heading', { level: 1 }).boundingBox()
    const badge = await page.locator('.badge.high-impact').boundingBox()
    expect(badge?.y, 'beside the heading').toBeLessThan((title?.y ?? 0) + (title?.height ?? 0))
    await press(page, 'Approve')
    await expect.poll(asked).toBe(1)

    // On a lower screen it is not; what then moves up because something above it went has been seen, too.
    await page.setViewportSize({ width: 390, height: 600 })
    await page.reload()
    await page.locator('.see-more').waitFor()
    const before = await left(page)
    await page.evaluate(`document.querySelector('.request-head').style.display = 'none'`)
    const more = page.locator('.see-more')
    await expect.poll(async () => (await more.isHidden()) || (await left(page)) < before).toBe(true)
  })

  it('asks to have seen all of a high impact before it is approved, also by keyboard; rejecting is free', async () => {
    suite.server().state.review = sampleReview({ methods: ['totp'] }, DEEP)
    const page = await open()
    const before = await left(page)
    expect(before).toBeGreaterThanOrEqual(40)
    await page.getByRole('button', { name: 'Approve', exact: true }).hover()
    expect(await axeViolations(page)).toEqual([])
    await press(page, 'Approve')
    await page.getByText(`${before} fields were not on your screen yet.`).waitFor()
    expect(asked()).toBe(0)
    await page.getByLabel('Code from your authenticator app').fill('123456')
    const more = page.locator('.see-more')
    for (let presses = 0; presses < 40 && (await more.isVisible()); presses += 1) {
      const seen = await left(page)
      await more.focus()
      await page.keyboard.press('Enter')
      await expect.poll(async () => !(await more.isVisible()) || (await left(page)) < seen).toBe(true)
    }
    expect(await more.isVisible()).toBe(false)
    expect(await page.locator('.leaf').getByText('host-39').isVisible()).toBe(true)
    await press(page, 'Approve')
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()

    suite.server().state.review = sampleReview({ methods: ['totp'] }, DEEP)
    await page.reload()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await press(page, 'Reject')
    await page.getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
  })

  it.each([
    ['a text', PHONE, { reason: 'Mends it. '.repeat(400) }],
    ['a text on a desk', DESK, { reason: 'Mends it. '.repeat(1000) }],
    ['SQL', PHONE, { tool_arguments: SQL, display: 'sql' }],
    ['SQL on a desk', DESK, { tool_arguments: SQL, display: 'sql' }],
    ['a diff', { width: 375, height: 603 }, { tool_arguments: DIFF.join('\n'), display: 'diff' }],
  ])(
    'leads through %s longer than the screen, press by press, and passes over no line',
    async (_, viewport, context) => {
      suite.server().state.review = sampleReview({}, context)
      const page = await open(viewport)
      await press(page, 'Approve')
      await page.getByText(' not on your screen yet.').waitFor()
      const more = page.locator('.see-more')
      const steps: SeenOfText[] = []
      while ((await more.isVisible()) && steps.length < 12) {
        await more.press('Enter')
        steps.push(await page.evaluate<SeenOfText>(SEEN_OF_TEXT))
      }
      expect(await more.isVisible(), JSON.stringify(steps)).toBe(false)
      expect(steps.length).toBeGreaterThan(1)
      expect(steps[0]?.from).toBeLessThanOrEqual(0)
      // A step from the end of the text leads on to other parts of the page.
      for (const [at, { to, height }] of steps.entries())
        if (to < height) expect(steps[at + 1]?.from, JSON.stringify(steps)).toBeLessThan(to)
      expect(steps.at(-1)?.to).toBeGreaterThanOrEqual(steps.at(-1)?.height ?? Number.POSITIVE_INFINITY)
      expect(await page.evaluate('document.activeElement.matches(".caller-box *")')).toBe(true)
      expect(await page.getByText(' not on your screen yet.').count()).toBe(0)
      expect(await page.locator('.long-caption').innerText()).toMatch(/^[\d,]+ characters\s+Show in a box$/)
      expect(asked()).toBe(0)
      await press(page, 'Approve')
      await expect.poll(asked).toBe(1)
    },
  )

  it('shows what nested fields belong to, and a screenful a press', async () => {
    suite.server().state.review = sampleReview({}, { tool_arguments: HOSTS })
    const page = await open()
    const more = page.locator('.see-more')
    await more.press('Enter')
    const first = await page.locator('summary').getByText('host_10').boundingBox()
    expect(first?.y).toBeGreaterThanOrEqual(0)
    let presses = 1
    for (; presses < 40 && (await more.isVisible()); presses += 1) await more.press('Enter')
    expect(await more.isVisible()).toBe(false)
    expect(presses).toBeLessThan(25)
  })

  it('says when the service was last heard of while it is not, rests until then, and mends by itself', async () => {
    suite.server().state.review = sampleReview({}, DEPLOY)
    const { page, context } = await suite.visit({ viewport: PHONE })
    await stopClock(page)
    await page.goto(PATH)
    await page.locator('.decision-form').waitFor()
    await page.route('**/review', (route) => route.abort())
    await page.clock.runFor(4500)
    await page.getByText(/^The service does not respond\. This page shows the state at \d/).waitFor()
    const rest = (name: string) =>
      page.getByRole('button', { name, exact: true }).getAttribute('aria-disabled')
    expect([await rest('Reject'), await rest('Approve')]).toEqual(['true', 'true'])
    const calls = suite.server().calls.length
    await page.getByRole('button', { name: 'Approve', exact: true }).dispatchEvent('click')
    await page
      .locator('#announcements')
      .getByText('You can decide when the service responds again.')
      .waitFor()
    expect(suite.server().calls).toHaveLength(calls)
    await context.setOffline(true)
    await page.getByText(/^You are offline\. This page shows the state at \d/).waitFor()
    await page.unroute('**/review')
    await context.setOffline(false)
    await expect
      .poll(async () => {
        // The browser tells the page of the network by itself, perhaps after the first run.
        await page.clock.runFor(100)
        return page.locator('.connection').innerText()
      })
      .toBe('')
    expect([await rest('Reject'), await rest('Approve')]).toEqual([null, null])
  })

  it('lets no name that lies below the bar be seen or pressed through its buttons', async () => {
    const approver = 'aa11bb22cc33dd44'
    const vote = {
      approver,
      delegate: undefined,
      comment: null,
      mine: false,
      decision: 'approved',
      method: 'passkey',
    } as const
    const votes = [{ ...vote, at: '2026-11-20T09:30:20.000Z' }]
    const names = { [approver]: 'Bea Costa' }
    const quorum = { needed: 2, approved: 1 }
    suite.server().state.review = sampleReview({ quorum, votes, names }, DEPLOY)
    const page = await open()
    const atop = `(() => {
      const [name, reject] = [document.querySelector('.panel .person'), document.querySelector('.decision-bar .reject')]
      const button = reject.getBoundingClientRect()
      scrollBy(0, name.getBoundingClientRect().top - button.top - 8)
      const { left, top, width, height } = name.getBoundingClientRect()
      const [x, y] = [left + width / 2, top + height / 2]
      if (y < button.top || y > button.bottom) return 'not below the bar'
      return document.elementFromPoint(x, y).closest('.decision-bar') === null ? 'name' : 'bar'
    })()`
    expect(await page.evaluate(atop)).toBe('bar')
  })

  it('breaks no date and no amount of a drawn table', async () => {
    const paid = { to: 'Example Ltd, 12 Long Street', reason: 'Invoices of last autumn', due: '2026-11-23' }
    const tool_arguments = [paid, { ...paid, due: '2026-11-23T10:14:58Z' }]
    suite.server().state.review = sampleReview({}, { display: 'table', tool_arguments })
    const page = await open()
    const lines = `[...document.querySelectorAll('.drawn td:first-child bdi')].map((cell) => {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      while (!texts.nextNode().data.startsWith('2026'));
      const range = document.createRange()
      range.setStart(texts.currentNode, 0)
      range.setEnd(texts.currentNode, 10)
      return new Set([...range.getClientRects()].map(({ top }) => top)).size
    })`
    expect(await page.evaluate(lines)).toEqual([1, 1])
    expect(await page.locator('.drawn td:first-child').last().innerText()).toBe('2026-11-23T10:14:58Z')
    expect(
      await page.evaluate(`document.querySelector('.caller-box').scrollWidth - innerWidth`),
    ).toBeLessThan(0)
    expect(await overflow(page)).toBe(0)

    const amounts = ['12 000.00 EUR', '1 234 567 EUR', '999 999,99 EUR'].map((amount) => ({
      amount,
      ...paid,
    }))
    suite.server().state.review = sampleReview({}, { display: 'table', tool_arguments: amounts })
    await page.setViewportSize({ width: 800, height: 844 })
    await page.reload()
    await page.locator('.drawn td').first().waitFor()
    await page.setViewportSize(PHONE)
    const rows = `[...document.querySelectorAll('.drawn td:first-child .date')].map((one) => [
      one.textContent,
      one.getClientRects().length,
    ])`
    expect(await page.evaluate(rows)).toEqual([
      ['12 000.00', 1],
      ['1 234 567', 1],
      ['999 999,99', 1],
    ])
    expect(await overflow(page)).toBe(0)
  })

  it('breaks no word of up to ten letters of a drawn table, and draws none without room for them', async () => {
    const payment = {
      amount: '1834.15',
      currency: 'EUR',
      due: '2026-11-30',
      line: 2,
      payee: 'Supplier of figs',
    }
    // Digits under digits, and no button for a single row more.
    const eleven = Array.from({ length: 11 }, (_, at) => ({ ...payment, amount: `${10 ** at}.50` }))
    suite.server().state.review = sampleReview({}, { display: 'table', tool_arguments: eleven })
    const page = await open({ width: 800, height: 844 })
    expect(await page.locator('.drawn tbody tr').count()).toBe(11)
    const aligned = `[...document.querySelectorAll('.drawn tbody tr:last-child td')].map((cell) => getComputedStyle(cell).textAlign)`
    expect(await page.evaluate(aligned)).toEqual(['right', 'left', 'left', 'right', 'left'])
    const iban = 'DE89370400440532013002'
    suite.server().state.review = sampleReview(
      {},
      { display: 'table', tool_arguments: [{ ...payment, iban }] },
    )
    await page.reload()
    await page.locator('.decision-form').waitFor()
    const broken = `[...document.querySelectorAll('.drawn :is(th, td)')].flatMap((cell) => {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      const found = []
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
          const range = document.createRange()
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word)
        }
      }
      return found
    })`
    // Where the fonts are narrow, not even that one breaks.
    expect((await page.evaluate<string[]>(broken)).filter((word) => word !== iban)).toEqual([])
    expect(await page.evaluate(`document.querySelector('.drawn').offsetWidth`)).toBeGreaterThan(600)
    expect(await overflow(page)).toBe(0)
    const crowded = { ...payment, iban, line: 'abcdefghij', payee: 'abcdefghij' }
    suite.server().state.review = sampleReview({}, { display: 'table', tool_arguments: [crowded] })
    await page.reload()
    await page.locator('.decision-form').waitFor()
    expect(await page.locator('.drawn').count()).toBe(0)
    expect(await page.locator('.caller-box').innerText()).toContain(iban)
  })

  it('leads back to the code field after a wrong code, clear of the bar that has grown by the message', async () => {
    const page = await open({ width: 390, height: 700 })
    await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
    await page.getByLabel('Code from your authenticator app').fill('654321')
    // As close to the bar as the browser itself scrolls to a field that is typed in.
    await page.evaluate(`document.activeElement.scrollIntoView({ block: 'end' })`)
    await press(page, 'Reject')
    await page.getByText('The code is wrong or was already used').waitFor()
    const place = `(() => {
      const [field, bar] = [document.activeElement, document.querySelector('.decision-bar')]
      const covered = field.getBoundingClientRect().bottom > bar.getBoundingClientRect().top
      return [field.autocomplete, getComputedStyle(bar).position, covered]
    })()`
    await expect.poll(() => page.evaluate(place)).toEqual(['one-time-code', 'fixed', false])
    await page.getByLabel('Code from your authenticator app').fill('12')
    await press(page, 'Reject')
    await page.getByText('Enter the 6 digits').waitFor()
    expect(await page.getByText('The code is wrong or was already used').count()).toBe(0)
  })

  it('keeps Approve in its place at a desk when all of a high impact was seen', async () => {
    suite.server().state.review = sampleReview({ methods: ['totp'] }, DEEP)
    const page = await open({ width: 1280, height: 900 })
    const more = page.locator('.see-more')
    const room = async () => (await page.locator('.bar-line').boundingBox())?.height
    await more.waitFor()
    const before = await room()
    for (let presses = 0; presses < 40 && (await more.isVisible()); presses += 1) await more.press('Enter')
    expect(await more.isVisible()).toBe(false)
    expect(await room()).toBe(before)
  })

  it('counts as seen neither what is folded nor the rest of a text that scrolls, and asks only for a high impact', async () => {
    const context = { ...DEEP, reason: 'word '.repeat(400) }
    suite.server().state.review = sampleReview({ high_impact: false, methods: ['totp'] }, context)
    const page = await open({ width: 1280, height: 1600 })
    expect(await left(page)).toBe(41)
    await press(page, 'Open all details')
    // The browser says by itself that a fold was opened.
    await expect.poll(() => left(page)).toBeLessThanOrEqual(10)
    await page.locator('.long-value').scrollIntoViewIfNeeded()
    await expect.poll(() => left(page)).toBe(1)
    await page.evaluate(`document.querySelector('.long-value').scrollTo(0, 99999)`)
    await expect.poll(() => page.locator('.see-more').isVisible()).toBe(false)
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await press(page, 'Approve')
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
  })
})
