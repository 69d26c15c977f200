import type { ApiKey } from './api-key.ts'
import type { Bootstrap } from './bootstrap.ts'
import type { ApprovalRequest, Decision } from './request.ts'

/** Builds `data` of the account's events, field by field. Webhooks get what the owner may see; never context or secrets. */

/** `approval.created`. */
export function createdData(
  request: Pick<ApprovalRequest, 'id' | 'action' | 'created_at' | 'expires_at' | 'high_impact' | 'sandbox'>,
): Record<string, unknown> {
  return {
    request_id: request.id,
    action: request.action,
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    requires_individual_decision: request.high_impact,
    ...mark(request),
  }
}

/** `approval.approved` and `approval.rejected`, and the whole body of the callback (interface, "Callback payload"). */
export function decidedData(
  request: Pick<ApprovalRequest, 'id' | 'sandbox'>,
  decision: Decision,
): Record<string, unknown> {
  return {
    request_id: request.id,
    decision: decision.decision,
    decided_at: decision.decided_at.toISOString(),
    ...(decision.delegate === undefined ? {} : { delegate: decision.delegate }),
    signed_receipt: {
      decision_id: decision.id,
      signature: decision.receipt.signature,
      public_key_id: decision.receipt.public_key_id,
      canonical_payload: decision.receipt.canonical_payload,
      comment: decision.comment,
    },
    ...mark(request),
  }
}

/** `approval.expired`; `cancelled`: the request was withdrawn. */
export function expiredData(
  request: Pick<ApprovalRequest, 'id' | 'expires_at' | 'sandbox'>,
  cancelled = false,
): Record<string, unknown> {
  return {
    request_id: request.id,
    expires_at: request.expires_at.toISOString(),
    ...(cancelled ? { cancelled: true } : {}),
    ...mark(request),
  }
}

/** `approval.reminded`; `automatic`: the policy reminded, not a caller. */
export function remindedData(
  request: Pick<ApprovalRequest, 'id' | 'sandbox'>,
  automatic = false,
): Record<string, unknown> {
  return { request_id: request.id, ...(automatic ? { automatic: true } : {}), ...mark(request) }
}

/** `key.created` and `key.revoked`. */
export function keyData(
  key: Pick<ApiKey, 'id' | 'name' | 'key_prefix' | 'sandbox'>,
): Record<string, unknown> {
  return { key_id: key.id, name: key.name, key_prefix: key.key_prefix, sandbox: key.sandbox }
}

/** `bootstrap.requested`. The caller chose its own name; only the caller shows the matching code. */
export function consentRequestedData(bootstrap: Bootstrap, baseUrl: string): Record<string, unknown> {
  return {
    ...consentFacts(bootstrap),
    requested_from: bootstrap.requester.address,
    created_at: bootstrap.created_at.toISOString(),
    expires_at: bootstrap.expires_at.toISOString(),
    review_url: `${baseUrl}/b/${bootstrap.id}`,
  }
}

/** `bootstrap.approved`: the caller can now collect a key; `key.created` follows when it does. */
export function consentedData(bootstrap: Bootstrap, at: Date): Record<string, unknown> {
  return { ...consentFacts(bootstrap), approved_at: at.toISOString() }
}

function consentFacts({ id, client_name, scopes }: Bootstrap) {
  return { consent_id: id, unverified_client_name: client_name, scopes }
}

function mark({ sandbox }: { sandbox: boolean }): { sandbox?: true } {
  return sandbox ? { sandbox: true } : {}
}
