import { parseUnambiguous } from '../../../src/domain/parse-json.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { parsePolicy } from '../../../src/signing/log/policy.ts'
import * as bundles from '../../../src/signing/verify-bundle.ts'
import { examineJwks } from '../../../src/signing/verify-web.ts'
import { cautionsAbout } from '../../../src/signing/votes.ts'
import type { Expected } from './verify.ts'

/** What the bundle must be about. What is left out is not compared. */
export interface ExpectedBundle extends Expected {
  /** The BASE_URL of the service that must have asked. */
  service?: string | undefined
  /** Whether a log of the policy must say of every vote that its passkey is the approver's; if not, the verdict is `unmet`. Default false. */
  enrolment?: boolean | undefined
}

/** A check that was made, and what it found; `absent`: there was nothing of that kind to check. */
export interface BundleCheck {
  check: string
  outcome: 'passed' | 'absent' | 'unmet' | 'failed'
}

/**
 * `approved` and `rejected`: the bundle is good and says so. `unmet`: it is genuine, but less than the policy asks for. Act only on
 * `approved`.
 */
export type BundleVerdict =
  | {
      verdict: 'approved' | 'rejected' | 'unmet'
      requestId: string
      decisionId: string
      /** A reference, no name. */
      approver: string
      method: 'passkey' | 'totp' | 'sandbox'
      decidedAt: Date
      /** Reasons for doubt, such as a key that was revoked later. */
      cautions: readonly string[]
      votes: number
      /** Whether every vote is proven by a passkey's own signature; else some rest on the service alone. */
      byPasskeys: boolean
      /** The service that asked, by its BASE_URL. */
      service: string
      /** Names of the witnesses of the policy that have seen the log. */
      witnesses: readonly string[]
      checks: readonly BundleCheck[]
      /** Of `unmet`: what is missing. */
      message?: string
    }
  | { verdict: 'refused'; code: string; message: string; checks: readonly BundleCheck[] }

/**
 * Checks a bundle (`countersign.receipt.json`) without the service: the same checks as `countersign verify`, in the same order.
 * @param bundle the text, byte for byte
 * @param keySet what `/.well-known/jwks.json` of your service answered, or its text: never one that came with the bundle
 * @param policy the logs and witnesses that you trust (C2SP tlog-policy); without it no log is needed
 * @throws Error for a key set or policy that cannot be used, and for an expected context that JSON cannot hold
 */
export async function verifyBundle(
  bundle: string,
  keySet: unknown,
  policy?: string,
  expected: ExpectedBundle = {},
): Promise<BundleVerdict> {
  const keys = await examineJwks(typeof keySet === 'string' ? parseUnambiguous(keySet) : keySet)
  const {
    service,
    enrolment,
    request,
    action,
    context,
    audience,
    account,
    allowSandbox,
    now = new Date(),
  } = expected
  const trust = { keys, policy: policy === undefined ? undefined : await parsePolicy(policy) }
  const found = await bundles.verifyBundle(String(bundle), trust, {
    allowSandbox,
    now,
    ...(request !== undefined && { expected: { rid: request } }),
    expectedContent: { action, context: context && canonicalize(context) },
    audience,
    account,
    service,
    enrolment,
  })
  return verdictOn(found)
}

function verdictOn({
  verdict,
  checks,
  message = '',
  code = '',
  votes,
  ...found
}: bundles.BundleVerdict): BundleVerdict {
  const closing = votes.at(-1)?.receipt
  if (verdict === 'bad' || closing === undefined) return { verdict: 'refused', code, message, checks }
  const { rid, did, approver, method, ts, decision } = closing.payload
  const receipts = votes.map(({ receipt }) => receipt)
  return {
    verdict: verdict === 'unmet' ? verdict : decision,
    requestId: rid,
    decisionId: did,
    approver,
    method,
    decidedAt: new Date(ts * 1000),
    cautions: cautionsAbout(closing, receipts),
    votes: votes.length,
    byPasskeys: votes.every(({ proof }) => proof === 'passkey'),
    service: found.service ?? '',
    witnesses: (found.log?.witnesses ?? []).map(({ name }) => name),
    checks,
    ...(verdict === 'unmet' && { message }),
  }
}
