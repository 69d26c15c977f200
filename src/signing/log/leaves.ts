import type { AuthenticatorFacts } from '../../domain/authenticator.ts'
import type { EnrolledPasskey, SignedPasskey } from '../../domain/bundle.ts'
import { given } from '../../domain/given.ts'
import type { SignedReceipt } from '../../domain/receipt.ts'
import type { Vote } from '../../domain/request.ts'
import type { Passkey } from '../../domain/user.ts'
import { canonicalize } from '../canonical.ts'

/**
 * An entry of the log: content hash of the audit record (32 bytes) ‖ hash of its subject (32), both given in hex. Two halves, so
 * that a receipt is shown to be in the log without showing the record or its salt.
 */
export function leafEntry(contentSha256: string, subjectSha256: string): Uint8Array {
  const hex = `${contentSha256}${subjectSha256}`
  return Uint8Array.from({ length: 64 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

/** A signed vote, and the passkey's own signature if there is one. */
export type ProvableVote = SignedReceipt & { passkey?: SignedPasskey | undefined }

/**
 * The text whose SHA-256 is the subject of a decision, RFC 8785: its receipt with the passkey's signature, client data in full, or,
 * where several people had to agree, the list of these, the closing one last. So the log commits to every vote, none can be exchanged
 * or added later, and nobody who passes a bundle on can put another passkey there: the receipt alone names none.
 */
export function decisionSubject(votes: readonly ProvableVote[]): string {
  const plain = votes.map(({ canonical_payload, signature, public_key_id, passkey }) => ({
    canonical_payload,
    signature,
    public_key_id,
    ...given({ passkey }),
  }))
  return canonicalize(plain.length === 1 ? plain[0] : plain)
}

/**
 * The text whose SHA-256 is the subject of a vote, RFC 8785: of the intent, since a vote is signed only once it has helped to decide,
 * and one against the outcome never is.
 */
export function voteSubject({ decision_id, intent_json }: Pick<Vote, 'decision_id' | 'intent_json'>): string {
  return canonicalize({ decision_id, intent: intent_json })
}

/** The subject of a new passkey: the SHA-256 of its RFC 8785 text. */
export function enrolledPasskey(
  approver: string,
  {
    credential_id,
    public_key,
    aaguid,
    attestation,
  }: Pick<Passkey, 'credential_id' | 'public_key'> & AuthenticatorFacts,
): EnrolledPasskey {
  const model = { aaguid: aaguid ?? null, attestation: attestation ?? null }
  return { approver, credential_id, public_key, ...model }
}
