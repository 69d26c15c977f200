import type { BundledVote } from '../../src/domain/bundle.ts'
import { toBase64Url } from '../../src/signing/base64.ts'
import { readBundle, receiptOf } from '../../src/signing/bundle.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { VerifyOptions } from '../../src/signing/receipt-checks.ts'
import {
  type BundleCheck,
  type BundleVerdict,
  sha256Hex,
  type Trust,
  verifyBundle,
} from '../../src/signing/verify-bundle.ts'
import { splitVotes } from '../../src/signing/votes.ts'
import { checkReceipts, type Report } from './check-receipts.ts'
import type { CheckLine } from './verdict.ts'

/** Checks whether JSON is meant to be a bundle, of whatever version. */
export function isBundle(json: object): boolean {
  return /^countersign\.receipt\//.test(String(Reflect.get(json, 'format')))
}

/**
 * Checks a bundle, byte for byte, and the receipts in it as if they had come in an answer of the service, so that the page shows
 * them as it shows any.
 */
export async function checkBundle(
  text: string,
  keys: readonly VerificationKey[],
  { now, expected, policy }: Pick<VerifyOptions, 'now' | 'expected'> & Pick<Trust, 'policy'>,
): Promise<Report & { bundle: BundleVerdict }> {
  const bundle = await verifyBundle(text, { keys, policy }, { allowSandbox: true, now })
  const read = readBundle(text)
  const answer = typeof read === 'string' ? {} : await answerWith(read, read.votes ?? [], read.context)
  return { ...(await checkReceipts(splitVotes(answer), keys, { now, expected })), bundle }
}

async function answerWith(
  closing: BundledVote,
  others: readonly BundledVote[],
  context: string | undefined,
): Promise<object> {
  const [decision, ...votes] = await Promise.all([closing, ...others].map(decisionOf))
  const list = votes.length === 0 ? {} : { votes: [...votes, decision] }
  return {
    decision: { ...decision, ...list },
    // Only text that the check `context` has accepted is ever shown.
    ...(context === undefined ? {} : { context: parsed(context) }),
  }
}

async function decisionOf(vote: BundledVote): Promise<object> {
  const { canonical_payload = '', ...signed } = (await receiptOf(vote, sha256Hex)) ?? {}
  const signed_payload = toBase64Url(new TextEncoder().encode(canonical_payload))
  return { signed_payload, ...signed, intent: vote.intent }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** For each check that the receipt alone does not have: its name, its meaning when it passed, and when there was nothing to check. */
const WORDS: Partial<Record<BundleCheck, readonly [name: string, passed: string, absent?: string]>> = {
  shape: [
    'A bundle',
    'It is a bundle of this format, byte for byte, with nothing in it that no check reads.',
  ],
  challenge: ['Signed statement', 'A passkey signed this very statement (intent).'],
  origin: [
    'Page',
    'The passkey was used on a page of the service that the statement names, and in no frame.',
  ],
  rp_id: ['Passkey of the service', 'The passkey is registered for that service and no other.'],
  presence: ['A person', 'The authenticator says that a person was there and that it verified them.'],
  assertion: [
    'Signature of the passkey',
    'It holds, by strict rules. The service does not have the passkey’s key.',
  ],
  votes: ['Votes', 'There are as many approvals, by different people, as the statement requires.'],
  inclusion: ['In the log', 'The receipt is in the tree that the proof names.'],
  enrolment: [
    'Whose passkey',
    'In that tree, the person who decided had registered this passkey before.',
    'Nothing in the file proves that the passkey is the approver’s; the service says so.',
  ],
  checkpoint: ['Signed by the log', 'The log that your policy trusts signed that tree.'],
  witnesses: [
    'Witnesses',
    'As many witnesses as your policy asks for signed that tree, too.',
    'Your policy asks for no witness (quorum none).',
  ],
}

/** The checks that a bundle adds to those of its receipts, each with its result. */
export function bundleLines(bundle: BundleVerdict): Omit<CheckLine, 'check'>[] {
  const { checks, message = '' } = bundle
  return checks.flatMap(({ check, outcome }): Omit<CheckLine, 'check'>[] => {
    const [name, passed, absent = ''] = WORDS[check] ?? ['', '']
    const sentence = { passed, absent, failed: message, unmet: message }[outcome]
    if (check === 'checkpoint' && outcome === 'absent') return [UNTRUSTED]
    return name === '' ? [] : [{ name, state: outcome, sentence }]
  })
}

const UNTRUSTED = {
  name: 'Signed by the log and witnesses',
  state: 'unmade',
  sentence: 'Without a trust policy nothing tells whose log this is. Add one under “Use a trust policy”.',
} as const
