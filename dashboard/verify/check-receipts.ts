import { type Examination, examineReceipt } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { VerifyOptions } from '../../src/signing/receipt-checks.ts'
import { MAX_VOTES, problemOfVotes, type Receipts, type UnsignedVote } from '../../src/signing/votes.ts'

/** Everything that was found out about what somebody brought. */
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
 * @param expected what the main receipt must say, for whoever asked for one by its id
 */
export async function checkReceipts(
  { decision, votes, unsigned }: Receipts,
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
  )
  return { main, votes: examined, unsigned, ...(disagreement === undefined ? {} : { disagreement }) }
}
