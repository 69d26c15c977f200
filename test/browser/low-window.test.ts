import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, PAINTED } from '../support/browser.ts'
import { batchArea } from '../support/page-batch-answers.ts'
import { sampleConsent } from '../support/page-consent-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const ACTION = sampleReview().action
const PATH = `/a/${sampleReview().id}`
/** Several screens of a low window. */
const LONG = { tool_arguments: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key_${at}`, at])) }
const CODE = 'Code from your authenticator app'

/** Where the field with the focus is, the text above it that stays on the screen, and the bar. */
const SEEN = `(() => {
  const field = document.activeElement
  const strip = getComputedStyle(field.closest('[data-action]'), '::before')
  const bar = document.querySelector('.decision-bar')
  const { top, bottom } = field.getBoundingClientRect()
  const atop = document.elementFromPoint(field.getBoundingClientRect().x + 20, (top + bottom) / 2) === field
  return {
    strip: strip.position === 'fixed' && strip.content.slice(1, -1),
    inSight: atop && top >= (strip.position === 'fixed' ? 30 : 0) && bottom <= innerHeight,
    bar: bar.offsetHeight,
  }
})()`

const SIZES = [
  [390, 510],
  [390, 470],
  [720, 450],
  [844, 390],
] as const

describeInBrowser('deciding where there is little room', () => {
  const batch = batchArea()
  const suite = usePageSuite()
  const batches = usePageSuite(batch)
  const open = async (viewport: { width: number; height: number }, path = PATH): Promise<Page> => {
    const { page } = await suite.visit({ viewport })
    await page.goto(path)
    await page.locator('.decision-form').waitFor()
    return page
  }
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const isOneLine = async (page: Page): Promise<void> => {
    const { width = 0, height: low = 0 } = page.viewportSize() ?? {}
    const { y = 0, height = 0 } = (await page.locator('.decision-bar').boundingBox()) ?? {}
    expect(height).toBeLessThanOrEqual(64)
    expect(y + height).toBe(low)
    for (const part of [
      page.locator('.decision-bar .time-left'),
      button(page, 'Reject'),
      button(page, 'Approve'),
    ]) {
      const box = await part.boundingBox()
      expect(box?.y).toBeGreaterThanOrEqual(y)
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width)
    }
    expect((await button(page, 'Approve').boundingBox())?.height).toBeGreaterThanOrEqual(44)
    expect(await overflow(page)).toBe(0)
  }

  it.each(SIZES)(
    'has time, Reject and Approve in one line at %i×%i, and the field with what is decided',
    async (width, height) => {
      for (const methods of [['passkey', 'totp'] as const, ['totp'] as const]) {
        suite.server().state.review = sampleReview({ methods: [...methods] }, LONG)
        const page = await open({ width, height })
        await isOneLine(page)
        if (methods.length > 1)
          await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
        await page.evaluate('scrollTo(0, document.body.scrollHeight)')
        await page.getByLabel(CODE).fill('654321')
        expect(await page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
        await button(page, 'Reject').click()
        await page.getByText('The code is wrong or was already used').waitFor()
        expect(await page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
        await isOneLine(page)
        expect(await axeViolations(page)).toEqual([])
        await page.getByText('Add a comment').click()
        await page.getByLabel('Comment (optional)').focus()
        expect(await page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
      }
    },
  )

  it.each([[['passkey', 'totp'] as const], [['totp'] as const]])(
    'keeps the code field on the screen when the keyboard opens (%j)',
    async (methods) => {
      suite.server().state.review = sampleReview({ methods: [...methods] }, LONG)
      const page = await open({ width: 390, height: 844 })
      if (methods.length > 1)
        await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
      await page.getByLabel(CODE).focus()
      expect(await page.evaluate(SEEN), 'there is room').toMatchObject({ strip: false, inSight: true })
      await page.setViewportSize({ width: 390, height: 470 })
      await page.evaluate(PAINTED)
      await expect.poll(() => page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
      expect((await page.evaluate<{ bar: number }>(SEEN)).bar).toBeLessThanOrEqual(64)
    },
  )

  it('leads on from the bar to what was not seen, which no strip covers', async () => {
    suite.server().state.review = sampleReview({ methods: ['totp'] }, LONG)
    const page = await open({ width: 390, height: 470 })
    await button(page, 'Approve').click()
    await page.getByText(' not on your screen yet.').waitFor()
    const more = page.locator('.see-more')
    const [message, way] = [await page.locator('.notice').boundingBox(), await more.boundingBox()]
    expect((message?.y ?? 0) + (message?.height ?? 0)).toBeLessThanOrEqual(way?.y ?? 0)
    for (let presses = 0; presses < 20 && (await more.isVisible()); presses += 1) {
      await more.click()
      const strip = `getComputedStyle(document.querySelector('.method-choice'), '::before').content`
      expect(await page.evaluate(strip)).toBe('none')
    }
    expect(await more.isVisible()).toBe(false)
    await isOneLine(page)
  })

  it.each(SIZES)('says at %i×%i whom a delegate decides for, in the same line', async (width, height) => {
    const name = 'Bea Costa of the department of payments'
    const principal = { name, approver: 'b1946ac92492d234', delegate: '7f3a09c2d41be865' }
    for (const methods of [['passkey', 'totp'] as const, ['totp'] as const]) {
      const whose = { methods: [...methods], approver: null, on_behalf_of: principal }
      suite.server().state.review = sampleReview(whose, LONG)
      const page = await open({ width, height })
      await isOneLine(page)
      const said = page.locator('.deciding-for')
      expect(await said.textContent()).toBe(`You decide for ${name}.`)
      const named = await said.getByText('Bea Costa').first().boundingBox()
      expect(named?.width, 'the name begins in sight').toBeGreaterThanOrEqual(40)
      const { x = 0, width: room = 0 } = (await said.boundingBox()) ?? {}
      expect((named?.x ?? 0) + 40).toBeLessThanOrEqual(x + room)
      expect(await page.locator('.request').innerText()).toContain(name)
      await page.getByText('Add a comment').click()
      await page.getByLabel('Comment (optional)').focus()
      expect(await page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
    }
  })

  it.each(SIZES)(
    'gives all of %i×%i to the request where this browser cannot decide it',
    async (width, height) => {
      suite.server().state.review = sampleReview({ methods: ['passkey'] }, LONG)
      const { page } = await suite.visit({ viewport: { width, height } })
      await page.addInitScript('delete window.PublicKeyCredential')
      await page.goto(PATH)
      const bar = page.locator('.decision-bar')
      await bar.waitFor()
      expect((await bar.boundingBox())?.y, 'covers nothing').toBeGreaterThan(height)
      await page.getByText('Add a comment').click()
      await page.getByLabel('Comment (optional)').focus()
      expect(await page.evaluate(SEEN)).toMatchObject({ strip: ACTION, inSight: true })
      await bar.scrollIntoViewIfNeeded()
      expect(await bar.innerText()).toContain('this browser cannot use passkeys')
      expect(await overflow(page)).toBe(0)
    },
  )

  it('asks for a matching code on the consent page, too', async () => {
    const consent = sampleConsent()
    suite.server().state.consents.one = consent
    const page = await open({ width: 390, height: 470 }, `/b/${consent.id}`)
    await isOneLine(page)
    await page.getByLabel('Matching code').focus()
    expect(await page.evaluate(SEEN)).toMatchObject({ strip: consent.client_name, inSight: true })
  })

  it.each(['Reject', 'Approve'])('decides several there, too: %s', async (verb) => {
    const principal = { name: 'Bo Costa', approver: '1111111111111111', delegate: '7f3a09c2d41be865' }
    const whose = { approver: null, on_behalf_of: principal }
    batch.state.reviews = batch.state.reviews.map((review) => ({ ...review, ...whose }))
    const { page } = await batches.visit({ viewport: { width: 390, height: 470 } })
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: `${verb} 3 selected` }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('.decision-form').waitFor()
    const { y = 0, height = 0 } = (await dialog.locator('.decision-bar').boundingBox()) ?? {}
    expect(height).toBeLessThanOrEqual(64)
    expect(y + height).toBe(470)
    await dialog.getByLabel('Comment (optional)').focus()
    const comment = await dialog.getByLabel('Comment (optional)').boundingBox()
    expect((comment?.y ?? 0) + (comment?.height ?? 0)).toBeLessThanOrEqual(y)
    expect(await overflow(page)).toBe(0)
  })

  it('shows without scrolling how far a quorum is and who is missing, and follows it', async () => {
    const names = { aa11bb22cc33dd44: 'Bea Costa', ee11bb22cc33dd44: 'Dan Ek' }
    const [approver = '', other = ''] = Object.keys(names)
    const vote = {
      delegate: undefined,
      comment: null,
      mine: false,
      decision: 'approved',
      method: 'passkey',
    } as const
    const votes = [{ ...vote, approver, at: '2026-11-20T09:30:20.000Z' }]
    const review = sampleReview({ quorum: { needed: 3, approved: 1 }, votes, names }, { tool: 'deploy' })
    const { policy } = review
    review.policy = { ...policy, approvers: [review.approver ?? '', approver, other] }
    suite.server().state.review = review
    const { page } = await suite.visit({ viewport: { width: 390, height: 844 } })
    await page.clock.install()
    await page.goto(PATH)
    const shown = page.locator('.quorum').filter({ visible: true }).first()
    await shown.getByText('1 of 3 needed approvals so far.').waitFor()
    const box = await shown.boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(
      (await page.locator('.caller-box').boundingBox())?.y ?? 0,
    )
    expect(await shown.innerText()).toContain('Still to decide: you, Dan Ek.')
    suite.server().state.review = {
      ...review,
      quorum: { needed: 3, approved: 2 },
      votes: [...votes, { ...vote, approver: other, at: '2026-11-20T09:31:20.000Z' }],
    }
    await page.clock.runFor(4500)
    await shown.getByText('2 of 3 needed approvals so far.').waitFor()
    expect(await shown.innerText()).toContain('Still to decide: you.')
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(
      await page.getByText('2 of 3 needed approvals so far.').filter({ visible: true }).count(),
      'once',
    ).toBe(1)
    expect(await overflow(page)).toBe(0)
  })
})
