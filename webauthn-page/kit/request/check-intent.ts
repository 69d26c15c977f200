import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser'
import type { ConsentIntent } from '../../../src/domain/consent-intent.ts'
import type { DecisionIntent } from '../../../src/domain/intent.ts'
import type { Outcome } from '../../../src/domain/receipt.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import type { Review } from '../api/contract.ts'
import { sha256Base64url } from '../passkey/sha256.ts'
import { MismatchError } from './load-review.ts'

/** What the person has on the screen and the button they pressed: the only statement their passkey may sign. */
export function shownIntent(
  review: Review,
  decision: Outcome,
  audience: string,
): Omit<DecisionIntent, 'salt'> {
  return {
    typ: 'human-approval/intent/v1',
    aud: audience,
    rid: review.id,
    decision,
    ...shownReferences(review),
    action: review.action,
    context_sha256: review.context_sha256,
    request_created_at: review.created_at,
    exp: Math.floor(Date.parse(review.expires_at) / 1000),
    high_impact: review.high_impact,
  }
}

/** Whose vote it will be, and who acts if that is somebody else. */
function shownReferences({ approver, on_behalf_of: other }: Review): { approver: string; delegate?: string } {
  if (other === undefined || other === null) return { approver: approver ?? '' }
  return { approver: other.approver, delegate: other.delegate }
}

/**
 * Refuses to go on unless the challenge is SHA-256 of the intent and the intent says exactly what is shown: same fields,
 * same values, nothing more (T16). A server or proxy that shows A and asks to sign B is caught here, before the passkey.
 * @throws MismatchError naming the field.
 */
export async function checkIntent(
  intent: Record<string, unknown>,
  options: PublicKeyCredentialRequestOptionsJSON,
  shown: Omit<DecisionIntent | ConsentIntent, 'salt'>,
): Promise<void> {
  checkStatement(intent, shown)
  await checkChallenge(intent, options)
}

/** Does the statement say exactly what is shown, and a salt? @throws MismatchError naming the field. */
export function checkStatement(statement: Record<string, unknown>, shown: object): void {
  const { salt, ...said } = statement
  if (typeof salt !== 'string' || !/^[\w-]{43}$/.test(salt)) throw differs('salt')
  const expected: Record<string, unknown> = { ...shown }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(said)])) {
    if (expected[name] !== said[name]) throw differs(name)
  }
}

/** Is the challenge SHA-256 of the statement, and a person asked for? @throws MismatchError naming the field. */
export async function checkChallenge(
  statement: Record<string, unknown>,
  options: PublicKeyCredentialRequestOptionsJSON,
): Promise<void> {
  if (options.challenge !== (await sha256Base64url(canonicalize(statement)))) throw differs('challenge')
  if (options.userVerification !== 'required') throw differs('userVerification')
}

function differs(field: string): MismatchError {
  return new MismatchError(
    `The service asked for a signature on something other than what is shown here (${field}).`,
  )
}
