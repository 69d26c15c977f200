/** Version of the bundle; a verifier refuses any other. */
export const BUNDLE_FORMAT = 'countersign.receipt/v1'

export const BUNDLE_TYPE = 'application/vnd.countersign.receipt+json'

/** The approver's own signature over the intent (WebAuthn L3 §7.2). Binary fields are base64url. */
export interface SignedPasskey {
  /** COSE key in the one spelling that `passkey-assertion.ts` reads. */
  key: string
  /** The exact text whose SHA-256 was signed. */
  client_data: string
  authenticator_data: string
  signature: string
  /** Set when one gesture decided many requests: the RFC 8785 text that was the challenge instead; it lists this intent's hash. */
  batch?: string
}

/** The same without the client data where they are as browsers usually write them (`usualClientData`), since they then follow. */
export type BundledPasskey = Omit<SignedPasskey, 'client_data'> & Partial<Pick<SignedPasskey, 'client_data'>>

/** A passkey as its person registered it, to which the log commits. Binary fields are base64url; what is not known is null. */
export interface EnrolledPasskey {
  aaguid: string | null
  /** Reference of the person. */
  approver: string
  attestation: string | null
  credential_id: string
  /** COSE key. */
  public_key: string
}

/** One signed vote with what proves presence: a passkey, or the service's word about a code. A sandbox vote has neither. */
export interface BundledVote {
  /** What of the receipt does not follow from the intent and the kind of proof, so that nothing is said twice. */
  receipt: { did: string; ts: number; signature: string; public_key_id: string }
  /** RFC 8785 text, to which `nonce` and challenge commit. */
  intent: string
  passkey?: BundledPasskey
  totp?: { checked_by: 'service' }
  /** Whose passkey it is: its registration, in the log under the checkpoint of the decision, and before it. */
  enrolment?: LogPlace & { subject: EnrolledPasskey }
}

/** The place of a record in the log. */
export interface LogPlace {
  /** `content_sha256` of the record, base64url: the first half of the leaf. */
  record: string
  /** c2sp.org/tlog-proof, up to the last line of the checkpoint. */
  proof: string
}

/** Everything that proves one decision, for somebody without the service. */
export interface Bundle extends BundledVote {
  format: typeof BUNDLE_FORMAT
  /** RFC 8785 text of the context, whose hash is in the intent. */
  context?: string
  /** The other signed votes, in the order in which they were cast; absent when one vote decided. */
  votes?: BundledVote[]
  log?: LogPlace
}
