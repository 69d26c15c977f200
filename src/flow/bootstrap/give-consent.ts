import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import type { Authenticators } from '../../domain/authenticator.ts'
import {
  type Bootstrap,
  COLLECT_MINUTES,
  type Consent,
  readMatchingCode,
  WRONG_CODES,
} from '../../domain/bootstrap.ts'
import { fieldRequired, invalidField, refusal } from '../../domain/errors.ts'
import { drawEvent } from '../../domain/event.ts'
import { consentedData } from '../../domain/event-data.ts'
import { drawId } from '../../domain/identifier.ts'
import { buildConsentIntent, type ConsentIntent } from '../../domain/intent.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { ConsentChange } from '../../store/people/bootstraps.ts'
import type { FlowDeps } from '../deps.ts'
import { refuseFullAccount } from '../keys/manage-api-keys.ts'
import { ownRule } from '../people/accounts.ts'
import type { Confirming } from '../people/sessions.ts'
import {
  type PresenceProof,
  type ProvenPresence,
  provePresence,
  type Statement,
  startProof,
} from '../requests/prove-presence.ts'
import { consentMethods, readOwnBootstrap } from './review-consent.ts'
import { bootstrapAudit } from './settle-bootstrap.ts'

/** The owner's decision. */
export interface ConsentInput {
  id: string
  decision: Outcome
  /** As typed; required for an approval. */
  code: string | undefined
  address: string
}

/**
 * Starts the ceremony of one consent: states what is consented to, with the code the owner typed, and stores the statement's
 * hash as a challenge for this person, session, request and outcome.
 * @throws Refusal `not_found`, `not_pending`, `method_not_enrolled`, `authenticator_refused`, `key_limit`, and those of
 * `checkMatchingCode`
 */
export async function startConsent(
  deps: FlowDeps,
  who: Confirming,
  input: ConsentInput,
): Promise<{ intent: ConsentIntent; options: PublicKeyCredentialRequestOptionsJSON }> {
  const rule = await ownRule(deps, who.user)
  const bootstrap = await readOpen(deps, who.user, input, 'passkey', rule)
  return startProof(deps, who, consentTo(deps, who.user, bootstrap, input.decision, rule))
}

/**
 * Records the owner's decision: code → fresh proof → one conditional write, which the first of several tabs wins. No key is
 * made here: only a poll makes it, so an approval that is never collected leaves nothing behind.
 * @throws Refusal `not_found`, `not_pending`, `method_not_enrolled`, `key_limit`, those of `checkMatchingCode`, and
 * `challenge_invalid`, `passkey_refused`, `authenticator_refused`, `totp_refused`, `totp_locked`, `totp_disabled`
 */
export async function giveConsent(
  deps: FlowDeps,
  who: Confirming,
  input: ConsentInput,
  proof: PresenceProof,
): Promise<Bootstrap> {
  const { user: person } = who
  const rule = await ownRule(deps, person)
  const bootstrap = await readOpen(deps, person, input, proof.method, rule)
  const statement = consentTo(deps, person, bootstrap, input.decision, rule)
  const proven = await provePresence(deps, who, statement, proof)
  const settled = await deps.bootstraps.settle(
    bootstrap.id,
    changeFor(deps, person, bootstrap, input, proven),
  )
  if (settled !== undefined) return settled
  const { status } = await readOwnBootstrap(deps, person, bootstrap.id)
  throw refusal('not_pending', { status })
}

async function readOpen(
  deps: FlowDeps,
  person: User,
  { id, decision, code, address }: ConsentInput,
  method: 'passkey' | 'totp',
  rule: Authenticators | undefined,
): Promise<Bootstrap> {
  const bootstrap = await readOwnBootstrap(deps, person, id)
  if (bootstrap.status !== 'pending') throw refusal('not_pending', { status: bootstrap.status })
  if (!consentMethods(person, rule).includes(method))
    throw refusal(rule === undefined ? 'method_not_enrolled' : 'authenticator_refused')
  if (decision === 'rejected') return bootstrap
  await refuseFullAccount(deps, person.account_id)
  if (code === undefined || code.trim() === '') throw fieldRequired('code')
  await checkMatchingCode(deps, person, bootstrap, code, address)
  return bootstrap
}

function consentTo(
  deps: FlowDeps,
  person: User,
  bootstrap: Bootstrap,
  decision: Outcome,
  authenticators: Authenticators | undefined,
): Statement<ConsentIntent> {
  return {
    purpose: 'bootstrap',
    subject: `${bootstrap.id}:${decision}`,
    authenticators,
    state: () =>
      buildConsentIntent({
        audience: deps.settings.baseUrl,
        bootstrap,
        decision,
        approverRef: person.approver,
        salt: toBase64Url(deps.random.bytes(32)),
      }),
  }
}

function changeFor(
  deps: FlowDeps,
  person: User,
  bootstrap: Bootstrap,
  { decision, address }: ConsentInput,
  { method, evidence, intent_json }: ProvenPresence,
): ConsentChange {
  const at = deps.clock.now()
  const consent: Consent = { decision, method, at, user_id: person.id, intent_json, evidence }
  const actor = { kind: 'user', id: person.id, address } as const
  const entry = (type: 'bootstrap.approved' | 'bootstrap.rejected') =>
    bootstrapAudit(deps, type, bootstrap, { actor, at, detail: { method } })
  if (decision === 'rejected') return { consent, events: [], audit: [entry('bootstrap.rejected')] }
  return {
    consent,
    key_id: drawId(deps, 'key'),
    collect_by: new Date(at.getTime() + COLLECT_MINUTES * 60_000),
    events: [drawEvent(deps, 'bootstrap.approved', at, consentedData(bootstrap, at))],
    audit: [entry('bootstrap.approved')],
  }
}

/** Lost races before giving up: each means that another wrong code was counted, so there cannot be more. */
const MAX_ATTEMPTS = WRONG_CODES + 1

/**
 * Compares what the owner typed with the code that the caller shows (T48). The third wrong code rejects the request: a person
 * who types codes from another screen was asked to, or is guessing. Text that is not a code is a slip and does not count.
 * @throws Refusal `invalid_field`, `wrong_matching_code` (`detail` says how many tries are left), `not_pending`
 */
async function checkMatchingCode(
  deps: FlowDeps,
  person: User,
  bootstrap: Bootstrap,
  typed: string,
  address: string,
): Promise<void> {
  const code = readMatchingCode(typed)
  if (code === undefined)
    throw invalidField('code', 'must be eight letters that codes are made of, like BDWP-HQPK')
  if (code === bootstrap.code) return
  let current = bootstrap
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (current.status !== 'pending') throw refusal('not_pending', { status: current.status })
    const last = current.wrong_codes + 1 >= WRONG_CODES
    const counted = await deps.bootstraps.countWrongCode(
      current.id,
      current.wrong_codes,
      last ? rejection(deps, current, person, address) : undefined,
    )
    if (counted !== undefined) throw wrong(counted)
    current = await readOwnBootstrap(deps, person, bootstrap.id)
  }
  throw refusal('unavailable')
}

function rejection(deps: FlowDeps, bootstrap: Bootstrap, person: User, address: string) {
  return bootstrapAudit(deps, 'bootstrap.rejected', bootstrap, {
    actor: { kind: 'user', id: person.id, address },
    at: deps.clock.now(),
    detail: { wrong_codes: WRONG_CODES },
  })
}

function wrong({ status, wrong_codes }: Bootstrap) {
  const left = WRONG_CODES - wrong_codes
  if (status === 'rejected')
    return refusal('wrong_matching_code', {
      field: 'code',
      status,
      detail: 'That was the third wrong code. The request is rejected; no key is issued.',
    })
  const tries = left === 1 ? 'one more try' : `${left} more tries`
  return refusal('wrong_matching_code', {
    field: 'code',
    status,
    detail: `You have ${tries}; if the codes differ, reject.`,
  })
}
