import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { DecisionIntent, DecisionIntentV1 } from '../../src/domain/intent.ts'
import { toBase64Url } from '../../src/signing/base64.ts'
import { CanonicalError, canonicalize } from '../../src/signing/canonical.ts'
import { actionHash, intentDigest, nonceOf } from '../../src/signing/commitment.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { hex, intent, intentV2, livePayload, testKey, vectors } from './fixtures.ts'

const intentNonce = (stated: DecisionIntent | DecisionIntentV1) => nonceOf(canonicalize(stated))
const expectedFrom = (stated: DecisionIntent | DecisionIntentV1) => ({
  action: actionHash(stated.action),
  nonce: intentNonce(stated),
})
const pair = vectors<{ prefix16: string; a: string; b: string }>('action-hash/collision16.json')

describe('commitment', () => {
  it('hashes the RFC 8785 text of the intent', () => {
    const digest = createHash('sha256').update(canonicalize(intent)).digest('hex')
    expect(intentDigest(intent)).toHaveLength(32)
    expect(hex(intentDigest(intent))).toBe(digest)
    expect(intentNonce(intent)).toBe(digest.slice(0, 32))
  })

  it('stays the same over releases: stored intents must verify for ever', () => {
    expect(intentNonce(intent)).toBe('4e77fee81811492c4598876127afd924')
  })

  it('changes with every field of the intent', () => {
    const changes = {
      typ: 'human-approval/intent/v1',
      aud: 'https://other.example',
      rid: 'req_00000000000000000000000009',
      decision: 'rejected',
      approver: 'fedcba9876543210',
      action: `${intent.action} `,
      context_sha256: '0'.repeat(64),
      request_created_at: '2026-06-01T11:59:00.001Z',
      exp: intent.exp + 1,
      high_impact: true,
      requester: { ...intentV2.requester, name: 'another' },
      policy_sha256: '0'.repeat(64),
      quorum: 3,
      audience: 'https://other.example',
      reversibility: 'reversible',
      salt: `B${intent.salt.slice(1)}`,
    } satisfies { [K in keyof DecisionIntent]: unknown }
    for (const whole of [intent, intentV2]) {
      const named = Object.entries(changes).filter(([name]) => name in whole)
      const nonces = named.map(([name, value]) => intentNonce({ ...whole, [name]: value }))
      const [, ...others] = nonces
      const same = whole === intent ? others : nonces
      expect(new Set([intentNonce(whole), ...same]).size).toBe(same.length + 1)
      expect(named).toHaveLength(Object.keys(whole).length)
    }
  })

  it('hashes the action as the interface says, and refuses text without a UTF-8 form', () => {
    expect(actionHash('abc')).toBe('ba7816bf8f01cfea')
    expect(() => actionHash('a\ud800')).toThrow(CanonicalError)
    expect(() => intentNonce({ ...intent, action: 'a\ud800' })).toThrow('lone surrogate')
  })
})

describe('the form of an intent', () => {
  const key = testKey('decision')
  const verdict = (text: string) => {
    const { canonical_payload, ...signed } = signPayload({ ...livePayload, nonce: nonceOf(text) }, key)
    const signed_payload = toBase64Url(new TextEncoder().encode(canonical_payload))
    return verifyReceiptJson({ signed_payload, ...signed, intent: text }, [key])
  }
  const [text, text2] = [canonicalize(intent), canonicalize(intentV2)]
  const refused = { valid: false, code: 'receipt_intent_mismatch', field: 'intent' }

  it('T71: is its RFC 8785 text and no other, whatever the nonce commits to', () => {
    for (const good of [text, text2]) {
      expect(verdict(good)).toMatchObject({ valid: true })
      const { salt, ...others } = JSON.parse(good)
      for (const other of [
        good.replace('","', '", "'),
        `${good}\n`,
        JSON.stringify({ salt, ...others }),
        good.replace('{', '{"action":"Pay 1 EUR",'),
        good.replace('Pay', '\\u0050ay'),
        good.replace(/"exp":(\d+)/, '"exp":$1.0'),
        good.replace('Pay', '\ud800'),
      ])
        expect(verdict(other), other).toMatchObject(refused)
    }
  })

  it('has every field of its version, each of its kind', () => {
    for (const whole of [intent, intentV2])
      for (const name of Object.keys(whole)) {
        const { [name]: _gone, ...rest } = whole as unknown as Record<string, unknown>
        const optional = name === 'audience' || name === 'reversibility'
        expect(verdict(canonicalize(rest)), name).toMatchObject(optional ? { valid: true } : refused)
        expect(verdict(canonicalize({ ...whole, [name]: [] })), name).toMatchObject(refused)
      }
    for (const quorum of [0, -1, 1.5, '2'])
      expect(verdict(canonicalize({ ...intentV2, quorum })), `${quorum}`).toMatchObject(refused)
    const { account: _gone, ...requester } = intentV2.requester
    expect(verdict(canonicalize({ ...intentV2, requester }))).toMatchObject(refused)
    expect(verdict(canonicalize({ ...intentV2, delegate: 5 }))).toMatchObject(refused)
  })
})

describe('T69: two action texts with one 16-character hash', () => {
  const key = testKey('decision')
  const [first, second] = [pair.a, pair.b].map((action): DecisionIntentV1 => ({ ...intent, action }))
  if (!first || !second) throw new Error('the collision pair is missing')

  it('T69: the pair collides in `action` and differs in `nonce`', () => {
    expect(actionHash(pair.a)).toBe(pair.prefix16)
    expect(actionHash(pair.b)).toBe(pair.prefix16)
    expect(intentNonce(first)).not.toBe(intentNonce(second))
  })

  it('T69: the evidence of one text fails for the receipt of the other', () => {
    const payload = { ...livePayload, action: actionHash(pair.a), nonce: intentNonce(first) }
    const receipt = signPayload(payload, key)
    expect(verifyReceiptJson(receipt, [key], { expected: expectedFrom(first) })).toMatchObject({
      valid: true,
    })
    expect(verifyReceiptJson(receipt, [key], { expected: expectedFrom(second) })).toMatchObject({
      valid: false,
      code: 'receipt_unexpected',
      field: 'nonce',
    })
  })

  it('T69: the same text with another context fails too', () => {
    const receipt = signPayload(
      { ...livePayload, action: actionHash(pair.a), nonce: intentNonce(first) },
      key,
    )
    const moved = { ...first, context_sha256: 'f'.repeat(64) }
    expect(verifyReceiptJson(receipt, [key], { expected: expectedFrom(moved) })).toMatchObject({
      field: 'nonce',
    })
  })
})
