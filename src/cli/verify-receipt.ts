import { JwksError, parseJwks, type VerificationKey } from '../signing/keys.ts'
import { type ReceiptRefusal, type VerifiedReceipt, verifyReceiptJson } from '../signing/verify.ts'
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
 * `countersign verify`: checks a receipt against a pinned key set; needs no configuration and no store.
 * @throws CliError (usage) when the receipt or the keys cannot be read: then nothing can be said of it
 */
export async function runVerifyReceipt(path: string, options: VerifyOptions): Promise<CommandResult> {
  const keys = await readKeys(options.jwks)
  const receipt = parseJson(await readInput(path))
  const result = verifyReceiptJson(receipt, keys, {
    allowSandbox: options.allowSandbox ?? false,
    now: new Date(),
  })
  return result.valid ? confirmed(result, receipt) : refused(result)
}

function confirmed(result: VerifiedReceipt, receipt: unknown): CommandResult {
  const { payload, kid, sandbox, checked, keyRevokedAt } = result
  const revoked = keyRevokedAt === undefined ? {} : { key_revoked_at: keyRevokedAt.toISOString() }
  return {
    value: { valid: true, sandbox, kid, payload, checked, ...revoked },
    text: describeReceipt(result, receipt),
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
