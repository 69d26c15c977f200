import { JwksError, parseJwks, type VerificationKey } from '../signing/keys.ts'
import {
  RECEIPT_ERRORS,
  type ReceiptRefusal,
  type VerifiedReceipt,
  type VerifyResult,
  verifyReceiptJson,
} from '../signing/verify.ts'
import { MAX_VOTES, problemOfVotes, type Receipts, splitVotes, type UnsignedVote } from '../signing/votes.ts'
import { usageError } from './cli-error.ts'
import { describeReceipt } from './describe-receipt.ts'
import { fetchText, isAddress, readInput } from './read-input.ts'
import type { CommandResult } from './tell.ts'

export interface VerifyOptions {
  jwks: string
  allowSandbox?: boolean
  json?: boolean
}

/**
 * `countersign verify`: checks a receipt, and every vote next to it, against a pinned key set; needs no configuration and no
 * store.
 * @throws CliError (usage) when the receipt or the keys cannot be read: then nothing can be said of it
 */
export async function runVerifyReceipt(path: string, options: VerifyOptions): Promise<CommandResult> {
  const keys = await readKeys(options.jwks)
  const receipt = parseJson(await readInput(path))
  const check = (json: unknown): VerifyResult =>
    verifyReceiptJson(json, keys, { allowSandbox: options.allowSandbox ?? false, now: new Date() })
  const result = check(receipt)
  if (!result.valid) return refused(result)
  const { votes, unsigned } = votesIn(receipt)
  if (votes.length + unsigned.length > MAX_VOTES) return disagree(`There are more than ${MAX_VOTES} votes.`)
  const checked = votes.map(check)
  const problem = problemOfVotes(result, checked, unsigned)
  if (problem !== undefined) return disagree(problem)
  return confirmed(
    result,
    receipt,
    checked.filter((vote) => vote.valid),
    unsigned,
  )
}

function votesIn(receipt: unknown): Receipts {
  return typeof receipt === 'object' && receipt !== null ? splitVotes(receipt) : { votes: [], unsigned: [] }
}

function disagree(problem: string): CommandResult {
  const code = 'receipt_votes_disagree'
  const message = `${RECEIPT_ERRORS[code]} ${problem}`
  return refused({ valid: false, code, message, field: 'votes' })
}

function confirmed(
  result: VerifiedReceipt,
  receipt: unknown,
  votes: readonly VerifiedReceipt[],
  unsigned: readonly UnsignedVote[],
): CommandResult {
  const { payload, kid, sandbox, checked, keyRevokedAt, delegate } = result
  const revoked = keyRevokedAt === undefined ? {} : { key_revoked_at: keyRevokedAt.toISOString() }
  const acted = (by: string | undefined) => (by === undefined ? {} : { delegate: by })
  const of = votes.map((vote) => ({
    kid: vote.kid,
    payload: vote.payload,
    checked: vote.checked,
    ...acted(vote.delegate),
  }))
  return {
    value: {
      valid: true,
      sandbox,
      kid,
      payload,
      checked,
      ...acted(delegate),
      ...revoked,
      ...(of.length > 0 ? { votes: of } : {}),
      ...(unsigned.length > 0 ? { unsigned_votes: unsigned } : {}),
    },
    text: describeReceipt(result, receipt, votes, unsigned),
  }
}

function refused({ code, message, field }: ReceiptRefusal): CommandResult {
  const failure = { error: code, message }
  const where = field === undefined ? {} : { field }
  return {
    value: { valid: false, ...failure, ...where },
    text: `NOT VALID (${code}${field === undefined ? '' : `, field ${field}`}): ${message}`,
    failure,
  }
}

async function readKeys(source: string): Promise<VerificationKey[]> {
  const text = isAddress(source) ? await fetchText(source) : await readInput(source)
  try {
    return parseJwks(parseJson(text))
  } catch (error) {
    if (error instanceof JwksError) throw usageError(`${source} is not a key set to trust: ${error.message}`)
    throw error
  }
}

/** Text that is no JSON is no receipt and no key set; both readers say so about `undefined`. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
