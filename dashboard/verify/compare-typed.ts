import { CanonicalError, canonicalize } from '../../src/signing/canonical.ts'
import { examineInput } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'

/** How what somebody typed compares with what was approved. */
export type Comparison =
  /** It is what was approved. `trimmed`: without the blanks around it. */
  | { as: 'same'; trimmed: boolean }
  /** It fits the payload's 64 bits, and there is no statement to compare it with. */
  | { as: 'fits'; trimmed: boolean }
  | { as: 'other' }
  /** Nothing signed could tell. */
  | { as: 'open' }
  | { as: 'no-json' }

/** Is the text the action of this receipt? The receipt must have passed every check before. */
export async function compareAction(
  receipt: ReceiptInput,
  keys: readonly VerificationKey[],
  typed: string,
): Promise<Comparison> {
  const texts = typed === typed.trim() ? [typed] : [typed, typed.trim()]
  for (const text of texts) {
    const claims = [{ name: 'action', field: 'action', value: text } as const]
    const { result } = await examineInput({ ...bare(receipt), claims }, keys, { allowSandbox: true })
    if (!result.valid) continue
    return { as: result.checked.action === 'full' ? 'same' : 'fits', trimmed: text !== typed }
  }
  return { as: 'other' }
}

/** Is the JSON the context of this receipt? Only the statement knows; the payload holds nothing of it. */
export async function compareContext(
  receipt: ReceiptInput,
  keys: readonly VerificationKey[],
  typed: string,
): Promise<Comparison> {
  const context = canonicalOf(typed)
  if (context === undefined) return { as: 'no-json' }
  if (receipt.intent === undefined) return { as: 'open' }
  const { result } = await examineInput({ ...bare(receipt), context }, keys, { allowSandbox: true })
  return result.valid ? { as: 'same', trimmed: false } : { as: 'other' }
}

/** What is signed, and the statement; not what was next to it. */
function bare({ payload, signature, kid, publicKey, intent }: ReceiptInput): ReceiptInput {
  return {
    payload,
    signature,
    claims: [],
    ...(kid === undefined ? {} : { kid }),
    ...(publicKey === undefined ? {} : { publicKey }),
    ...(intent === undefined ? {} : { intent }),
  }
}

function canonicalOf(typed: string): string | undefined {
  try {
    const value: unknown = JSON.parse(typed)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? canonicalize(value)
      : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof CanonicalError) return undefined
    throw error
  }
}
