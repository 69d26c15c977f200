import { readFileSync } from 'node:fs'
import { verify } from '@noble/ed25519'
import type { DecisionIntent, DecisionIntentV1 } from '../../src/domain/intent.ts'
import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import type { KeyPurpose, SigningKey } from '../../src/signing/key-record.ts'
import { newSigningKey } from '../../src/signing/keys.ts'

/** 2026-01-01T00:00:00Z: all test keys are valid from here. */
export const KEY_START = new Date('2026-01-01T00:00:00.000Z')
/** The decision time of `livePayload`. */
export const DECIDED_AT = new Date('2026-06-01T12:00:00.000Z')

const seconds = (time: Date) => Math.floor(time.getTime() / 1000)

/** A key whose seed is one repeated byte. */
export function testKey(purpose: KeyPurpose, fill = 1): SigningKey {
  const seed = new Uint8Array(32).fill(fill)
  return newSigningKey({ purpose, seed, createdAt: KEY_START, notBefore: KEY_START })
}

export const livePayload: ReceiptPayload = {
  v: 1,
  rid: 'req_00000000000000000000000001',
  did: 'dec_00000000000000000000000002',
  approver: '0123456789abcdef',
  action: 'e921e1620a452d8c',
  decision: 'approved',
  method: 'passkey',
  ts: seconds(DECIDED_AT),
  exp: seconds(DECIDED_AT) + 3600,
  nonce: '00112233445566778899aabbccddeeff',
}

export const sandboxPayload: ReceiptPayload = { ...livePayload, method: 'sandbox', sandbox: true }

/** Version 1, as decisions were stated before: it keeps verifying. */
export const intent: DecisionIntentV1 = {
  typ: 'human-approval/intent/v1',
  aud: 'https://approve.example',
  rid: livePayload.rid,
  decision: 'approved',
  approver: livePayload.approver,
  action: 'Pay $10.00 to ACME Corp, invoice 01a8a3c9a55eb1b8',
  context_sha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  request_created_at: '2026-06-01T11:59:00.000Z',
  exp: livePayload.exp,
  high_impact: false,
  salt: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
}

export const intentV2: DecisionIntent = {
  ...intent,
  typ: 'human-approval/intent/v2',
  requester: { key: `key_${'0'.repeat(26)}`, name: 'ops-agent', account: `acc_${'0'.repeat(26)}` },
  policy_sha256: 'c0'.repeat(32),
  quorum: 2,
  audience: 'https://payments.example',
  reversibility: 'irreversible',
}

/** Version 3: only with `use_within_seconds`. */
export const intentV3: DecisionIntent = {
  ...intentV2,
  typ: 'human-approval/intent/v3',
  use_within_seconds: 600,
}

/** Version 4: only with `attachments`. */
export const intentV4: DecisionIntent = {
  ...intentV3,
  typ: 'human-approval/intent/v4',
  attachments: [
    { name: 'a.txt', kind: 'text', sha256: 'a1'.repeat(32), bytes: 3, opened: true },
    { name: 'b.txt', kind: 'diff', sha256: 'b2'.repeat(32), bytes: 0, base: 'a.txt', opened: false },
  ],
}

/** Parsed JSON of a published vector file; each test states the shape it reads. */
export function vectors<T>(path: string): T {
  return JSON.parse(vectorText(path))
}

export function vectorText(path: string): string {
  return readFileSync(new URL(`../vectors/${path}`, import.meta.url), 'utf8')
}

export const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
export const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')

/** Verdict of @noble/ed25519 alone, strict: its default (ZIP 215) lets the identity key "sign" every message. */
export function nobleAccepts(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(signature, message, publicKey, { zip215: false })
  } catch {
    return false
  }
}
