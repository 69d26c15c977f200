import { readFileSync } from 'node:fs'
import { type Expected, verifyReceipt } from '@countersign/client/verify'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'

const read = (name: string) => readFileSync(packagePath(`examples/${name}`), 'utf8')
const RECEIPT = read('receipt.json')
const KEYS = read('jwks.json')
const { id, action, context, decision } = JSON.parse(RECEIPT)
const { intent, ...withoutIntent } = decision

describe('verifyReceipt', () => {
  it.each([
    ['as text', RECEIPT],
    ['as an object', JSON.parse(RECEIPT)],
  ])('accepts the receipt of the documents, %s', async (_, receipt) => {
    expect(await verifyReceipt(receipt, KEYS, { request: id, action, context })).toEqual({
      verdict: 'approved',
      requestId: id,
      decisionId: decision.id,
      approver: decision.approver,
      method: 'passkey',
      decidedAt: expect.any(Date),
      cautions: [],
      votes: 1,
    })
  })

  it.each<[string, string, Expected, string]>([
    ['another request', RECEIPT, { request: 'req_other' }, 'receipt_unexpected'],
    ['another action', RECEIPT, { action: `${action}!` }, 'receipt_unexpected'],
    ['another context', RECEIPT, { context: { ...context, tool: 'x' } }, 'receipt_unexpected'],
    ['another account', RECEIPT, { account: 'acc_other' }, 'receipt_unexpected'],
    ['another audience', RECEIPT, { audience: 'https://other.example' }, 'receipt_unexpected'],
    ['a time before the decision', RECEIPT, { now: new Date(0) }, 'receipt_from_future'],
    ['a changed action', RECEIPT.replace(action, `${action}!`), {}, 'receipt_contradicts_payload'],
    [
      'a changed signature',
      RECEIPT.replace(decision.signature, `${'A'.repeat(86)}==`),
      {},
      'receipt_signature_invalid',
    ],
    ['a member named twice', RECEIPT.replace('{', '{"status":"rejected",'), {}, 'receipt_unreadable'],
    ['no JSON', '<html>', {}, 'receipt_unreadable'],
    ['a list of votes without any', '[]', {}, 'receipt_unreadable'],
  ])('refuses %s', async (_, receipt, expected, code) => {
    expect(await verifyReceipt(receipt, KEYS, expected)).toMatchObject({ verdict: 'refused', code })
  })

  it('calls a receipt whose content nothing signed proves unproven, and neither yes nor no', async () => {
    const bare = { ...JSON.parse(RECEIPT), decision: withoutIntent }
    expect(intent).toBeTypeOf('string')
    expect(await verifyReceipt(bare, KEYS)).toMatchObject({ verdict: 'unproven' })
    expect(await verifyReceipt(withoutIntent, KEYS, { account: 'acc_any' })).toMatchObject({
      verdict: 'unproven',
    })
  })

  it('throws for a key set that cannot be trusted', async () => {
    await expect(verifyReceipt(RECEIPT, '{"keys":[{}]}')).rejects.toThrow()
    await expect(verifyReceipt(RECEIPT, '<html>')).rejects.toThrow()
  })
})
