import { describe, expect, it } from 'vitest'
import { renderVerdict } from '../../../adapters/slack/answers.ts'
import type { ReceiptPayload } from '../../../src/domain/receipt.ts'
import type { Verdict } from '../../../src/domain/views.ts'
import { viewPastedReceipt, viewVerdict } from '../../../src/flow/chat/verdict.ts'
import { refuse } from '../../../src/signing/receipt-error.ts'
import type { VerifiedReceipt } from '../../../src/signing/verify-core.ts'
import { placedTexts, shownText } from '../../support/block-parts.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { SLACK_INJECTIONS } from '../../support/spoof-cases.ts'
import { BASE, pasted, payload, stored } from '../../support/verdict-samples.ts'

const drawn = (verdict: Verdict) => renderVerdict(viewVerdict(payload.rid, verdict, BASE))

describe('the verdict on a valid receipt', () => {
  it('gives decision, method, time, approver, key and where anybody can check it', () => {
    const message = drawn(stored())
    expect(checkMessage(message)).toEqual([])
    const shown = shownText(message.blocks)
    for (const line of [
      '✅ Approved',
      'The receipt is valid: a person approved this.\n',
      'Decision: Approved\n',
      'Method: Passkey\n',
      'Approver: 20c4be11f7a59d3e (a reference, not a name)\n',
      `Request: ${payload.rid}\n`,
      `Receipt: ${payload.did}\n`,
      'Signed by key: kid-of-the-key\n',
      `Asked about: ${payload.rid}\n`,
    ])
      expect(shown).toContain(line)
    // An id alone compares nothing with what the reader has.
    expect(shown).not.toContain('Action and context')
    const whole = renderVerdict(viewPastedReceipt('a receipt', pasted(), BASE))
    expect(shownText(whole.blocks)).toContain('Action and context: exactly as approved\n')
    const json = JSON.stringify(message.blocks)
    expect(json).toContain('"fallback":"2026-09-14 13:19 UTC"')
    expect(json).toContain(`"url":"${BASE}/api/v1/approvals/${payload.rid}/verify"`)
    expect(message.text).toBe('Approved. The receipt is valid: a person approved this.')
  })

  it('T44: quotes what was decided in a frame, where it may be told', () => {
    for (const action of ['Pay 300 EUR', ...SLACK_INJECTIONS]) {
      const message = renderVerdict({ ...viewVerdict(payload.rid, stored(), BASE), action })
      expect(checkMessage(message)).toEqual([])
      const places = placedTexts(message.blocks).filter(({ text }) => text === action)
      expect(places.map(({ within }) => within[1])).toEqual(['rich_text_quote'])
      expect(message.text).not.toContain(action)
    }
  })

  it('puts no tick on a valid rejection', () => {
    const { blocks, text } = drawn(stored({ decision: 'rejected' }))
    expect(shownText(blocks)).toContain('❌ Rejected')
    expect(JSON.stringify(blocks)).not.toContain('✅')
    expect(text).toBe('Rejected. The receipt is valid: a person rejected this.')
  })

  it('warns of a sandbox receipt in words, first of all and in the notification', () => {
    for (const view of [
      viewVerdict(payload.rid, stored({ sandbox: true, method: 'sandbox' }), BASE),
      viewPastedReceipt(
        'a receipt',
        pasted({ sandbox: true, payload: { ...payload, sandbox: true, method: 'sandbox' } }),
        BASE,
      ),
    ]) {
      const { blocks, text } = renderVerdict(view)
      expect(blocks[0]).toMatchObject({ text: { text: '🧪 Sandbox receipt: no person decided' } })
      expect(shownText(blocks)).toContain('Method: Sandbox, no person')
      expect(shownText(blocks)).not.toContain('Approver')
      expect(text).toContain('no person was asked. Do not act on it.')
      expect(JSON.stringify(blocks)).not.toContain('✅')
    }
  })

  it('says how far a pasted receipt was checked, and that its key was revoked later', () => {
    const words = (checked: VerifiedReceipt['checked'], changes: Partial<ReceiptPayload> = {}) => {
      const receipt = pasted({
        checked,
        payload: { ...payload, ...changes },
        sandbox: changes.sandbox === true,
      })
      return viewPastedReceipt('x', receipt, BASE).facts?.checked
    }
    expect(words({ action: 'full', context: 'full' })).toBe('exactly as approved')
    expect(words({ action: 'full', context: 'none' })).toBe('action exactly as approved, context not checked')
    expect(words({ action: 'full', context: 'full' }, { decision: 'rejected' })).toBe('exactly as rejected')
    expect(words({ action: 'full', context: 'none' }, { sandbox: true, method: 'sandbox' })).toBe(
      'action exactly as in the dry run, context not checked',
    )
    expect(words({ action: 'hash', context: 'none' })).toBe(
      'action fits the signed 64-bit hash, context not checked',
    )
    expect(words({ action: 'none', context: 'none' })).toBe('action not checked, context not checked')
    const revoked = pasted({ keyRevokedAt: new Date('2026-10-01T00:00:00Z') })
    const { blocks } = renderVerdict(viewPastedReceipt('a receipt', revoked, BASE))
    expect(shownText(blocks)).toContain('⚠️ Caution. The key was revoked: ')
    expect(JSON.stringify(blocks)).toContain('2026-10-01 00:00 UTC')
  })

  it('names who shows it to a channel', () => {
    const view = viewVerdict(payload.rid, stored(), BASE)
    const shared = renderVerdict(view, { sharedBy: 'U123ABC' })
    expect(checkMessage(shared)).toEqual([])
    expect(JSON.stringify(shared.blocks)).toContain('{"type":"user","user_id":"U123ABC"}')
    expect(JSON.stringify(renderVerdict(view))).not.toContain('"user"')
  })
})

describe('a verdict without a receipt', () => {
  it.each([
    ['not_found', '❔ Unknown', 'There is no such request; check the id.'],
    ['pending', '⏳ Not decided yet', 'Nothing is signed yet; verify again after the decision.'],
    ['cancelled', '↩️ Withdrawn', 'The request was withdrawn; there is nothing to verify.'],
    [
      'expired',
      '⌛ Expired without a decision',
      'The request lapsed without a decision; there is nothing to verify.',
    ],
    [
      'receipt_contradicts_request',
      '⛔ Not valid: do not act on it',
      'The stored request is not the one that was signed.',
    ],
  ])('says in words what %s means', (code, heading, sentence) => {
    const message = drawn({ valid: false, code, error: 'The stored request is not the one that was signed.' })
    expect(checkMessage(message)).toEqual([])
    expect(message.blocks[0]).toMatchObject({ type: 'header', text: { text: heading } })
    expect(shownText(message.blocks)).toContain(sentence)
    expect(JSON.stringify(message.blocks)).not.toContain('✅')
  })

  it('gives the reason for refusing a pasted receipt', () => {
    const view = viewPastedReceipt(
      'a receipt',
      { result: refuse('receipt_signature_invalid'), votes: [] },
      BASE,
    )
    expect(view.kind).toBe('invalid')
    expect(shownText(renderVerdict(view).blocks)).toContain('the receipt was altered or forged')
  })

  it.each([...SLACK_INJECTIONS, 'x'.repeat(5000), '\u202e\u2066', ''].map((asked) => ({ asked })))(
    'T41: shows what was asked ($asked) as a short line of code',
    ({ asked }) => {
      const view = viewVerdict(asked, { valid: false, code: 'not_found', error: 'request not found' }, BASE)
      const message = renderVerdict(view, { sharedBy: 'U1' })
      expect(checkMessage(message)).toEqual([])
      const line = placedTexts(message.blocks).map(({ text }) => text)
      const shown = line[line.indexOf('Asked about: ') + 1] ?? ''
      expect(shown.length).toBeLessThan(140)
      expect(shown).not.toMatch(/[\n\u202e]/)
      expect(message.text).toBe('Unknown. There is no such request; check the id.')
    },
  )
})
