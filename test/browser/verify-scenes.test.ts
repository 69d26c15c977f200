import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { toJwks } from '../../src/signing/jwks.ts'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { makeBundle } from '../support/bundles.ts'
import { LOOKS } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'
import { openVerify, paste, shownVerdict } from '../support/verify-scenes.ts'
import { answerWith, live, sandbox, vote } from '../verify-page/receipts.ts'

const JWKS = toJwks([live, sandbox])
const [ana, ben] = [
  vote({ did: 'first', approver: 'aaaaaaaaaaaaaaaa' }),
  vote({ did: 'second', approver: 'bbbbbbbbbbbbbbbb' }),
]

async function verdictOn(page: Page, json: object): Promise<void> {
  await paste(page, json)
  await shownVerdict(page)
  await page.evaluate(`for (const details of document.querySelectorAll('main details')) details.open = true`)
}

const SCENES: Record<string, (page: Page) => Promise<unknown>> = {
  empty: (page) => page.getByText('Use a saved key set').click(),
  approved: (page) => verdictOn(page, answerWith(ana)),
  rejected: (page) => verdictOn(page, answerWith(vote({ decision: 'rejected' }))),
  'bare receipt, with weak comparison': async (page) => {
    const { intent: _gone, ...bare } = ana
    await verdictOn(page, answerWith(bare))
    await page.getByLabel('Action', { exact: true }).fill(answerWith(ana).action)
    await page.getByLabel('Details (context), as JSON').fill('{}')
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('Probably the same').waitFor()
  },
  votes: async (page) => {
    await verdictOn(page, answerWith({ ...ben, votes: [ana, ben] }))
    expect((await shownVerdict(page)).heading).toBe('2 approvals, unchanged')
    expect(await page.locator('.votes').innerText()).toContain(`approved by ${ana.approver}, passkey, `)
  },
  'votes of a rejected request': async (page) => {
    const { signed_payload: _p, signature: _s, public_key_id: _k, ...unsigned } = ana
    const rejection = vote({ did: 'second', approver: ben.approver, decision: 'rejected' })
    await verdictOn(page, answerWith({ ...rejection, votes: [unsigned, rejection] }))
    await page.getByText('not signed: the request was rejected').waitFor()
  },
  'dry-run': (page) => verdictOn(page, answerWith(vote({}, sandbox))),
  tampered: (page) => verdictOn(page, { ...ana, signature: ben.signature }),
  'forged vote': (page) => verdictOn(page, { ...ben, votes: [{ ...ana, signature: ben.signature }, ben] }),
  hostile: (page) =>
    verdictOn(page, {
      canonical_payload: `{"action":"${'unbroken'.repeat(60)}\u202e<b>\u200b"}`,
      signature: ana.signature,
      public_key_id: ana.public_key_id,
    }),
  'policy not met': async (page) => {
    const [made, more] = [await makeBundle({ witnesses: 1 }), await makeBundle({ witnesses: 2 })]
    await paste(page, made.text)
    await shownVerdict(page)
    await page.getByText('Use a trust policy', { exact: true }).click()
    await page.getByLabel('Trust policy (trust.policy)').fill(more.policy)
    await page.getByRole('button', { name: 'Use this policy' }).click()
    await page.locator('.verdict.unmet').waitFor()
  },
  unknown: async (page) => {
    const json = { valid: false, error: 'x', message: 'There is no such request; check the id.' }
    await page.route('**/api/v1/approvals/**', (route) => route.fulfill({ status: 404, json }))
    await paste(page, 'req_00000000000000000000000001')
    await shownVerdict(page)
  },
  refused: async (page) => {
    await paste(page, 'nonsense')
    await page.getByText('not an id, a link').waitFor()
  },
}

/** Set it to a folder to look at the scenes. */
const SHOTS = process.env.SCREENSHOTS

describeInBrowser('the public page for everybody', () => {
  const suite = usePageSuite()

  it.each(Object.entries(SCENES))('%s: axe finds nothing and nothing overflows', async (name, act) => {
    suite.server().state.signedIn = false
    const { page, incidents } = await suite.visit()
    const console: string[] = []
    page.on('console', (message) => message.type() === 'error' && console.push(message.text()))
    await page.route('**/.well-known/jwks.json', (route) => route.fulfill({ json: JWKS }))
    await openVerify(page)
    expect(console, 'an error in the console of a page that asks for trust').toEqual([])
    await act(page)
    for (const { width, colorScheme } of LOOKS) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      const look = `${name}, ${width} px, ${colorScheme}`
      expect(await axeViolations(page), look).toEqual([])
      expect(await overflow(page), look).toBeLessThanOrEqual(0)
      if (SHOTS === undefined) continue
      await mkdir(SHOTS, { recursive: true })
      const path = join(SHOTS, `verify-${name.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, fullPage: true })
    }
    expect(incidents).toEqual([])
  })

  it('has the result beside the receipt, prints it on one page, and asks for nothing in letters that a phone would zoom into', async () => {
    suite.server().state.signedIn = false
    const { page } = await suite.visit({ viewport: { width: 390, height: 844 } })
    await page.route('**/.well-known/jwks.json', (route) => route.fulfill({ json: JWKS }))
    await openVerify(page)
    const small = `[...document.querySelectorAll('input:not([type=file]), textarea, select')].filter((field) =>
      Number.parseFloat(getComputedStyle(field).fontSize) < 16).map(({ name }) => name)`
    expect(await page.evaluate(small)).toEqual([])
    await paste(page, answerWith({ ...ben, votes: [ana, ben] }))
    await shownVerdict(page)
    expect(await page.evaluate(small)).toEqual([])
    // The place for the next one lies below all of this one's result.
    await page.getByRole('button', { name: 'Check another' }).click()
    const another = page.getByLabel('Receipt, link or id')
    expect(await page.evaluate('document.activeElement.name')).toBe('subject')
    const { y = 0, height = 0 } = (await another.boundingBox()) ?? {}
    expect(y).toBeGreaterThan(0)
    expect(y + height).toBeLessThan(844)
    await page.setViewportSize({ width: 1280, height: 900 })
    const [verdict, entry] = await Promise.all(
      ['.verdict', '.verify-entry'].map((part) => page.locator(part).boundingBox()),
    )
    expect(verdict?.y).toBe(entry?.y)
    expect(verdict?.width).toBeGreaterThan(700)
    await page.setViewportSize({ width: 390, height: 844 })
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
    expect(pdf.match(/\/Type \/Page\b(?!s)/g)).toHaveLength(1)
    await page.emulateMedia({ media: 'print' })
    for (const gone of ['.site-header', '.drop-zone', '.buttons'])
      expect(await page.locator(gone).first().isVisible(), gone).toBe(false)
    expect(await page.locator('.verdict').isVisible()).toBe(true)
    expect(await page.evaluate(`getComputedStyle(document.querySelector('main')).padding`)).toBe('0px')
    await page.emulateMedia({ media: 'screen' })
    // Nothing of it can be read, so that there is no raw text to leave out.
    await paste(page, { ...ana, signature: '!' })
    await shownVerdict(page)
    await page.emulateMedia({ media: 'print' })
    expect(await page.getByRole('heading', { name: 'Checks' }).isVisible()).toBe(true)
  })
})
