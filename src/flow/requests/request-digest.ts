import type { ApprovalRequest } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'

/** Fields that are fixed when a request is made and that no later write changes; not when a sandbox request decides itself. */
export const DIGESTED_FIELDS = [
  'account_id',
  'api_key_id',
  'requested_by',
  'sandbox',
  'action',
  'context_json',
  'context_sha256',
  'digest_salt',
  'high_impact',
  'audience',
  'reversibility',
  'use_within_seconds',
  'batch',
  'attachments',
  'notify',
  'requirement',
  'callback_url',
  'callback_secret_version',
  'created_at',
  'expires_at',
  'reminders',
] as const satisfies readonly (keyof ApprovalRequest)[]

/**
 * Returns the hex SHA-256 of what was asked for. `approval.created` holds it, so that the check finds a request that was changed
 * in the store before anyone signed any part of it (T86).
 */
export function requestSha256(request: Partial<Record<(typeof DIGESTED_FIELDS)[number], unknown>>): string {
  const asked = Object.fromEntries(DIGESTED_FIELDS.map((field) => [field, request[field]]))
  // Times become text, and undefined fields are dropped.
  return sha256Hex(canonicalize(JSON.parse(JSON.stringify(asked))))
}
