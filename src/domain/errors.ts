/**
 * Every refusal of the service: stable code, HTTP status and the sentence for people: what is wrong and what to do. In a
 * sentence, `{name}` stands for the detail of that name, and a part in `[…]` is left out when its detail is missing. Where the
 * interface names a text or a code, the key is exactly that. `<field> required` is the only open family (see `fieldRequired`).
 */
export const REFUSALS = {
  // input
  invalid_field: [400, '{field} {detail}.'],
  invalid_json: [400, 'The body is not valid JSON in UTF-8; send one JSON object.'],
  unsupported_media_type: [415, 'Send the body as `Content-Type: application/json`.'],
  payload_too_large: [
    413,
    'The body is larger than this endpoint accepts[, {limit} KiB at most]; send less.',
  ],
  sandbox_fields_require_sandbox_key: [
    400,
    '`sandbox_decision` and `sandbox_auto_decide_seconds` need an `sa_test_` key; use one, or leave them out.',
  ],
  approver_email_required: [
    400,
    'With the internal token, name the approver in the `X-Approver-Email` header.',
  ],
  approver_email_not_allowed: [
    400,
    '`X-Approver-Email` is for the internal token only; leave it out when you use an API key.',
  ],
  // who asks
  'invalid or missing API key': [
    401,
    'Send `Authorization: Bearer <API key>` with a key that has not been revoked.',
  ],
  not_signed_in: [401, 'Sign in first.'],
  insufficient_scope: [403, 'This API key lacks the scope {scope}; use a key that has it.'],
  csrf_refused: [403, 'The request did not come from a page of this service; open the page again and retry.'],
  chat_signature_refused: [
    401,
    'The chat platform did not sign this, or its time is more than five minutes off; check the signing secret and the clock.',
  ],
  // what is asked for
  not_found: [404, 'There is no such resource, or it is not yours; check the address and its ids.'],
  approver_not_found: [
    404,
    'No user has the e-mail address in `X-Approver-Email`, or the operator has not confirmed that it is theirs; check it, or run `countersign user confirm`.',
  ],
  not_pending: [409, 'The request is no longer pending[; its status is {status}]. Nothing was changed.'],
  not_approved: [409, 'The request is not approved: its status is {status}. Do not proceed.'],
  no_receipt: [409, 'Nothing is signed: the status of the request is {status}.'],
  before_log: [
    409,
    'This decision was made before the service had a log; take the receipt without a place in it (`log=none`).',
  ],
  receipt_erased: [
    410,
    'The texts of this request were erased, so no bundle can prove them; `verify` still checks the receipt.',
  ],
  already_consumed: [
    409,
    'This approval was used before; check what that use did before you request a new approval.',
  ],
  approval_lapsed: [409, 'This approval was not used in time. Do not proceed; make a new request. {detail}'],
  token_needs_audience: [
    409,
    'This request names no `audience`, so no gateway could accept a token for it; make a new request that names one.',
  ],
  sandbox_approval: [409, 'No person gave this sandbox approval. Do not proceed; use a live key.'],
  held_after_restore: [
    409,
    'This service was restored from a backup. This request may have been decided, or its approval used, after the backup was made, so it is held until the operator confirms it (`countersign restore confirm`). Nothing was changed.',
  ],
  mismatch: [
    409,
    'The {field} of your action differs from the approved one. Do not proceed; make a new request.',
  ],
  no_eligible_approver: [
    422,
    'Under the current policy no one could approve this request; check approvers, quorum and passkeys.',
  ],
  notify_not_linked: [
    422,
    'This account has linked nobody in chat under the name in {field}; name a channel that it has connected (page Integrations), or a member who linked their identity.',
  ],
  idempotency_mismatch: [422, 'This `Idempotency-Key` was used with another body; use a new one.'],
  // how often
  'rate limit exceeded': [429, 'Too many requests; wait {retry_after}.'],
  remind_rate_limited: [429, 'One reminder per request and minute; wait {retry_after}.'],
  too_many_pending: [
    429,
    'Too many requests of this account are pending for the same approver; wait until some are decided or expire.',
  ],
  attachment_quota_exceeded: [
    429,
    'This API key may send 256 MiB of attachments a day, UTC, and has; wait for the next day, or send less.',
  ],
  quota_exceeded: [
    429,
    'The monthly approval quota of this account is used up. Wait for the next month, or ask the operator of the service to raise it.',
  ],
  too_many_waits: [429, 'Too many open waits; close one, or poll every 3 seconds.'],
  // deciding
  sandbox_request: [
    409,
    'A sandbox request is decided automatically, so no one can decide it; use a live key.',
  ],
  already_voted: [409, 'You have already decided on this request; there is nothing more to do.'],
  vote_key_revoked: [
    409,
    'The signing key of an earlier vote has been revoked, so this request cannot be approved; withdraw it and make a new one.',
  ],
  passkey_required: [
    403,
    'This request must be decided with a passkey, because you have one or the policy requires it.',
  ],
  method_not_enrolled: [403, 'You have not set up this factor; use another one.'],
  batch_changed: [
    409,
    'Some of these requests have changed; nothing was recorded. Review them and start again.',
  ],
  challenge_invalid: [
    400,
    'This confirmation has expired, was already used or belongs to something else; start again.',
  ],
  passkey_refused: [403, 'The passkey could not be verified; nothing was recorded. Try again.'],
  passkey_suspended: [
    403,
    'This passkey is suspended, because its counter went backwards: a copy of it may exist. Use another passkey or a code, then remove this one; or ask the owner or the operator for a new sign-in link (`countersign user invite <e-mail> --renew`).',
  ],
  user_handle_missing: [
    403,
    'The passkey is genuine, but the app that holds it left out the user handle, which signing in without a name needs. Use another app, passkey or a code.',
  ],
  not_confirmed: [
    403,
    'This request accepts only approvers and delegates whom the operator confirmed; ask the operator to run `countersign user confirm` for you.',
  ],
  authenticator_refused: [
    403,
    'This account requires a passkey with a verified authenticator model; use or add one that the policy permits. Ask the account owner which.',
  ],
  totp_refused: [
    403,
    'The code is wrong or was already used; wait for the next one. If that one fails too, check the clock of your phone.',
  ],
  totp_locked: [429, 'Too many wrong codes; wait {retry_after} or use a passkey.'],
  totp_disabled: [
    403,
    'Codes are switched off after too many failures; sign in with a passkey and set them up again.',
  ],
  // people
  sign_in_failed: [401, 'Signing in failed; check your input and try again.'],
  unknown_browser: [
    403,
    'Codes sign you in only in a browser where you signed up before. Use a passkey, or ask the owner who invited you, or the operator of this service, for a new sign-in link.',
  ],
  enrollment_invalid: [
    410,
    'This link has expired or was already used; sign in if you have signed up; otherwise ask for a new one.',
  ],
  enrollment_early: [409, 'This link does not work yet. {detail}'],
  email_taken: [409, 'Another person already has this e-mail address; use another one.'],
  proof_required: [403, 'Confirm with a passkey or a code first.'],
  last_factor: [409, 'This is your last factor; add another one first.'],
  passkey_exists: [409, 'This passkey is already registered; nothing was changed.'],
  identity_taken: [409, 'This chat identity is linked to another person; unlink it there first.'],
  identity_limit: [409, 'You have reached the limit of 10 chat identities; remove one first.'],
  chat_link_invalid: [
    404,
    'This link has expired, was already used or is incomplete; ask for a new one in chat.',
  ],
  chat_link_not_yours: [403, 'Another person asked for this link in chat; sign in as that person.'],
  member_exists: [409, 'This person is already a member, or already invited; nothing was changed.'],
  recovery_refused: [
    409,
    'Only the operator can give this person a new sign-in link: the operator confirmed them, or they decide or own something outside of this account.',
  ],
  recovery_declined: [
    409,
    'This person refused such a link in the last seven days; only the operator can give them a new sign-in link (`countersign user invite <e-mail> --renew`).',
  ],
  member_limit: [409, 'The account has reached the limit of 50 members; remove one first.'],
  channel_unreachable: [
    409,
    'The app cannot post in this channel, so nothing was connected; add the app to it, then confirm again.',
  ],
  channel_limit: [409, 'The account has reached the limit of 5 channels; remove one first.'],
  push_device_limit: [
    409,
    'You have reached the limit of 10 browsers that show notifications; remove one first.',
  ],
  mail_off: [409, 'This service sends no e-mail; ask its operator to set it up.'],
  mail_confirmed: [409, 'Your address is already confirmed; nothing was changed.'],
  mail_code_limit: [409, 'Five codes were sent to this address within a day; try again tomorrow.'],
  mail_code_refused: [
    403,
    'This code is wrong or has expired, or too many wrong ones were sent; check it, or send a new one.',
  ],
  passkey_limit: [409, 'You have reached the limit of 20 passkeys; remove one first.'],
  totp_exists: [409, 'Codes are already set up; remove them first.'],
  totp_not_started: [409, 'Start setting up codes first.'],
  // bootstrap
  slow_down: [429, 'Poll every 3 seconds; wait {retry_after}.'],
  code_verifier_refused: [
    403,
    'This bootstrap was started with a `code_challenge`; send its verifier in the header `X-Code-Verifier`.',
  ],
  wrong_matching_code: [403, 'This is not the matching code of this request. {detail}'],
  // keys
  no_own_account: [
    409,
    'You have no account of your own yet; make one under Account first (`POST /api/v1/account`).',
  ],
  own_account_exists: [409, 'You have an account of your own already.'],
  key_limit: [409, 'The account has reached the limit of 100 API keys; revoke one first.'],
  // webhooks
  webhook_limit: [409, 'The account has reached the limit of 20 webhooks; delete one first.'],
  webhook_rotated: [
    409,
    'Someone else rotated the secret at the same moment; get the new one from them, or rotate again.',
  ],
  webhook_gone: [409, 'The webhook of this delivery was deleted or is switched off; switch it on first.'],
  delivery_in_progress: [409, 'This delivery is still in progress; wait until it is finished.'],
  test_in_progress: [409, 'A test of this account is still running; wait for its answer.'],
  // chat apps
  install_cancelled: [
    403,
    'The app was not installed: the installation was cancelled in the chat platform. Nothing was changed.',
  ],
  install_state_invalid: [
    400,
    'This installation took too long, was already used or was started in another session; start again.',
  ],
  install_limit: [
    409,
    'This workspace already has 500 accounts; remove it from another account under Integrations first.',
  ],
  install_failed: [502, 'The app was not installed. {detail}'],
  chat_token_refused: [
    401,
    'The bearer token is missing, has expired, or was not made for this bot; send one that the platform made for it.',
  ],
  chat_sender_refused: [
    403,
    'This bot does not serve that channel, tenant or service address; ask its operator which ones it serves.',
  ],
  chat_body_too_large: [413, 'The activity is larger than 256 KiB; send less.'],
  chat_keys_unavailable: [
    503,
    'The keys that check tokens cannot be read right now; try again in {retry_after}.',
  ],
  // ours
  storage_unavailable: [
    503,
    'The store does not respond or accepts no writes right now; send the same again after {retry_after}.',
  ],
  not_logged: [
    503,
    'The decision is not {status} yet; ask again in {retry_after}, or take the receipt without a place in the log (`log=none`).',
  ],
  log_rolled_back: [
    503,
    'The service was restored from a copy, so its log may lack checkpoints that others hold, and signs nothing more until the operator begins a new one.',
  ],
  unavailable: [503, 'The service cannot do this right now; retry in {retry_after}.'],
  internal_error: [500, 'Something failed on our side[; quote {request_id} when you report it].'],
} as const satisfies Record<string, readonly [number, string]>

export type RefusalCode = keyof typeof REFUSALS

/**
 * Fields that a refusal adds to its body, for programs; what people must know of them is in the sentence. `retry_after` (whole
 * seconds) also becomes the `Retry-After` header.
 */
export interface RefusalDetails {
  field?: string
  /** Words for people: what is wrong with the field, or one or two whole sentences. */
  detail?: string
  /** The code of a chat platform for what it did not do. Not for people. */
  reason?: string
  scope?: string
  retry_after?: number
  /** How much the exceeded limit allows; for the rate-limit headers, not the body. */
  limit?: number
  /** When the exceeded limit allows more again, if that is known to the millisecond; for the headers, too. */
  resets_at?: Date
  status?: string
  /** Ids of the requests that caused the refusal. */
  ids?: string[]
  /** The id under which the log has what happened. */
  request_id?: string
}

/** A refusal as an error: thrown by domain and flow, turned into a response in one place of `http`. */
export class Refusal extends Error {
  readonly code: string
  readonly status: number
  /** What is wrong and what to do, for people. */
  readonly publicMessage: string
  readonly details: RefusalDetails

  /** @param sentence as in `REFUSALS`, with places for the details */
  constructor(code: string, status: number, sentence: string, details: RefusalDetails = {}) {
    super(`${code}${details.field === undefined ? '' : ` (${details.field})`}`)
    this.name = 'Refusal'
    this.code = code
    this.status = status
    this.publicMessage = compose(sentence, details)
    this.details = details
  }
}

/** Fills the places of a sentence. A detail without a place is a sentence of its own, and follows. */
function compose(sentence: string, details: RefusalDetails): string {
  const values = new Map<string, unknown>(Object.entries(details))
  const filled = sentence
    .replace(/\[([^[\]]*\{(\w+)\}[^[\]]*)\]/g, (_, part: string, name: string) =>
      values.has(name) ? part : '',
    )
    .replace(/\{(\w+)\}/g, (_, name: string) => shown(name, values.get(name)))
  const { detail } = details
  return detail === undefined || sentence.includes('{detail}') ? filled : `${filled} ${detail}`
}

function shown(name: string, value: unknown): string {
  if (name !== 'retry_after') return String(value ?? name)
  const seconds = Number(value)
  if (seconds >= 120) return `${Math.ceil(seconds / 60)} minutes`
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}

/** Temporary refusals, with the seconds after which another try is worthwhile. */
export const PASSING = {
  unavailable: 2,
  storage_unavailable: 3,
  not_logged: 2,
  chat_keys_unavailable: 3,
} as const satisfies Partial<Record<RefusalCode, number>>

/** Makes the refusal with that code; `details` go into the body. */
export function refusal(code: RefusalCode, details: RefusalDetails = {}): Refusal {
  const [status, message] = REFUSALS[code]
  const passing: Partial<Record<RefusalCode, number>> = PASSING
  const retry_after = passing[code]
  return new Refusal(code, status, message, { ...(retry_after !== undefined && { retry_after }), ...details })
}

/**
 * Makes 400 `<field> required`: the interface's own wording for a missing field.
 * @param detail what is wrong with a field that was sent, but is empty in effect
 */
export function fieldRequired(field: string, detail?: string): Refusal {
  const code = `${field} required`
  if (detail === undefined) return new Refusal(code, 400, FIELD_MISSING, { field })
  return new Refusal(code, 400, REFUSALS.invalid_field[1], { field, detail })
}

/** The sentence of `<field> required`. */
const FIELD_MISSING = 'Send the field {field}.'

/** Makes 400 `invalid_field`, with the field's name and what is wrong with its value. */
export function invalidField(field: string, detail: string): Refusal {
  return refusal('invalid_field', { field, detail })
}
