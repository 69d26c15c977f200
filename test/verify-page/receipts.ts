import { createHash } from 'node:crypto'
import { toBase64Url } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { actionHash } from '../../src/signing/commitment.ts'
import { toJwks } from '../../src/signing/jwks.ts'
import type { SigningKey } from '../../src/signing/key-record.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { DECIDED_AT, intent, intentV2, livePayload, testKey } from '../signing/fixtures.ts'

export const live = testKey('decision', 1)
export const sandbox = testKey('decision-sandbox', 2)
export const keys = parseJwks(toJwks([live, sandbox]))
export const ORIGIN = 'https://approve.example'
export const ACTION = intent.action
export const CONTEXT = { tool: 'psql', rows: 3 }

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')
const ids = { first: `${'0'.repeat(25)}a`, second: `${'0'.repeat(25)}b`, third: `${'0'.repeat(25)}c` }

/** A signed vote with its statement, as `decision.votes` has it. */
export function vote(
  changes: {
    did?: keyof typeof ids
    approver?: string
    decision?: 'approved' | 'rejected'
    rid?: string
    delegate?: string
    /** When it was cast, in seconds after `DECIDED_AT`. */
    after?: number
    /** States it by version 2 of the intent; version 1 does not know it. */
    quorum?: number
  } = {},
  key: SigningKey = live,
) {
  const {
    did = 'first',
    approver = 'aaaaaaaaaaaaaaaa',
    decision = 'approved',
    rid = livePayload.rid,
    delegate,
    after = 0,
    quorum,
  } = changes
  const intentText = canonicalize({
    ...(quorum === undefined ? intent : { ...intentV2, quorum }),
    rid,
    decision,
    approver,
    context_sha256: sha256(canonicalize(CONTEXT)),
    ...(delegate === undefined ? {} : { delegate }),
  })
  const dryRun = key.purpose === 'decision-sandbox'
  const payload = {
    ...livePayload,
    rid,
    ts: livePayload.ts + after,
    did: `dec_${ids[did]}`,
    approver,
    decision,
    action: actionHash(ACTION),
    nonce: sha256(intentText).slice(0, 32),
    ...(dryRun ? { method: 'sandbox' as const, sandbox: true as const } : {}),
  }
  const { canonical_payload, ...signed } = signPayload(payload, key)
  return {
    id: payload.did,
    decision,
    method: payload.method as string,
    signed_payload: toBase64Url(new TextEncoder().encode(canonical_payload)),
    ...signed,
    decided_at: new Date(DECIDED_AT.getTime() + after * 1000).toISOString(),
    approver,
    comment: null as string | null,
    intent: intentText,
  }
}

/** The answer of `GET /approvals/:id` about a decided request. */
export function answerWith<T extends { decision: string }>(decision: T) {
  return { id: livePayload.rid, status: decision.decision, action: ACTION, context: CONTEXT, decision }
}

/** As text that came from somewhere. */
export function received(json: object): object {
  return Object(JSON.parse(JSON.stringify(json)))
}
