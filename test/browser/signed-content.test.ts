import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { challengeOf, type DecisionOptions } from '../support/page-answers.ts'
import { SAMPLE_CONTEXT, sampleReview } from '../support/page-samples.ts'
import type { PageServer } from '../support/page-server.ts'
import { usePageSuite } from '../support/page-suite.ts'

const COUNT_PASSKEYS = `
  window.passkeyPrompts = 0
  const original = navigator.credentials.get.bind(navigator.credentials)
  navigator.credentials.get = (options) => { window.passkeyPrompts += 1; return original(options) }`

const ATTACHED = { name: 'a', kind: 'text', sha256: 'a'.repeat(64), bytes: 1 } as const

/** Lies that a compromised server or proxy could tell: what is asked to be signed is not what is shown. */
const LIES: [field: string, change: Partial<DecisionOptions['intent']> & Record<string, unknown>][] = [
  ['action', { action: 'Delete all invoices' }],
  ['context_sha256', { context_sha256: 'a'.repeat(64) }],
  ['decision', { decision: 'rejected' }],
  ['rid', { rid: 'req_00000000000000000000000000' }],
  ['exp', { exp: 4_000_000_000 }],
  ['high_impact', { high_impact: false }],
  ['aud', { aud: 'https://elsewhere.example' }],
  ['approver', { approver: '0000000000000000' }],
  ['request_created_at', { request_created_at: '2020-01-01T00:00:00.000Z' }],
  ['requester', { requester: { key: 'key_x', name: 'ops-agent-prod', account: 'acc_x' } }],
  ['policy_sha256', { policy_sha256: 'a'.repeat(64) }],
  ['quorum', { quorum: 2 }],
  ['audience', { audience: 'https://elsewhere.example' }],
  ['reversibility', { reversibility: 'read_only' }],
  ['use_within_seconds', { use_within_seconds: 604_800 }],
  ['attachments', { attachments: [{ ...ATTACHED, opened: false }] }],
  ['typ', { typ: 'human-approval/intent/v3' }],
  ['typ', { typ: 'human-approval/intent/v1' } as never],
  ['typ', { typ: 'human-approval/bootstrap/v1' } as never],
  ['salt', { salt: 'short' }],
  ['extra', { extra: 'a field nobody saw' }],
]

describeInBrowser('what is signed is what is shown (T16)', () => {
  const suite = usePageSuite()
  let visitor: Visitor
  let server: PageServer

  beforeEach(async () => {
    server = suite.server()
    visitor = await suite.visit()
    await visitor.page.addInitScript(COUNT_PASSKEYS)
  })

  const open = async (search = ''): Promise<void> => {
    await visitor.page.goto(`/a/${sampleReview().id}${search}`)
    await visitor.page.locator('h1').waitFor()
  }
  const expectRefusal = async (field: string): Promise<void> => {
    await visitor.page.getByRole('heading', { name: 'Stopped for your safety' }).waitFor()
    await expect(visitor.page.locator('.notice').innerText()).resolves.toContain(field)
    expect(await visitor.page.evaluate('window.passkeyPrompts')).toBe(0)
    expect(server.calls).not.toContain(`POST /approvals/${sampleReview().id}/decision`)
  }

  it('shows every value of the context, the action, and the facts the service adds', async () => {
    await open()
    const text = await visitor.page.locator('main').innerText()
    const review = sampleReview()
    for (const leaf of leaves(SAMPLE_CONTEXT)) expect(text).toContain(leaf)
    for (const shown of [
      review.action,
      review.id,
      server.url,
      'ops-agent-prod',
      'Example Ltd',
      '7f3a09c2d41be865',
    ]) {
      expect(text).toContain(shown)
    }
  })

  it('shows who asked, who may decide, and what the caller says of the whole, as it is signed', async () => {
    const approvers = ['7f3a09c2d41be865', '20c4be11f7a59d3e']
    const MODEL = 'ee882879-721c-4913-9775-3dfcce97072a'
    const review = sampleReview({
      policy: { approvers, passkey_only: true, confirmed_only: true, authenticators: [MODEL] },
      quorum: { needed: 2, approved: 0 },
      audience: 'https://payments.example',
      reversibility: 'externally_reversible',
      use_within_seconds: 600,
    })
    server.state.review = review
    await open()
    const text = await visitor.page.locator('main').innerText()
    const { key, account } = review.requester
    const lines = [
      '2 must approve, each with a passkey, only people whom the operator confirmed',
      `${MODEL} only authenticators of a verified model`,
      'Can be undone by others only',
      'Can be used until 10 min after approval',
      'https://payments.example',
    ]
    for (const shown of [key, account, ...approvers, ...lines]) expect(text).toContain(shown)
    await visitor.page.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => visitor.page.evaluate('window.passkeyPrompts')).toBe(1)
  })

  it('tells a boolean and a number from the same text by a quiet hint', async () => {
    server.state.review = sampleReview({}, { flag: true, said: 'true', off: false, none: null, n: 1 })
    await open()
    const rows = await visitor.page.locator('.other-rows .caller-row').allInnerTexts()
    const read = rows.map((row) => row.replaceAll(/\s+/g, ' ').trim())
    expect(read).toEqual([
      'flag true boolean',
      'n 1 number',
      'none null no value',
      'off false boolean',
      'said true',
    ])
  })

  it('shows the exact signed text of the context with its fingerprint on demand', async () => {
    await open()
    await visitor.page.getByText('Exact text of the details').click()
    const exact = await visitor.page.locator('details.exact pre').innerText()
    expect(exact).toBe(sampleReview().context_json)
    expect(await visitor.page.locator('main').innerText()).toContain(sampleReview().context_sha256)
  })

  it('refuses before the passkey when the statement differs in anything', async () => {
    for (const [field, change] of LIES) {
      server.state.lie = ({ intent, options }) => {
        const changed = { ...intent, ...change }
        return { intent: changed, options: { ...options, challenge: challengeOf(changed) } }
      }
      await open()
      await visitor.page.getByRole('button', { name: 'Approve' }).click()
      await expectRefusal(`(${field})`)
    }
  })

  it('refuses a challenge that is not the hash of the statement', async () => {
    server.state.lie = ({ intent, options }) => ({
      intent,
      options: { ...options, challenge: 'A'.repeat(43) },
    })
    await open()
    await visitor.page.getByRole('button', { name: 'Approve' }).click()
    await expectRefusal('(challenge)')
  })

  it('refuses options that would accept a touch without fingerprint, face or PIN (T31)', async () => {
    server.state.lie = ({ intent, options }) => ({
      intent,
      options: { ...options, userVerification: 'preferred' },
    })
    await open()
    await visitor.page.getByRole('button', { name: 'Reject' }).click()
    await expectRefusal('(userVerification)')
  })

  it('asks for the passkey when the statement is exactly what is shown', async () => {
    await open()
    await visitor.page.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => visitor.page.evaluate('window.passkeyPrompts')).toBe(1)
  })

  it('shows nothing of a request whose context has another fingerprint', async () => {
    server.state.review = sampleReview({ context_sha256: 'b'.repeat(64) })
    await open()
    await expectRefusal('do not have the fingerprint')
    expect(await visitor.page.locator('main').innerText()).not.toContain('invoices')
  })

  it('shows nothing of a request whose context text has a second reading', async () => {
    const twice = '{"tool":"read","tool":"delete"}'
    server.state.review = sampleReview({ context_json: twice })
    await open()
    await expectRefusal('canonical form')
  })

  it('stops when the request changes while it is being read', async () => {
    await visitor.page.clock.install()
    await open()
    server.state.review = { ...sampleReview(), action: 'Delete everything' }
    await visitor.page.clock.runFor(5000)
    await expectRefusal('(action)')
  })
})

function leaves(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(leaves)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves)
  return [String(value)]
}
