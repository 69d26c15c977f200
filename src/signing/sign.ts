import type { ReceiptPayload, SignedReceipt } from '../domain/receipt.ts'
import { payloadProblem } from '../domain/receipt.ts'
import { toBase64 } from './base64.ts'
import { canonicalize } from './canonical.ts'
import { platformAccepts, rawSign } from './ed25519-node.ts'
import { keyProblemAt, type SigningKey } from './key-record.ts'

/**
 * The fresh signature does not verify. Ed25519 is deterministic: a faulty and a good signature of the same bytes together
 * reveal the secret key, so a faulty one leaves this module in no form. Nothing may be stored.
 */
export class SigningFaultError extends Error {
  override readonly name = 'SigningFaultError'
}

/** Signs bytes with a 32-byte seed (RFC 8032). */
export type RawSign = (message: Uint8Array, seed: Uint8Array) => Uint8Array

/** Builds a signer, which makes every signature with one implementation and checks it with another before returning it. */
export function createReceiptSigner({ sign = rawSign }: { sign?: RawSign } = {}) {
  /** Signs bytes. @returns 64 bytes @throws SigningFaultError when the other implementation refuses the signature */
  const signBytes = (
    message: Uint8Array,
    key: Pick<SigningKey, 'kid' | 'seed' | 'publicKey'>,
  ): Uint8Array => {
    const signature = sign(message, key.seed)
    if (signature.length !== 64 || !platformAccepts(key.publicKey, message, signature)) {
      throw new SigningFaultError(`key ${key.kid} made a signature that does not verify`)
    }
    return signature
  }
  /** Signs the payload's RFC 8785 bytes. @throws RangeError for a payload or key that no verifier accepts; SigningFaultError */
  const signPayload = (payload: ReceiptPayload, key: SigningKey): SignedReceipt => {
    refuseUnverifiable(payload, key)
    const canonical = canonicalize(payload)
    const signature = signBytes(new TextEncoder().encode(canonical), key)
    return { canonical_payload: canonical, signature: toBase64(signature), public_key_id: key.kid }
  }
  return { signPayload, signBytes }
}

/** The signer of the service. */
export const { signPayload, signBytes } = createReceiptSigner()

function refuseUnverifiable(payload: ReceiptPayload, key: SigningKey): void {
  const field = payloadProblem(payload)
  if (field !== undefined) throw new RangeError(`payload field ${field} is not of format 1`)
  if (payload.ts > payload.exp) throw new RangeError('decision time is after the expiry')
  if (key.purpose !== (payload.sandbox ? 'decision-sandbox' : 'decision')) {
    throw new RangeError(`a ${key.purpose} key does not sign this receipt`)
  }
  const problem = keyProblemAt(key, payload.ts)
  if (problem !== undefined) throw new RangeError(`key ${key.kid} may not sign at this time: ${problem}`)
}
