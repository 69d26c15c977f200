import { describe, expect, it } from 'vitest'
import { renderVerdict } from '../../../adapters/teams/answers.ts'
import { cautionAfter } from '../../../src/domain/restore.ts'
import type { Verdict } from '../../../src/domain/views.ts'
import { viewPastedReceipt, viewVerdict } from '../../../src/flow/chat/verdict.ts'
import { refuse } from '../../../src/signing/receipt-error.ts'
import { cardLines, cardText } from '../../support/card-lines.ts'
import { checkCard } from '../../support/check-card.ts'
import { HOSTILE } from '../../support/hostile-view.ts'
import { BASE, pasted, payload, stored } from '../../support/verdict-samples.ts'

const drawn = (verdict: Verdict) => renderVerdict(viewVerdict(payload.rid, verdict, BASE))

describe('the verdict on a valid receipt', () => {
  it('gives decision, method, time, approver, key and where anybody can check it', () => {
    const message = drawn(stored())
    expect(checkCard(message)).toEqual([])
    expect(cardText(message.card).split('\n')).toEqual([
      '✅ Approved',
      'The receipt is valid: a person approved this.',
      'Decision: Approved',
      'Method: Passkey',
      'Decided: {{TIME(2026-09-14T13:19:00Z)}} · {{DATE(2026-09-14T13:19:00Z,SHORT)}}',
      'Approver: 20c4be11f7a59d3e (a reference, not a name)',
      `Request: ${payload.rid}`,
      `Receipt: ${payload.did}`,
      'Signed by key: kid-of-the-key',
      `Asked about: ${payload.rid}`,
    ])
    expect(message.card.actions).toEqual([
      {
        type: 'Action.OpenUrl',
        title: 'Check this receipt publicly',
        url: `${BASE}/api/v1/approvals/${payload.rid}/verify`,
      },
    ])
    expect(message.text).toBe('Approved. The receipt is valid: a person approved this.')
  })

  it('puts neither tick nor green on a valid rejection', () => {
    const { card, text } = drawn(stored({ decision: 'rejected' }))
    expect(cardLines(card)[0]).toMatchObject({ text: '❌ Rejected', ground: 'attention' })
    expect(JSON.stringify(card)).not.toMatch(/✅|"good"/)
    expect(text).toBe('Rejected. The receipt is valid: a person rejected this.')
  })

  it('warns of a sandbox receipt in words, first of all and in the notification', () => {
    const sandbox = { ...payload, sandbox: true, method: 'sandbox' } as const
    for (const view of [
      viewVerdict(payload.rid, stored(sandbox), BASE),
      viewPastedReceipt('a receipt', pasted({ sandbox: true, payload: sandbox }), BASE),
    ]) {
      const { card, text } = renderVerdict(view)
      expect(cardLines(card)[0]?.text).toBe('🧪 Sandbox receipt: no person decided')
      expect(cardText(card)).toContain('\nMethod: Sandbox, no person\n')
      expect(text).toContain('no person was asked. Do not act on it.')
      expect(JSON.stringify(card)).not.toMatch(/✅|"good"/)
    }
  })

  it('says that the key was revoked later, of the decision or of a vote next to it', () => {
    const revoked = pasted({ keyRevokedAt: new Date('2026-10-01T00:00:00Z') })
    for (const judged of [revoked, pasted({}, [pasted().result, revoked.result])]) {
      const message = renderVerdict(viewPastedReceipt('a receipt', judged, BASE))
      expect(checkCard(message)).toEqual([])
      expect(cardText(message.card)).toMatch(
        /\n⚠️ Caution\. The key was revoked: .*TIME\(2026-10-01T00:00:00Z\)/,
      )
    }
  })

  it('says that a restore may have led to another decision', () => {
    const times = {
      copied_at: new Date('2026-10-01T00:00:00Z'),
      restored_at: new Date('2026-10-02T00:00:00Z'),
    }
    const sentence = `The receipt is valid: a person approved this. ${cautionAfter(times)}`
    const asked = { ...stored(), restored: times }
    expect(viewVerdict(payload.rid, asked, BASE).sentence).toBe(sentence)
    const alone = pasted({ restoreCaution: cautionAfter(times) })
    expect(viewPastedReceipt('a receipt', alone, BASE).sentence).toBe(sentence)
  })

  it('says that the text was erased', () => {
    const erased = { ...stored(), erasedAt: new Date('2026-10-03T00:00:00Z') }
    expect(viewVerdict(payload.rid, erased, BASE).sentence).toBe(
      'The receipt is valid: a person approved this. Its text was erased at 2026-10-03T00:00:00.000Z.',
    )
  })

  it('says that one approval of several came alone', () => {
    const requester = { key: 'key_a', name: 'a', account: 'acc_a' }
    const alone = pasted({ stated: { requester, quorum: 2, policy_sha256: '0'.repeat(64) } })
    expect(viewPastedReceipt('a receipt', alone, BASE).sentence).toMatch(
      /^The receipt is valid: a person approved this\. Only 1 of the 2 approvals /,
    )
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
    ['receipt_contradicts_request', '⛔ Not valid: do not act on it', 'the stored request differs'],
  ])('says in words what %s means', (code, heading, sentence) => {
    const message = drawn({ valid: false, code, error: 'the stored request differs' })
    expect(checkCard(message)).toEqual([])
    const [first, second] = cardLines(message.card).map(({ text }) => text)
    expect([first, second]).toEqual([heading, sentence])
    expect(JSON.stringify(message.card)).not.toMatch(/✅|"good"/)
    expect(message.card.actions).toBeUndefined()
  })

  it('gives the reason for refusing a pasted receipt', () => {
    const view = viewPastedReceipt(
      'a receipt',
      { result: refuse('receipt_signature_invalid'), votes: [] },
      BASE,
    )
    expect(cardText(renderVerdict(view).card)).toContain('the receipt was altered or forged')
  })

  it.each([...HOSTILE, { text: 'x'.repeat(5000) }, { text: '' }])(
    'T42: shows what was asked ($text) as a short line of its own',
    ({ text }) => {
      const view = viewVerdict(text, { valid: false, code: 'not_found', error: 'request not found' }, BASE)
      const message = renderVerdict(view)
      expect(checkCard(message)).toEqual([])
      const shown = cardLines(message.card).find((line) => line.text.startsWith('Asked about: '))
      expect(shown?.type).toBe('RichTextBlock')
      expect(shown?.text.length).toBeLessThan(160)
      expect(shown?.text).not.toMatch(/[\n\u202e]|[{$]\{/)
      expect(message.text).toBe('Unknown. There is no such request; check the id.')
    },
  )
})
