import { type Examination, examineReceipt } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { VerifyOptions } from '../../src/signing/receipt-checks.ts'
import { MAX_VOTES, type Receipts } from './split-votes.ts'

/** Everything that was found out about what somebody brought. */
export interface Report {
  /** Of the decision; of the first vote, where there is a list of votes alone. */
  main: Examination
  votes: Examination[]
  /** Why the votes do not belong together though each may hold by itself. */
  disagreement?: string
}

/**
 * Checks every receipt against the keys. Sandbox receipts are checked like others; the verdict marks them.
 * @param expected what the main receipt must say, for whoever asked for one by its id
 */
export async function checkReceipts(
  { decision, votes }: Receipts,
  keys: readonly VerificationKey[],
  { now, expected }: Pick<VerifyOptions, 'now' | 'expected'>,
): Promise<Report> {
  const options = { allowSandbox: true, now }
  const [first = {}] = votes
  const main = await examineReceipt(decision ?? first, keys, { ...options, expected })
  if (votes.length > MAX_VOTES)
    return { main, votes: [], disagreement: `There are more than ${MAX_VOTES} votes; they were not checked.` }
  const examined: Examination[] = []
  for (const vote of votes) examined.push(await examineReceipt(vote, keys, options))
  const disagreement = disagreementOf(decision === undefined ? undefined : main, examined)
  return { main, votes: examined, ...(disagreement === undefined ? {} : { disagreement }) }
}

/** Each vote is signed by itself; that they are about one request, and by different people, must be looked at, too. */
function disagreementOf(
  decision: Examination | undefined,
  votes: readonly Examination[],
): string | undefined {
  if (votes.length === 0) return undefined
  const payloads = votes.flatMap(({ result }) => (result.valid ? [result.payload] : []))
  if (payloads.length < votes.length) return 'One of the votes does not hold.'
  const different = (values: readonly string[]): boolean => new Set(values).size === values.length
  const [first] = payloads
  if (payloads.some(({ rid }) => rid !== first?.rid)) return 'The votes are about different requests.'
  if (!different(payloads.map(({ did }) => did))) return 'One vote is there twice.'
  if (!different(payloads.map(({ approver }) => approver))) return 'One person is counted twice.'
  if (decision === undefined || !decision.result.valid) return undefined
  const { payload } = decision.result
  if (!payloads.some((vote) => vote.did === payload.did && vote.nonce === payload.nonce))
    return 'The decision is none of the votes.'
  const others = payloads.filter((vote) => vote.decision !== payload.decision)
  if (payload.decision === 'approved' && others.length > 0)
    return 'One of the votes is a rejection, which would have rejected the request.'
  return undefined
}
