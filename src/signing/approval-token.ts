import { toBase64Url } from './base64.ts'
import type { SigningKey } from './key-record.ts'
import { signBytes } from './sign.ts'

/** The `typ` of the header: a reader that demands it takes no other JWT for an approval (RFC 8725, section 3.11). */
const TOKEN_TYPE = 'human-approval+jwt'

/** What a gateway that knows only JWT reads of an approval. Times in Unix seconds, hashes in 64 hex characters. */
export interface ApprovalClaims {
  /** The service: its BASE_URL. */
  iss: string
  /** The audience that the caller named in the request, and the person approved. */
  aud: string
  /** Approver reference, and who acted for them. */
  sub: string
  delegate?: string
  /** The decision: every token of one approval has the same. */
  jti: string
  /** The request. */
  txn: string
  iat: number
  exp: number
  /** RFC 9396. The hash is of the RFC 8785 text of `context.tool_arguments`. */
  authorization_details: [
    {
      type: 'countersign:action'
      action: string
      context_sha256: string
      tool?: string
      arguments_sha256?: string
    },
  ]
  /** The API key that asked (RFC 8693). */
  act: { sub: string }
  /** `phr`: a passkey, which no relay site gets; `otp`: a code. */
  acr: 'phr' | 'otp'
  /** Of the intent's RFC 8785 text, whole: the receipt's `nonce` has half of it. */
  intent_sha256: string
  /** Of the RFC 8785 text of `{canonical_payload, public_key_id, signature}`. */
  receipt_sha256: string
  /** Where the decision is in the log. */
  log?: { origin: string; index: number }
}

/**
 * Signs an approval token: a JWS in its compact form (RFC 7515), EdDSA. Ed25519 is deterministic, so equal claims make the same token.
 * @throws RangeError for a key of another purpose, SigningFaultError
 */
export function signApprovalToken(claims: ApprovalClaims, key: SigningKey): string {
  if (key.purpose !== 'token') throw new RangeError(`a ${key.purpose} key does not sign approval tokens`)
  const header = { alg: 'EdDSA', typ: TOKEN_TYPE, kid: key.kid }
  const input = [header, claims].map((part) => toBase64Url(bytesOf(JSON.stringify(part)))).join('.')
  return `${input}.${toBase64Url(signBytes(bytesOf(input), key))}`
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
