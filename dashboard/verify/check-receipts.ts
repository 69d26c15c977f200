import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import { CanonicalError, canonicalize } from '../../src/signing/canonical.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { VerifyOptions } from '../../src/signing/receipt-checks.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'
import type { BundleVerdict } from '../../src/signing/verify-bundle.ts'
import { type Examination, examineInput, examineReceipt } from '../../src/signing/verify-web.ts'
import {
  MAX_VOTES,
  newest,
  problemOfVotes,
  type Receipts,
  type UnsignedVote,
} from '../../src/signing/votes.ts'

/** The result of all checks of the visitor's input. */
export interface Report {
  /** The examination of the decision or, for a mere list of valid votes, of the newest one. */
  main: Examination
  /** The examinations of the signed votes. */
  votes: Examination[]
  /** Approvals of a request that was rejected: claims that nothing proves. */
  unsigned: UnsignedVote[]
  /** Why the votes do not belong together, though each may be valid by itself. */
  disagreement?: string
  /** When the service erased the text, by its own word. */
  erasedAt?: string
  /** The verdict on the whole bundle, if it was one. */
  bundle?: BundleVerdict
  /** Why a receipt alone cannot meet the reader's policy. */
  unmet?: string
}

/**
 * Checks every receipt against the keys. Sandbox receipts are checked like others; the verdict marks them.
 * @param expected the fields that the main receipt must have, if it was requested by its id
 */
export async function checkReceipts(
  { decision, votes, unsigned, listed }: Receipts,
  keys: readonly VerificationKey[],
  { now, expected }: Pick<VerifyOptions, 'now' | 'expected'>,
): Promise<Report> {
  const options = { allowSandbox: true, now }
  const [first = {}] = votes
  const main = await examineReceipt(decision ?? first, keys, { ...options, expected })
  if (votes.length + unsigned.length > MAX_VOTES) {
    const disagreement = `There are more than ${MAX_VOTES} votes; they were not checked.`
    return { main, votes: [], unsigned: [], disagreement }
  }
  const examined: Examination[] = []
  for (const vote of votes) examined.push(await examineReceipt(vote, keys, options))
  const results = examined.map(({ result }) => result)
  const disagreement = problemOfVotes(decision && main.result, results, unsigned, listed)
  if (disagreement !== undefined) return { main, votes: examined, unsigned, disagreement }
  const closing = decision === undefined ? examined[newest(results)] : undefined
  return { main: closing ?? main, votes: examined, unsigned }
}

/**
 * Returns the statement of a receipt whose check `intent` has passed: the signed nonce commits to it, so it is as good as
 * signed. Otherwise undefined.
 */
export function openedIntent({ input, outcomes }: Examination) {
  if (input?.intent === undefined || outcomes.get('intent') !== 'passed') return undefined
  const said = new Map<string, unknown>(Object.entries(Object(JSON.parse(input.intent))))
  const text = (name: string): string | undefined => {
    const value = said.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    action: text('action') ?? '',
    /** The service for which the statement was made. */
    audience: text('aud'),
    highImpact: said.get('high_impact') === true,
    /** Reference of the delegate who acted for the approver. */
    delegate: text('delegate'),
  }
}

/** Names the person who decided, and for a delegate also the approver: the payload names only the approver. */
export function whoActed(
  examination: Examination,
  { approver }: ReceiptPayload,
  nameOf: (reference: string) => string | undefined,
): string {
  const called = (reference: string): string => visibleString(nameOf(reference) ?? reference)
  const delegate = openedIntent(examination)?.delegate
  return delegate === undefined
    ? called(approver)
    : `${called(delegate)} as the delegate of ${called(approver)}`
}

/** The outcome of a comparison, in words. */
export type Said = readonly [kind: 'success' | 'warning' | 'error' | 'info', sentence: string]

/** Checks whether the text is the action of this receipt, which must have passed every check before. */
export async function compareAction(
  receipt: ReceiptInput,
  keys: readonly VerificationKey[],
  typed: string,
): Promise<Said> {
  const texts = typed === typed.trim() ? [typed] : [typed, typed.trim()]
  for (const text of texts) {
    const claims = [{ name: 'action', field: 'action', value: text } as const]
    const { result } = await examineInput({ ...bare(receipt), claims }, keys, { allowSandbox: true })
    if (!result.valid) continue
    const blanks = text === typed ? '' : ' Spaces around your text do not count.'
    // Without a statement, there are only the payload's 64 bits to compare the text with.
    return result.checked.action === 'full'
      ? ['success', `This is exactly the action that was decided on.${blanks}`]
      : ['warning', `Probably the same, but this cannot be proven here. ${WEAK_HASH}${blanks}`]
  }
  return ['error', 'This is not the action that was decided on. Every letter, space and line break counts.']
}

/** Checks whether the JSON is the context of this receipt. Only the statement can tell: the payload has nothing of it. */
export async function compareContext(
  receipt: ReceiptInput,
  keys: readonly VerificationKey[],
  typed: string,
): Promise<Said> {
  const context = canonicalOf(typed)
  if (context === undefined) return ['error', 'The details are not a JSON object, such as {"amount": 12}.']
  if (receipt.intent === undefined)
    return [
      'warning',
      'The details cannot be compared: the statement is not next to this receipt. The caller’s answer of GET /api/v1/approvals/:id has it.',
    ]
  const { result } = await examineInput({ ...bare(receipt), context }, keys, { allowSandbox: true })
  return result.valid
    ? ['success', 'These are exactly the details that were decided on.']
    : ['error', 'These are not the details that were decided on.']
}

/** The receipt reduced to the signed parts and the statement, without the fields next to them. */
function bare({ context: _, namesContent: _also, ...signed }: ReceiptInput): ReceiptInput {
  return { ...signed, claims: [], unread: [] }
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

/** Why 16 characters of a hash are not enough (T69). */
export const WEAK_HASH =
  'The action matches only a short hash of 64 bits. Its author could have prepared a second text with the same hash, so this is a hint, not a proof.'
