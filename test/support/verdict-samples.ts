import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import type { Verdict } from '../../src/domain/views.ts'
import type { VerifiedReceipt } from '../../src/signing/verify-core.ts'

export const BASE = 'https://approve.example.com'
/** What the sample receipt says. */
export const payload: ReceiptPayload = {
  v: 1,
  rid: 'req_7k2m9q4r8s1t6w5x0yzabcdefg',
  did: 'dec_3b8n5v2c7x1z9m4k6j0hgfdsaq',
  approver: '20c4be11f7a59d3e',
  action: '0123456789abcdef',
  decision: 'approved',
  method: 'passkey',
  ts: Date.parse('2026-09-14T13:19:00Z') / 1000,
  exp: Date.parse('2026-09-14T14:15:00Z') / 1000,
  nonce: '0'.repeat(32),
}
/** The verdict on a stored request. */
export const stored = (changes: Partial<ReceiptPayload> = {}): Verdict => ({
  valid: true,
  payload: { ...payload, ...changes },
  signature: '',
  publicKeyId: 'kid-of-the-key',
  publicKey: '',
  at: new Date('2026-09-14T15:00:00Z'),
})
/** The result for a pasted receipt, next to which stood these votes. */
export const pasted = (changes: Partial<VerifiedReceipt> = {}, votes: VerifiedReceipt[] = []) => {
  const checked = { action: 'full', context: 'full' } as const
  const result: VerifiedReceipt = {
    ...{ valid: true, payload, kid: 'kid-of-the-key', sandbox: false, checked },
    ...changes,
  }
  return { result, votes }
}
