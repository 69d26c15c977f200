import { createHash } from 'node:crypto'
import type { BatchIntent, ConsentIntent, DecisionIntent, DecisionIntentV1 } from '../domain/intent.ts'
import { CanonicalError, canonicalize, LONE_SURROGATE } from './canonical.ts'
import { sha256Hex } from './digest.ts'

/** SHA-256 of the intent's RFC 8785 text, 32 bytes: the WebAuthn challenge. @throws CanonicalError for ill-formed text. */
export function intentDigest(
  intent: DecisionIntent | DecisionIntentV1 | ConsentIntent | BatchIntent,
): Uint8Array {
  return createHash('sha256').update(canonicalize(intent), 'utf8').digest()
}

/** The receipt's `nonce`: the first 32 hex characters of SHA-256 over the intent's RFC 8785 text, as it is stored. */
export function nonceOf(intentJson: string): string {
  return sha256Hex(intentJson).slice(0, 32)
}

/**
 * The receipt's `action`: the first 16 hex characters of SHA-256 over the UTF-8 text. An author of two texts can make 64 bits
 * collide, so `nonce` carries the real commitment.
 * @throws CanonicalError for a lone surrogate, which UTF-8 would silently replace.
 */
export function actionHash(action: string): string {
  if (LONE_SURROGATE.test(action)) throw new CanonicalError('text contains a lone surrogate')
  return sha256Hex(action).slice(0, 16)
}
