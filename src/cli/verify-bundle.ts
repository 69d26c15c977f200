import { given } from '../domain/given.ts'
import { parseJson } from '../domain/parse-json.ts'
import { verifySignature } from '../signing/ed25519-node.ts'
import {
  type BundleCheck,
  type BundleOptions,
  type BundleVerdict,
  type ProvenVote,
  type Trust,
  verifyBundle,
} from '../signing/verify-bundle.ts'
import { cautionsAbout } from '../signing/votes.ts'
import type { NamedText } from './read-input.ts'
import { type CommandResult, EXIT, oneLine } from './terminal.ts'

/** Checks whether a text is meant to be a bundle, broken or of a later version, so that it is not judged as anything else. */
export function isBundle(text: string): boolean {
  const json = parseJson(text)
  if (json === undefined) return /"format":"countersign\.receipt\//.test(text)
  return /^countersign\.receipt\//.test(String(Object(json).format))
}

/** Verifies one bundle, and says what each check found. */
export async function verifyOneBundle(
  text: string,
  trust: Trust,
  options: BundleOptions,
): Promise<CommandResult> {
  const found = await verifyBundle(text, trust, options, verifySignature)
  return { ...outcomeOf(found), value: jsonOf(found), text: describe(found) }
}

/** Verifies many bundles, one after the other, and says one line of each. The exit code is that of the worst. */
export async function verifyBundles(
  bundles: AsyncIterable<NamedText>,
  trust: Trust,
  options: BundleOptions,
): Promise<CommandResult> {
  const counts = { good: 0, unmet: 0, bad: 0 }
  const rows: object[] = []
  const lines: string[] = []
  for await (const { name, text } of bundles) {
    const found = await verifyBundle(text, trust, options, verifySignature)
    counts[found.verdict] += 1
    const { payload } = found.votes.at(-1)?.receipt ?? {}
    rows.push({ name, ...jsonOf(found) })
    if (found.verdict !== 'good') lines.push(`${found.verdict.padEnd(5)}  ${oneLine(name)}  ${found.message}`)
    else lines.push(`good   ${oneLine(name)}  ${payload?.rid} ${payload?.decision}`)
    lines.push(...cautionsOf(found).map((caution) => `       CAUTION: ${caution}`))
  }
  const said = `${counts.good} good, ${counts.unmet} good but less than the policy asks for, ${counts.bad} bad`
  return {
    ...(counts.bad > 0 ? BAD(said) : counts.unmet > 0 ? UNMET(said) : {}),
    rows: true,
    value: rows,
    text: [...lines, said].join('\n'),
  }
}

const BAD = (message: string) => ({ failure: { error: 'bundle_bad', message } })
const UNMET = (message: string) => ({ failure: { error: 'policy_not_met', message }, exitCode: EXIT.unmet })

/** Of one bundle: a rejection fails too, so that `countersign verify … && act` does not act. */
function outcomeOf({ verdict, code, message = '', votes }: BundleVerdict): Partial<CommandResult> {
  if (verdict === 'bad') return { failure: { error: code ?? 'bundle_bad', message } }
  if (verdict === 'unmet') return UNMET(message)
  if (votes.at(-1)?.receipt.payload.decision !== 'rejected') return {}
  return {
    failure: { error: 'receipt_of_rejection', message: 'The bundle is good: the request was rejected.' },
    exitCode: EXIT.rejected,
  }
}

/** What casts doubt on receipts that hold, such as a key that was revoked later. */
function cautionsOf({ verdict, votes }: BundleVerdict): string[] {
  const receipts = votes.map(({ receipt }) => receipt)
  const closing = receipts.at(-1)
  return verdict === 'bad' || closing === undefined ? [] : cautionsAbout(closing, receipts)
}

function jsonOf(found: BundleVerdict) {
  const { verdict, checks, message, code, votes, service, log } = found
  const cautions = cautionsOf(found)
  const closing = verdict === 'bad' ? undefined : votes.at(-1)
  return {
    verdict,
    checks: Object.fromEntries(checks.map(({ check, outcome }) => [check, outcome])),
    ...given({ error: code, message, service: verdict === 'bad' ? undefined : service, log }),
    ...(closing && {
      payload: closing.receipt.payload,
      proof: closing.proof,
      ...closing.receipt.stated,
      votes: votes.map(({ proof, receipt }) => ({ payload: receipt.payload, proof })),
    }),
    ...given({ caution: cautions.length > 0 ? cautions.join(' ') : undefined }),
  }
}

type Outcome = BundleVerdict['checks'][number]['outcome']

/** For each check what each outcome that it can have says, so that no line claims what was not found. */
const WORDS: Record<BundleCheck, { passed: string } & Partial<Record<Outcome, string>>> = {
  shape: { passed: 'has the form of a bundle, byte for byte', failed: 'does not have the form of a bundle' },
  receipt: {
    passed: 'is signed by a pinned key of the service',
    failed: 'is not a receipt that a pinned key of the service could have signed',
  },
  intent: { passed: 'is about this intent', failed: 'is not about this intent' },
  context: {
    passed: 'is about this context',
    absent: 'the bundle holds no context',
    failed: 'is about another context',
  },
  expected: {
    passed: 'is what was expected',
    absent: 'nothing was named to compare it with (--expect-…)',
    failed: 'is not what was expected',
  },
  challenge: {
    passed: 'the passkey signed this very intent',
    failed: 'the passkey signed something else',
  },
  origin: {
    passed: 'the passkey was used on the page of the service',
    failed: 'the passkey was used on another page, or in a frame',
  },
  rp_id: {
    passed: 'the passkey is one for this service',
    failed: 'the passkey is one for another service',
  },
  presence: {
    passed: 'the authenticator verified a person',
    failed: 'the authenticator did not verify a person',
  },
  assertion: {
    passed: 'the signature of the passkey holds',
    failed: 'the signature of the passkey does not hold',
  },
  votes: {
    passed: 'has the votes that its intent requires',
    failed: 'does not have the votes that its intent requires, or has others',
  },
  inclusion: {
    passed: 'is in the tree of the log',
    unmet: 'has no place in a log',
    failed: 'is not in the tree of the log',
  },
  enrolment: {
    passed: 'each passkey was registered before, in that tree, by the person who voted',
    absent: 'only the service says whose passkeys these are (?enrolment=1)',
    unmet: 'only the service says whose passkeys these are, or that codes were right',
    failed: 'the registration is of another passkey or person, came later, or is not in that tree',
  },
  checkpoint: {
    passed: 'the log signed that tree',
    absent: 'anybody could have made that tree: no policy says which log you trust (--policy)',
    unmet: 'no policy trusts that log',
    failed: 'a signature on that tree is wrong, or the log did not sign it',
  },
  witnesses: {
    passed: 'enough witnesses have seen that tree',
    absent: 'the policy asks for no witness (quorum none)',
    unmet: 'fewer witnesses have seen that tree than the policy asks for',
  },
}

function describe(found: BundleVerdict): string {
  const { verdict, checks, message, votes, service, action, log } = found
  const ran = checks.map(
    ({ check, outcome }) => `  ${outcome.padEnd(6)}  ${check.padEnd(10)}  ${WORDS[check][outcome]}`,
  )
  const closing = votes.at(-1)
  if (verdict === 'bad' || closing === undefined) return [`BAD: ${message}`, ...ran].join('\n')
  const { payload, stated } = closing.receipt
  const lines: [string, string | undefined][] = [
    ['Request', payload.rid],
    ['Action', action],
    ['Decision', `${payload.decision} at ${new Date(payload.ts * 1000).toISOString().replace('.000Z', 'Z')}`],
    ['Service', service],
    ['Caller', stated && `${stated.requester.name} (${stated.requester.key} of ${stated.requester.account})`],
    ['Meant for', stated?.audience],
    ...votes.map((vote): [string, string] => ['Vote', voteWords(vote)]),
    ['Log', log && `entry ${log.index + 1} of ${log.size} in ${log.origin}`],
    ...(log?.witnesses ?? []).map(({ name, time }): [string, string] => [
      'Witness',
      `${name}${time === undefined ? '' : ` at ${new Date(time * 1000).toISOString().replace('.000Z', 'Z')}`}`,
    ]),
  ]
  const head =
    verdict === 'good' ? `GOOD: the request was ${payload.decision}.` : `POLICY NOT MET: ${message}`
  const shown = lines.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name.padEnd(9)}  ${oneLine(value)}`],
  )
  const cautions = cautionsOf(found).map((caution) => `CAUTION: ${caution}`)
  return [head, ...shown, ...ran, ...cautions].join('\n')
}

function voteWords({ receipt: { payload, delegate }, proof }: ProvenVote): string {
  const by = delegate === undefined ? payload.approver : `${delegate} for ${payload.approver}`
  const how =
    proof === 'passkey'
      ? 'by a passkey’s own signature'
      : `by ${payload.method === 'sandbox' ? 'the sandbox; no person decided' : 'a code, which rests on the service alone'}`
  return `${payload.decision} by ${by}, ${how}`
}
