import { mkdirSync } from 'node:fs'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow, stopClock, type Visitor } from '../support/browser.ts'
import type { PageConsents } from '../support/page-consent-answers.ts'
import { sampleConsent } from '../support/page-consent-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const PATH = `/b/${sampleConsent().id}`
const PICTURES = process.env.CONSENT_PICTURES

describeInBrowser('the page on which an owner consents to an API key', () => {
  const suite = usePageSuite()
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit()
  })
  const state = (): PageConsents => suite.server().state.consents
  const page = () => visitor.page
  const open = async (): Promise<void> => {
    await page().goto(PATH)
    await page().locator('.request').waitFor()
  }
  const useCodes = () => page().getByRole('radio', { name: 'Code from an authenticator app' }).check()
  const calls = (): string[] => suite.server().calls.filter((call) => call.includes('/decision'))

  it('shows who asks, from where, with which program, for what and until when, and never the code', async () => {
    await open()
    const text = await page().locator('main').innerText()
    for (const shown of [
      'Release agent',
      'unverified name',
      '203.0.113.7',
      'curl/8.5.0',
      'approval:create',
      'approval:read',
      'Expires in',
    ])
      expect(text).toContain(shown)
    expect(text).not.toMatch(/BDWP-?HQPK/)
    expect(await page().locator('.caller-box-title').innerText()).toMatch(/Not checked by Countersign/)
  })

  it('keeps time and answers at the lower edge of a phone, and nothing behind them', async () => {
    await page().setViewportSize({ width: 390, height: 844 })
    await open()
    const bar = await page().locator('.decision-bar').boundingBox()
    expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBe(844)
    expect(await page().locator('.decision-bar').innerText()).toMatch(
      /^Expires in [^\n]+\s+Reject\s+Approve$/,
    )
    const scopes = await page().getByText('approval:read').boundingBox()
    expect((scopes?.y ?? 0) + (scopes?.height ?? 0), 'what the key may do').toBeLessThan(bar?.y ?? 0)
    // The page knows how high the bar is once it was drawn.
    await page().locator('html[style*="--bar"]').waitFor()
    await page().getByLabel('Matching code').focus()
    const code = await page().getByLabel('Matching code').boundingBox()
    expect((code?.y ?? 0) + (code?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0)
  })

  it('approves with the code that the agent shows, however it is typed, and says what comes next', async () => {
    await open()
    await useCodes()
    await page().getByLabel('Matching code').fill(' bdwp hqpk ')
    await page().getByLabel('Code from your authenticator app').fill('123456')
    await page().getByRole('button', { name: 'Approve' }).click()
    await page().getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    expect(await page().locator('.panel').innerText()).toContain(
      'The agent can collect its key within an hour',
    )
    await page().locator('.request-head + nav').getByRole('link', { name: 'Back to the inbox' }).waitFor()
    state().one = { ...state().one, collected: sampleCollection() }
    await page().getByRole('heading', { name: 'The key was collected' }).waitFor()
    expect(await page().locator('.panel').innerText()).toContain(
      'The key was issued once, to 198.51.100.4. If that was not your agent, revoke the key at once.',
    )
    expect(await page().getByRole('link', { name: 'See or revoke the key' }).getAttribute('href')).toBe(
      '/keys',
    )
    expect(visitor.incidents).toEqual([])
  })

  it('asks for the code before anything is sent, and rejects without one', async () => {
    await open()
    await useCodes()
    await page().getByLabel('Code from your authenticator app').fill('123456')
    await page().getByRole('button', { name: 'Approve' }).click()
    await page().getByText('Enter the eight letters').waitFor()
    expect(await page().evaluate('document.activeElement.name')).toBe('matching-code')
    await page().getByLabel('Matching code').fill('bdwp-hqp4')
    await page().getByRole('button', { name: 'Approve' }).click()
    await page().getByText('No code has a “4”.').waitFor()
    expect(calls()).toEqual([])
    await page().getByRole('button', { name: 'Reject' }).click()
    await page().getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
  })

  it('T48: says how many tries are left after a wrong code; the third one rejects', async () => {
    await open()
    await useCodes()
    for (const left of [2, 1]) {
      await page().getByLabel('Matching code').fill('BBBB-BBBB')
      await page().getByLabel('Code from your authenticator app').fill('123456')
      await page().getByRole('button', { name: 'Approve' }).click()
      await page().getByText(`You have ${left} more tries`).waitFor()
      expect(await page().evaluate('document.activeElement.name')).toBe('matching-code')
    }
    await page().getByLabel('Code from your authenticator app').fill('123456')
    await page().getByRole('button', { name: 'Approve' }).click()
    await page().getByRole('heading', { name: 'Rejected after three wrong codes' }).waitFor()
    expect(await page().locator('.decision-form').count()).toBe(0)
  })

  it('refuses to go on when the service asks for a signature on anything else', async () => {
    for (const field of ['client_name', 'scopes', 'code', 'bst', 'decision', 'approver']) {
      state().lie = ({ intent, options }) => ({ intent: { ...intent, [field]: 'x' }, options })
      suite.server().calls.length = 0
      await open()
      await page().getByLabel('Matching code').fill('BDWPHQPK')
      await page().getByRole('button', { name: 'Approve' }).click()
      await page().getByRole('heading', { name: 'Stopped for your safety' }).waitFor()
      expect(await page().locator('main').innerText(), field).toContain(`(${field})`)
      expect(calls(), field).toHaveLength(1)
    }
  })

  it('shows nothing before sign-in, and nothing to others', async () => {
    suite.server().state.signedIn = false
    await page().goto(PATH)
    await page().getByRole('heading', { name: 'Sign in to see this request' }).waitFor()
    expect(await page().content()).not.toContain('Release agent')
    expect(await page().locator('main').innerText()).not.toContain('needed')
    suite.server().state.signedIn = true
    await page().goto('/b/bst_00000000000000000000000000')
    await page().getByRole('heading', { name: 'Request not available' }).waitFor()
  })

  it('notices by itself that the request ran out', async () => {
    await page().clock.install()
    await open()
    state().one = { ...state().one, status: 'expired' }
    await page().clock.runFor(5500)
    await page().getByRole('heading', { name: 'Expired' }).waitFor()
  })

  it('leaves the form as it is while the passkey is asked for, though the time is up', async () => {
    await stopClock(page())
    state().one = sampleConsent({ expires_at: new Date(Date.now() + 10_000).toISOString() })
    await page().route('**/decision/options', () => {})
    await open()
    await page().getByRole('button', { name: 'Reject' }).click()
    state().one = { ...state().one, status: 'expired' }
    suite.server().calls.length = 0
    await page().clock.runFor(11_000)
    await page().getByText('Expired', { exact: true }).first().waitFor()
    await page().evaluate(`fetch('/api/v1/session')`)
    expect(suite.server().calls).toEqual(['GET /session'])
    expect(await page().locator('.decision-form').count()).toBe(1)
  })

  it('lists what waits in the inbox, which says nothing of it otherwise', async () => {
    await page().clock.install()
    await page().goto('/')
    await page().getByRole('heading', { name: 'Pending requests' }).waitFor()
    expect(await page().getByRole('heading', { name: 'Requests for an API key' }).isVisible()).toBe(false)
    state().waiting = [sampleConsent()]
    await page().clock.runFor(5500)
    const link = page().getByRole('link', { name: 'Review', description: 'Release agent' })
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe(PATH)
    expect(await page().locator('#announcements').innerText()).toBe('An agent asks for an API key')
    state().waiting = []
    await page().clock.runFor(5500)
    await link.waitFor({ state: 'hidden' })
  })

  it('shows what waits in the inbox before the guide of a new owner', async () => {
    await page().setViewportSize({ width: 390, height: 844 })
    suite.server().state.keys = []
    state().waiting = [sampleConsent()]
    await page().goto('/')
    await page().getByRole('link', { name: 'Review', description: 'Release agent' }).waitFor()
    expect(await page().locator('main h2').allInnerTexts()).toEqual([
      'Requests for an API key',
      'Pending requests',
      'From an API key to a checked receipt, in four steps',
    ])
    await page().getByRole('button', { name: 'Hide this guide' }).press('Enter')
    expect(await page().evaluate('document.activeElement.textContent')).toBe('Inbox')
  })

  const LOOKS = [
    { width: 360, colorScheme: 'dark' },
    { width: 1440, colorScheme: 'light' },
  ] as const
  const SCENES: Record<string, { path: string; prepare?(): void }> = {
    waiting: { path: PATH },
    hostile: {
      path: PATH,
      prepare: () => {
        state().one = sampleConsent({
          client_name: `Countersign ✔ p\u0430ypal ${'W'.repeat(40)}`,
          requester: { address: '2001:db8:1234:5678:9abc:def0:1234:5678', user_agent: 'x'.repeat(200) },
        })
      },
    },
    approved: {
      path: PATH,
      prepare: () => {
        state().one = sampleConsent({ status: 'approved' })
      },
    },
    collected: {
      path: PATH,
      prepare: () => {
        state().one = sampleConsent({ status: 'approved', collected: sampleCollection() })
      },
    },
    inbox: {
      path: '/',
      prepare: () => {
        state().waiting = [sampleConsent(), sampleConsent({ id: 'bst_2', client_name: 'W'.repeat(60) })]
      },
    },
  }
  for (const [name, { path, prepare }] of Object.entries(SCENES)) {
    it(`${name}: axe finds nothing and nothing overflows, on a dark phone and a light desk`, async () => {
      prepare?.()
      await page().goto(path)
      await page().locator('.panel, .waiting').first().waitFor()
      for (const { width, colorScheme } of LOOKS) {
        await page().setViewportSize({ width, height: 800 })
        await page().emulateMedia({ colorScheme })
        if (PICTURES !== undefined) {
          mkdirSync(PICTURES, { recursive: true })
          await page().screenshot({ path: `${PICTURES}/${name}-${width}.png`, fullPage: true })
        }
        expect(await axeViolations(page()), `${width} px`).toEqual([])
        expect(await overflow(page()), `${width} px`).toBeLessThanOrEqual(0)
      }
      expect(visitor.incidents).toEqual([])
    })
  }
})

function sampleCollection() {
  return { at: new Date().toISOString(), address: '198.51.100.4', key_id: undefined }
}
