import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Vote } from '../../src/domain/request.ts'

/** What a third party knows by itself: whom it asks about, and whose passkey that is. */
export interface Pinned {
  origin: string
  rpId: string
  passkey: KeyObject
}

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()
const fromUrl = (text: string) => Buffer.from(text, 'base64url')

/**
 * Checks by nothing but the platform's cryptography that a person's gesture stands behind a vote of a batch: passkey →
 * assertion → challenge → statement of the batch → intent of this request → nonce of the receipt.
 * @returns the first link that does not hold, or undefined
 */
export function brokenLink(vote: Vote, pinned: Pinned): string | undefined {
  const { evidence, intent_json, receipt } = vote
  if (evidence.type !== 'passkey' || evidence.batch_json === undefined) return 'evidence'
  const clientData = fromUrl(evidence.client_data_json)
  const authenticatorData = fromUrl(evidence.authenticator_data)
  const signed = Buffer.concat([authenticatorData, sha256(clientData)])
  if (!verify('sha256', signed, pinned.passkey, fromUrl(evidence.signature))) return 'signature'
  if (!authenticatorData.subarray(0, 32).equals(sha256(pinned.rpId))) return 'relying party'
  if (((authenticatorData[32] ?? 0) & 0x05) !== 0x05) return 'presence and verification'
  const client = JSON.parse(clientData.toString('utf8'))
  if (client.type !== 'webauthn.get' || client.origin !== pinned.origin) return 'origin'
  if (client.challenge !== sha256(evidence.batch_json).toString('base64url')) return 'challenge'
  const batch = JSON.parse(evidence.batch_json)
  const intent = JSON.parse(intent_json)
  if (batch.typ !== 'human-approval/batch/v1' || batch.aud !== intent.aud) return 'batch'
  if (batch.approver !== (intent.delegate ?? intent.approver)) return 'who acts'
  const line = batch.items.find((item: { rid: string }) => item.rid === intent.rid)
  if (line?.decision !== intent.decision || intent.decision !== vote.decision) return 'outcome'
  if (line.intent_sha256 !== sha256(intent_json).toString('hex')) return 'intent'
  const payload = JSON.parse(receipt?.canonical_payload ?? '{}')
  if (payload.rid !== intent.rid || payload.did !== vote.decision_id) return 'receipt'
  return payload.nonce === line.intent_sha256.slice(0, 32) ? undefined : 'nonce'
}

/** The public half of a passkey that was registered before the vote. */
export function pinnedKey(passkey: { privateKey: KeyObject } | undefined): KeyObject {
  if (passkey === undefined) throw new Error('no passkey')
  return createPublicKey(passkey.privateKey)
}
