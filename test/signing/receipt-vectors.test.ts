import { verifyReceipt } from '@countersign/client/verify'
import { describe, expect, it } from 'vitest'
import { parseUnambiguous } from '../../src/domain/parse-json.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { RECEIPT_ERRORS } from '../../src/signing/receipt-error.ts'
import { heldToIntent } from '../../src/signing/verify-core.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { cautionsAbout, judgeTogether } from '../../src/signing/votes.ts'
import { vectors } from './fixtures.ts'

interface Vector {
  n: number
  about: string
  text?: string
  receipt?: unknown
  keys: string
  expected: {
    now: string
    request?: string
    action?: string
    context?: Record<string, unknown>
    audience?: string
    account?: string
    allow_sandbox?: boolean
  }
  verdict: string
  code?: string
  field?: string
  request_id?: string
  decision_id?: string
  approver?: string
  method?: string
  decided_at?: string
  votes?: number
  cautions?: string[]
}

const RECEIPTS = vectors<Vector[]>('receipts/receipts.json')
const KEY_SETS = vectors<{ name: string; keys: unknown[] }[]>('receipts/key-sets.json')
const keySetOf = ({ keys }: Vector) => KEY_SETS.find(({ name }) => name === keys)

/** What both checks must say. */
const stated = ({ n, about, text, receipt, keys, expected, ...verdict }: Vector) => verdict

describe.each(RECEIPTS)('$n: $about', (one) => {
  const { now, allow_sandbox, request, context, ...expected } = one.expected
  const options = { allowSandbox: allow_sandbox === true, now: new Date(now) }

  it('by the client', async () => {
    const said = await verifyReceipt(one.text ?? one.receipt, keySetOf(one), {
      ...expected,
      ...options,
      request,
      context,
    })
    if (said.verdict === 'refused') {
      const { message: _, ...refusal } = said
      expect(refusal).toEqual(stated(one))
      return
    }
    const { verdict, approver, method, votes, cautions } = said
    const ids = { request_id: said.requestId, decision_id: said.decisionId }
    const decided_at = said.decidedAt.toISOString()
    expect({ verdict, ...ids, approver, method, decided_at, votes, cautions }).toEqual(stated(one))
  })

  it('by the service', () => {
    const json = one.text === undefined ? one.receipt : parseUnambiguous(one.text)
    const keys = parseJwks(keySetOf(one))
    const { result, votes } = judgeTogether(json, (part) =>
      heldToIntent(
        verifyReceiptJson(part, keys, {
          ...options,
          ...(request !== undefined && { expected: { rid: request } }),
          expectedContent: { action: expected.action, context: context && canonicalize(context) },
        }),
        expected,
      ),
    )
    if (!result.valid) {
      expect({ code: result.code, field: result.field }).toEqual({ code: one.code, field: one.field })
      return
    }
    const { rid, did, decision } = result.payload
    expect([result.unproven ? 'unproven' : decision, rid, did, cautionsAbout(result, votes)]).toEqual([
      one.verdict,
      one.request_id,
      one.decision_id,
      one.cautions,
    ])
  })
})

it('has a vector for every code; the verdict unproven is one of its own', () => {
  const seen = new Set(
    RECEIPTS.map(({ code, verdict }) => (verdict === 'unproven' ? `receipt_content_${verdict}` : code)),
  )
  expect(Object.keys(RECEIPT_ERRORS).filter((code) => !seen.has(code))).toEqual([])
  expect(RECEIPTS.length).toBeGreaterThanOrEqual(150)
})
