import { parseUnambiguous } from '../../../src/domain/parse-json.ts'
import { CanonicalError, canonicalize } from '../../../src/signing/canonical.ts'
import { heldToIntent, type VerifyResult } from '../../../src/signing/verify-core.ts'
import { examineJwks, examineReceipt } from '../../../src/signing/verify-web.ts'
import { cautionsAbout, judgeTogether, MAX_VOTES, splitVotes } from '../../../src/signing/votes.ts'

/** What the receipt must be about. What is left out is not compared. */
export interface Expected {
  /** The id of your request. */
  request?: string | undefined
  /** The whole action that is about to be done. */
  action?: string | undefined
  /** The context it is done with. */
  context?: Readonly<Record<string, unknown>> | undefined
  audience?: string | undefined
  /** Your account (`acc_…`): one key set serves all accounts of a service. */
  account?: string | undefined
  /** For tests only; default false. */
  allowSandbox?: boolean | undefined
  /** Instead of the machine's clock. */
  now?: Date | undefined
}

/**
 * `approved` and `rejected`: the receipt is valid and says so. `unproven`: it is genuine, but nothing signed says what it is about.
 * Act only on `approved`.
 */
export type Verdict =
  | {
      verdict: 'approved' | 'rejected' | 'unproven'
      requestId: string
      decisionId: string
      /** A reference, no name. */
      approver: string
      method: 'passkey' | 'totp' | 'sandbox'
      decidedAt: Date
      /** Reasons for doubt, such as a key that was revoked later. Refuse a receipt with any if it must be beyond doubt. */
      cautions: readonly string[]
      /** How many approvals are in it. */
      votes: number
    }
  | { verdict: 'refused'; code: string; message: string; field?: string }

/**
 * Checks a receipt without the service: the same checks as `countersign verify`, in the same order.
 * @param receipt an answer of the service, a callback's or webhook's body, or its text
 * @param keySet what `/.well-known/jwks.json` of your service answered, or its text: never one that came with the receipt
 * @throws Error for a key set that cannot be trusted, and for an expected context that JSON cannot hold
 */
export async function verifyReceipt(
  receipt: unknown,
  keySet: unknown,
  expected: Expected = {},
): Promise<Verdict> {
  const json = read(receipt)
  const keys = await examineJwks(read(keySet))
  const { request, action, context, audience, account, allowSandbox = false, now = new Date() } = expected
  const options = {
    allowSandbox,
    now,
    ...(request !== undefined && { expected: { rid: request } }),
    expectedContent: { action, context: context && canonicalize(context) },
  }
  const { decision, votes } = splitVotes(Object(json))
  const results = new Map<string, VerifyResult>()
  for (const one of [decision ?? votes[0] ?? {}, ...votes.slice(0, MAX_VOTES)])
    results.set(
      JSON.stringify(one),
      heldToIntent((await examineReceipt(one, keys, options)).result, { audience, account }),
    )
  const together = judgeTogether(Object(json), (one) => {
    const result = results.get(JSON.stringify(one))
    if (result === undefined) throw new CanonicalError('a receipt that reads differently each time')
    return result
  })
  return verdictOn(together.result, together.votes)
}

function verdictOn(result: VerifyResult, votes: ReturnType<typeof judgeTogether>['votes']): Verdict {
  if (!result.valid) {
    const { code, message, field } = result
    return { verdict: 'refused', code, message, ...(field !== undefined && { field }) }
  }
  const { rid, did, approver, method, ts, decision } = result.payload
  return {
    verdict: result.unproven ? 'unproven' : decision,
    requestId: rid,
    decisionId: did,
    approver,
    method,
    decidedAt: new Date(ts * 1000),
    cautions: cautionsAbout(result, votes),
    votes: Math.max(1, votes.length),
  }
}

/** Text is read as other programs would read it: a member named twice is refused. */
function read(value: unknown): unknown {
  return typeof value === 'string' ? parseUnambiguous(value) : value
}
