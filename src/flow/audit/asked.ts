import type { ApprovalRequest } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/encoding.ts'

/** What the making of a request fixes, and no later write changes; of a sandbox request not when it decides itself. */
export const ASKED_FIELDS = [
  'account_id',
  'api_key_id',
  'requested_by',
  'sandbox',
  'action',
  'context_json',
  'context_sha256',
  'high_impact',
  'audience',
  'reversibility',
  'requirement',
  'callback_url',
  'callback_secret_version',
  'created_at',
  'expires_at',
  'reminders',
] as const satisfies readonly (keyof ApprovalRequest)[]

/**
 * Hex SHA-256 of what was asked for: `approval.created` holds it, so that a request is found which was changed in the store before
 * anyone signed anything of it (T86).
 */
export function askedSha256(request: Partial<Record<(typeof ASKED_FIELDS)[number], unknown>>): string {
  const asked = Object.fromEntries(ASKED_FIELDS.map((field) => [field, request[field]]))
  // Times become text, and what is undefined goes.
  return sha256Hex(canonicalize(JSON.parse(JSON.stringify(asked))))
}
