import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import { CanonicalError, canonicalize } from '../../src/signing/canonical.ts'
import { type Examination, examineInput, examineReceipt } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { VerifyOptions } from '../../src/signing/receipt-checks.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'
import { MAX_VOTES, problemOfVotes, type Receipts, type UnsignedVote } from '../../src/signing/votes.ts'

/** Everything that was found out about what the visitor brought. */
export interface Report {
  /** Of the decision; of the first signed vote, where there is a list of votes alone. */
  main: Examination
  /** The signed ones. */
  votes: Examination[]
  /** Approvals of a request that was rejected: words that nothing proves. */
  unsigned: UnsignedVote[]
  /** Why the votes do not belong together though each may hold by itself. */
  disagreement?: string
}

/**
 * Checks every receipt against the keys. Sandbox receipts are checked like others; the verdict marks them.
 * @param expected what the main receipt must say, when it was asked for by its id
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
  const disagreement = problemOfVotes(
    decision === undefined ? undefined : main.result,
    examined.map(({ result }) => result),
    unsigned,
    listed,
  )
  return { main, votes: examined, unsigned, ...(disagreement === undefined ? {} : { disagreement }) }
}

/**
 * What the statement of a receipt says, once the check `intent` has passed: the nonce was found to commit to it, so it is as
 * good as signed. Undefined without one.
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
    /** The service it was made for. */
    audience: text('aud'),
    highImpact: said.get('high_impact') === true,
    /** Reference of who acted for the approver. */
    delegate: text('delegate'),
  }
}

/** Who decided, and for whom when that was a delegate: the payload names only whose vote it is. */
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

/** What came of a comparison, in words. */
export type Said = readonly [kind: 'success' | 'warning' | 'error' | 'info', sentence: string]

/** Is the text the action of this receipt? The receipt must have passed every check before. */
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
    const blanks = text === typed ? '' : ' The blanks around your text do not count.'
    // Without a statement, the payload's 64 bits are all there is to compare it with.
    return result.checked.action === 'full'
      ? ['success', `This is exactly the action that was decided on.${blanks}`]
      : ['warning', `Probably the same, but this cannot be proven here. ${WEAK_HASH}${blanks}`]
  }
  return ['error', 'This is not the action that was decided on. Every letter, blank and line break counts.']
}

/** Is the JSON the context of this receipt? Only the statement knows; the payload holds nothing of it. */
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

/** What is signed, and the statement; not what was next to it. */
function bare({ context: _, namesContent: _also, ...signed }: ReceiptInput): ReceiptInput {
  return { ...signed, claims: [] }
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
  'The action only fits a short hash of 64 bits. Its author could have prepared a second text with the same one, so this is a hint and no proof.'
