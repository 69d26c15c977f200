import { given } from '../domain/given.ts'
import type { ReceiptPayload } from '../domain/receipt.ts'
import { isReceiptPayload, payloadProblem } from '../domain/receipt.ts'
import { restoreCaution } from '../domain/restore.ts'
import { sameBytes } from './base64.ts'
import { parseCanonical } from './canonical.ts'
import { keyWindow, type VerificationKey } from './key-record.ts'
import {
  type Asked,
  type CheckOutcome,
  type CheckTrace,
  isUncompared,
  openStatement,
  PAYLOAD_CHECKS,
  type ReceiptCheck,
  type Stated,
  type Statement,
  type VerifyOptions,
} from './receipt-checks.ts'
import { type ReceiptRefusal, refuse } from './receipt-error.ts'
import type { ReceiptInput } from './receipt-input.ts'

/** A receipt that passed every check. */
export interface VerifiedReceipt {
  valid: true
  payload: ReceiptPayload
  kid: string
  sandbox: boolean
  /**
   * How far the action and context next to the receipt were checked: `full` against the intent the nonce commits to,
   * `hash` by the payload's 64 bits alone, `none` when they were not there or there was no intent to check them by.
   */
  checked: { action: 'full' | 'hash' | 'none'; context: 'full' | 'none' }
  /**
   * An action or a context stands next to the receipt, or is expected, but no intent proves it: the receipt is genuine, but
   * says nothing about them. Never call such a receipt valid without adding this.
   */
  unproven?: true
  /** Reference of the delegate who acted for the approver, if the intent that the nonce commits to names one. */
  delegate?: string
  /** Names of the fields next to the receipt that are not signed: nothing in it was compared with them. Absent without such. */
  unsignedFields?: string[]
  /** Further fields of that intent; absent in its version 1. */
  stated?: Stated
  /** What the other votes on the request must state, too; absent without an intent. */
  asked?: Asked
  /** The key was revoked after `ts`. A thief of the key could have back-dated `ts`, so look for other evidence of the time. */
  keyRevokedAt?: Date
  /** Because of a restore of the service's store, another decision on the request may have been signed; a sentence. */
  restoreCaution?: string
}

export type VerifyResult = VerifiedReceipt | ReceiptRefusal

/** A receipt with its pinned key, ready for the signature check. Its payload is not parsed yet. */
export interface LocatedReceipt {
  located: true
  input: ReceiptInput
  key: VerificationKey
}

/** A verdict, and how far the checks got. */
export interface Judgement extends CheckTrace {
  result: VerifyResult
}

/**
 * Step 1: finds the key in the pinned set, by id or by the key's own bytes. The key in a message is never used itself, because
 * the author of the message chose it.
 */
export function locateKey(
  input: ReceiptInput,
  keys: readonly VerificationKey[],
): LocatedReceipt | ReceiptRefusal {
  const { kid, publicKey } = input
  if (kid === undefined && publicKey === undefined) return refuse('receipt_key_missing')
  const key = keys.find((candidate) =>
    kid === undefined
      ? publicKey !== undefined && sameBytes(candidate.publicKey, publicKey)
      : candidate.kid === kid,
  )
  if (!key) return refuse('receipt_key_unknown')
  if (publicKey && !sameBytes(key.publicKey, publicKey)) return refuse('receipt_key_mismatch')
  return { located: true, input, key }
}

/**
 * Step 3, after the signature check (`signatureValid`): judges the signed payload, in a fixed order. Pure, so the browser page
 * and the server give the same verdict. `sha256Hex` hashes a text's UTF-8 bytes; it is only called with `hashedTexts`.
 */
export function judgeReceipt(
  receipt: LocatedReceipt,
  signatureValid: boolean,
  sha256Hex: (text: string) => string,
  options: VerifyOptions = {},
): Judgement {
  const outcomes = new Map<ReceiptCheck, CheckOutcome>([
    ['form', 'passed'],
    ['encoding', 'passed'],
    ['key', 'passed'],
  ])
  const fail = (failed: ReceiptCheck, result: ReceiptRefusal): Judgement => ({ result, outcomes, failed })
  if (!signatureValid) return fail('signature', refuse('receipt_signature_invalid'))
  outcomes.set('signature', 'passed')
  const payload = readCanonical(receipt.input.payload)
  if (payload === undefined) return fail('canonical', refuse('receipt_payload_not_canonical'))
  outcomes.set('canonical', 'passed')
  if (versionOf(payload) !== 1) return fail('version', refuse('receipt_version_unsupported', 'v'))
  outcomes.set('version', 'passed')
  if (!isReceiptPayload(payload))
    return fail('fields', refuse('receipt_payload_invalid', payloadProblem(payload)))
  outcomes.set('fields', 'passed')
  const { key, input } = receipt
  const statement = input.intent === undefined ? undefined : openStatement(payload, input.intent, sha256Hex)
  for (const [name, check] of PAYLOAD_CHECKS) {
    const outcome = check({ payload, key, input, statement, options, sha256Hex })
    if (typeof outcome === 'object') return fail(name, outcome)
    outcomes.set(name, outcome)
  }
  const expected = Object.values(options.expectedContent ?? {}).some((text) => text !== undefined)
  const unproven = input.intent === undefined && (input.namesContent === true || expected)
  const result = verified(receipt, payload, outcomes, statement)
  return { result: unproven ? { ...result, unproven } : result, outcomes }
}

/** Checks the expected audience and account, which only the intent states. @returns the result, `unproven` without an intent */
export function heldToIntent(
  result: VerifyResult,
  { audience, account }: { audience?: string | undefined; account?: string | undefined },
): VerifyResult {
  if (!result.valid) return result
  const { stated } = result
  const expected = [
    ['audience', audience, stated?.audience],
    ['account', account, stated?.requester.account],
  ] as const
  const other = expected.find(([, wanted, said]) => wanted !== undefined && wanted !== said)
  if (other === undefined) return result
  return stated === undefined ? { ...result, unproven: true } : refuse('receipt_unexpected', other[0])
}

/** Returns every text that `judgeReceipt` hashes, for platforms that can only hash asynchronously, beforehand. */
export function hashedTexts(
  { intent, context, claims }: ReceiptInput,
  { expectedContent }: VerifyOptions = {},
): string[] {
  const actions = claims.filter(({ field }) => field === 'action').map(({ value }) => value)
  const expected = Object.values(expectedContent ?? {})
  return [intent, context, ...actions, ...expected].filter((text) => typeof text === 'string')
}

function verified(
  { key, input }: LocatedReceipt,
  payload: ReceiptPayload,
  outcomes: ReadonlyMap<ReceiptCheck, CheckOutcome>,
  statement: Statement | undefined,
): VerifiedReceipt {
  const passed = (check: ReceiptCheck): boolean => outcomes.get(check) === 'passed'
  const uncompared = input.claims.filter((claim) => isUncompared(claim, statement)).map(({ name }) => name)
  const unsignedFields = [...new Set([...uncompared, ...input.unread])]
  const byHash = passed('action_hash') ? 'hash' : 'none'
  const created = statement && unixTime(statement.created_at)
  const dated = { ...payload, key_since: keyWindow(key).nbf, created }
  return {
    valid: true,
    payload,
    kid: key.kid,
    sandbox: payload.sandbox === true,
    checked: {
      action: passed('action') ? 'full' : byHash,
      context: passed('context') ? 'full' : 'none',
    },
    ...(statement?.delegate !== undefined && { delegate: statement.delegate }),
    ...given({ stated: statement?.stated, asked: statement?.asked }),
    ...(unsignedFields.length > 0 && { unsignedFields }),
    ...(key.revokedAt && { keyRevokedAt: key.revokedAt }),
    ...given({ restoreCaution: restoreCaution(dated, key.restores ?? []) }),
  }
}

/** Returns undefined for a text that is no time: then nothing proves when the request was made. */
function unixTime(text: string): number | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.floor(at / 1000)
}

/** Returns the parsed value if the bytes are exactly its RFC 8785 text. */
function readCanonical(bytes: Uint8Array): unknown {
  try {
    // ignoreBOM keeps a leading U+FEFF in the text, so that parsing fails; the default would drop it.
    return parseCanonical(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function versionOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined
}
