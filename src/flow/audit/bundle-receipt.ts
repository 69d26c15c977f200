import { setTimeout as pause } from 'node:timers/promises'
import { BUNDLE_FORMAT, type Bundle, type BundledVote, type LogPlace } from '../../domain/bundle.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { ReceiptPayload } from '../../domain/receipt.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import { subjectOf } from '../../signing/audit-chain.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { formatProof } from '../../signing/log/checkpoint.ts'
import { decisionSubject } from '../../signing/log/leaves.ts'
import { parseNote } from '../../signing/log/note.ts'
import { abridged } from '../../signing/passkey-assertion.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { signedPasskey } from '../people/passkey-key.ts'
import { provable } from '../requests/close-request.ts'
import { readOwnRequest } from '../requests/read-request.ts'
import { begin, hasPatience, type Wait } from '../requests/wait-for-decision.ts'
import { isRolledBack } from './log.ts'
import { proveRecord } from './read-log.ts'

/** How far the decision must be in the log: not at all, in a signed checkpoint, or in one that a witness signed, too. */
export interface BundleWish extends Wait {
  log: 'none' | 'logged' | 'witnessed'
}

/** Milliseconds between two looks at the log, which gets a checkpoint a second at most. */
const LOOK_MS = 200

/**
 * Returns everything that proves the decision on a request of the caller, as soon as the log has it as far as is wished.
 * @returns undefined when the caller is gone
 * @throws Refusal `not_found`, `no_receipt` before a decision or without one, `receipt_erased`, `before_log`, `log_rolled_back`,
 * and `not_logged` when the time is over
 */
export async function bundleReceipt(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  wish: BundleWish,
): Promise<Bundle | undefined> {
  const patience = begin(deps, wish)
  const request = await readOwnRequest(deps, caller, id)
  const bundle = bundleOf(request)
  if (wish.log === 'none') return bundle
  for (;;) {
    const place = await placeOf(deps, request, wish.log)
    if (place !== undefined) return { ...bundle, log: place }
    if (wish.signal.aborted) return undefined
    if (!hasPatience(deps, patience)) throw refusal('not_logged', { status: wish.log })
    await pause(LOOK_MS)
  }
}

/** @returns undefined while the log does not have the decision as far as is wished */
async function placeOf(
  deps: FlowDeps,
  { id, status, votes }: ApprovalRequest,
  wished: 'logged' | 'witnessed',
): Promise<LogPlace | undefined> {
  const type = status === 'approved' ? 'approval.approved' : 'approval.rejected'
  const subject = sha256Hex(decisionSubject(provable(votes)))
  const [known] = await deps.trail.list({ subject: id, type, limit: 1 })
  const record = known ?? (await deps.trail.findErased(subject))
  const proven = record && (await proveRecord(deps, record.seq))
  if (record === undefined || proven === undefined) {
    const head = await deps.logs.current()
    if (head !== undefined && isRolledBack(deps, head)) throw refusal('log_rolled_back')
    return undefined
  }
  if (subjectOf(record) !== subject) throw refusal('before_log')
  if (wished === 'witnessed' && parseNote(proven.checkpoint).signatures.length < 2) return undefined
  const content = Buffer.from(record.content_sha256, 'hex')
  return { record: content.toString('base64url'), proof: formatProof(proven) }
}

/** @throws Refusal `no_receipt`, `receipt_erased` */
function bundleOf({ decision, votes, context_json, erased_at, status }: ApprovalRequest): Bundle {
  if (decision === undefined) throw refusal('no_receipt', { status })
  if (erased_at !== undefined) throw refusal('receipt_erased')
  const signed = votes.filter(({ receipt }) => receipt !== undefined)
  const others = signed.filter(({ decision_id }) => decision_id !== decision.id).map(bundledVote)
  const [closing] = signed.filter(({ decision_id }) => decision_id === decision.id).map(bundledVote)
  if (closing === undefined) throw new Error(`${decision.id} is no signed vote`)
  return {
    format: BUNDLE_FORMAT,
    ...closing,
    context: context_json,
    ...given({ votes: others.length === 0 ? undefined : others }),
  }
}

function bundledVote({ receipt, intent_json: intent, evidence, decision_id }: Vote): BundledVote {
  if (receipt === undefined) throw new Error(`${decision_id} is not signed`)
  const { canonical_payload, signature, public_key_id } = receipt
  const { ts }: ReceiptPayload = JSON.parse(canonical_payload)
  const signed = { receipt: { did: decision_id, ts, signature, public_key_id }, intent }
  if (evidence.type === 'totp') return { ...signed, totp: { checked_by: 'service' } }
  const passkey = signedPasskey(evidence)
  if (passkey === undefined) return signed
  const challenge = Buffer.from(sha256Hex(passkey.batch ?? intent), 'hex')
  return { ...signed, passkey: abridged(passkey, { challenge, origin: JSON.parse(intent).aud }) }
}
