import { BUNDLE_FORMAT, type Bundle, type BundledPasskey, type BundledVote } from '../../domain/bundle.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { ReceiptPayload } from '../../domain/receipt.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import { fromBase64Url } from '../../signing/base64.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { readPasskeyKey } from '../people/passkey-key.ts'
import { readOwnRequest } from './read-request.ts'

/**
 * Returns everything that proves the decision on a request of the caller, without its place in the log.
 * @throws Refusal `not_found`, `no_receipt` before a decision or without one, `receipt_erased`
 */
export async function bundleReceipt(deps: FlowDeps, caller: Caller, id: string): Promise<Bundle> {
  return bundleOf(await readOwnRequest(deps, caller, id))
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
  return evidence.type === 'passkey' ? { ...signed, passkey: bundledPasskey(evidence) } : signed
}

/** The evidence as it was verified: its texts were held to one spelling then (`checkStrictly`). */
function bundledPasskey(evidence: Extract<Vote['evidence'], { type: 'passkey' }>): BundledPasskey {
  const { public_key, client_data_json, authenticator_data, signature, batch_json } = evidence
  return {
    key: readPasskeyKey(fromBase64Url(public_key)).plain,
    client_data: Buffer.from(client_data_json, 'base64url').toString('utf8'),
    authenticator_data,
    signature,
    ...given({ batch: batch_json }),
  }
}
