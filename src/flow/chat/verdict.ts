import { given } from '../../domain/given.ts'
import {
  type DecisionMethod,
  exactlyAs,
  NO_RECEIPT,
  type Outcome,
  withoutReceipt,
} from '../../domain/receipt.ts'
import { cautionAfter } from '../../domain/restore.ts'
import { visibleString } from '../../domain/text.ts'
import type { Verdict } from '../../domain/views.ts'
import { unsignedWords } from '../../signing/unsigned-fields.ts'
import type { VerifiedReceipt, VerifyResult } from '../../signing/verify-core.ts'
import { missingVotes, restoreDoubt, revokedAt } from '../../signing/votes.ts'

/** The statements of a valid receipt, none of them written by the caller. */
export interface ReceiptFactsView {
  request_id: string
  decision_id: string
  decision: Outcome
  method: DecisionMethod
  decided_at: Date
  /** 16 hex characters, a reference and not a name. */
  approver: string
  key_id: string
  /** Whether the pasted action and context are those that were decided on; absent for an id, which is compared with nothing. */
  checked?: string
  /** Names of fields next to the pasted receipt that are not signed, in visible form; chosen by its sender. */
  unsigned?: string
  /** `<BASE_URL>/api/v1/approvals/<id>/verify`, open to anyone. */
  public_check: string
}

/** The answer to `/verify`, for every platform. */
export interface VerdictView {
  kind:
    | 'approved'
    | 'rejected'
    | 'sandbox'
    | 'unproven'
    | 'invalid'
    | 'pending'
    | 'expired'
    | 'withdrawn'
    | 'unknown'
  /** The subject: an id, or words for a pasted receipt. The visible form of what the person typed. */
  asked: string
  /** Our own words: the verdict, followed by what to do with it. */
  heading: string
  sentence: string
  facts?: ReceiptFactsView
  /** The action in visible form, for a person who may read the request, and only where no one else reads along. */
  action?: string
  /** Set when the key of the decision, or of a vote next to it, was revoked after it had signed. */
  key_revoked_at?: Date
}

/** Draws the verdict of `verifyDecision` on a stored request. `baseUrl` has no slash at the end. */
export function viewVerdict(asked: string, verdict: Verdict, baseUrl: string): VerdictView {
  const head = { asked: visibleString(asked) }
  if (!verdict.valid) return { ...head, ...refused(withoutReceipt(verdict), verdict.error) }
  const { payload, publicKeyId, restored, erasedAt } = verdict
  const erased = erasedAt && `Its text was erased at ${erasedAt.toISOString()}.`
  return {
    ...head,
    ...withCautions(proven(payload, payload.sandbox === true), [restored && cautionAfter(restored), erased]),
    facts: factsOf(payload, publicKeyId, baseUrl),
  }
}

/** Emoji, channels and mentions as a platform rewrites them before we see them. */
const REWRITTEN = /:[+a-z-][a-z0-9_+'-]*:|<[#!@][^>]*>/

/**
 * Draws the verdict on a pasted receipt with the valid votes next to it. Verify it with `allowSandbox`: the warning is added
 * here in words.
 */
export function viewPastedReceipt(
  text: string,
  { result, votes }: { result: VerifyResult; votes: readonly VerifiedReceipt[] },
  baseUrl: string,
): VerdictView {
  const head = { asked: 'a pasted receipt' }
  if (!result.valid) {
    const words = refused(result.code, result.message)
    const hint = ` If it held an emoji or a mention, the chat has changed it: verify it by its id, or on ${baseUrl}/verify.`
    return { ...head, ...words, sentence: REWRITTEN.test(text) ? words.sentence + hint : words.sentence }
  }
  const { payload, kid, checked } = result
  const revoked = revokedAt(result, votes)
  const words = result.unproven && !result.sandbox ? UNPROVEN : proven(payload, result.sandbox)
  return {
    ...head,
    ...withCautions(words, [missingVotes(result, votes), restoreDoubt(result, votes)]),
    facts: {
      ...factsOf(payload, kid, baseUrl),
      checked: pastedCheck(checked, payload),
      ...given({ unsigned: unsignedWords([result, ...votes]) }),
    },
    ...(revoked === undefined ? {} : { key_revoked_at: revoked }),
  }
}

type Payload = (Verdict & { valid: true })['payload']
type Words = Pick<VerdictView, 'kind' | 'heading' | 'sentence'>

function withCautions(words: Words, cautions: readonly (string | undefined)[]): Words {
  const sentences = [words.sentence, ...cautions].filter((sentence) => sentence !== undefined)
  return { ...words, sentence: sentences.join(' ') }
}

function proven({ decision }: Payload, sandbox: boolean): Words {
  if (sandbox) {
    const sentence = `A dry run ${decision} this; no person was asked. Do not act on it.`
    return { kind: 'sandbox', heading: 'Sandbox receipt: no person decided', sentence }
  }
  if (decision === 'approved') {
    return {
      kind: 'approved',
      heading: 'Approved',
      sentence: 'The receipt is valid: a person approved this.',
    }
  }
  return { kind: 'rejected', heading: 'Rejected', sentence: 'The receipt is valid: a person rejected this.' }
}

const UNPROVEN: Words = {
  kind: 'unproven',
  heading: 'Receipt valid, content not proven',
  sentence:
    'A person decided this request, but nothing in what was pasted proves that it was about the action and context in it. Do not act on them.',
}

const WITHOUT_RECEIPT: Record<string, Words> = {
  not_found: { kind: 'unknown', heading: 'Unknown', sentence: NO_RECEIPT.not_found },
  pending: { kind: 'pending', heading: 'Not decided yet', sentence: NO_RECEIPT.pending },
  pending_sandbox: { kind: 'pending', heading: 'Not decided yet', sentence: NO_RECEIPT.pending_sandbox },
  cancelled: { kind: 'withdrawn', heading: 'Withdrawn', sentence: NO_RECEIPT.cancelled },
  expired: { kind: 'expired', heading: 'Expired without a decision', sentence: NO_RECEIPT.expired },
}

function refused(code: string, reason: string): Words {
  const known = Object.hasOwn(WITHOUT_RECEIPT, code) ? WITHOUT_RECEIPT[code] : undefined
  return known ?? { kind: 'invalid', heading: 'Not valid: do not act on it', sentence: visibleString(reason) }
}

function pastedCheck({ action, context }: { action: string; context: string }, payload: Payload): string {
  const full = exactlyAs(payload)
  if (action === 'full' && context === 'full') return full
  const said = { full, hash: 'fits the signed 64-bit hash' }[action] ?? 'not checked'
  return `action ${said}, context ${context === 'full' ? full : 'not checked'}`
}

function factsOf(payload: Payload, keyId: string, baseUrl: string): ReceiptFactsView {
  return {
    request_id: payload.rid,
    decision_id: payload.did,
    decision: payload.decision,
    method: payload.method,
    decided_at: new Date(payload.ts * 1000),
    approver: payload.approver,
    key_id: keyId,
    public_check: `${baseUrl}/api/v1/approvals/${encodeURIComponent(payload.rid)}/verify`,
  }
}
