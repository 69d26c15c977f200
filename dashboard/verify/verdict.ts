import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import { RECEIPT_CHECKS, type ReceiptCheck } from '../../src/signing/receipt-checks.ts'
import type { ReceiptRefusal } from '../../src/signing/receipt-error.ts'
import type { BundleVerdict } from '../../src/signing/verify-bundle.ts'
import type { Examination } from '../../src/signing/verify-web.ts'
import { cautionsAbout } from '../../src/signing/votes.ts'
import { type Report, WEAK_HASH, whoActed } from './check-receipts.ts'

/** The verdict, shown first on the page. */
export interface Verdict {
  kind: 'approved' | 'rejected' | 'sandbox' | 'unproven' | 'unmet' | 'invalid'
  heading: string
  /** Who decided what or, for a dry-run, that no person did; shown before `at`. */
  by?: string
  /** Time of the decision, in milliseconds. */
  at?: number
  sentence: string
  /** Warnings about a receipt that is nevertheless valid. */
  cautions: string[]
  /** What was not checked, since the reader gave nothing to check it with. */
  unchecked?: string
}

/** Returns the name of the person behind a reference, if the reader may know it. */
export type NameOf = (reference: string) => string | undefined

/** For outsiders, who learn no names: receipts hold only references. */
export const nameless: NameOf = () => undefined

/** Returns the verdict on the whole input: one false vote makes all of it invalid. */
export function verdictOf(report: Report, nameOf: NameOf = nameless): Verdict {
  const { main, disagreement } = report
  // Whatever of it may hold: its receipt alone could be genuine.
  if (report.bundle?.verdict === 'bad') return invalid(NOT_VALID, report.bundle.message ?? '')
  if (!main.result.valid) return invalid(refusedHeading(main.result), main.result.message)
  if (disagreement !== undefined) return invalid(NOT_VALID, disagreement)
  const { payload } = main.result
  const { decision } = payload
  const decided = {
    by: `${decision === 'approved' ? 'Approved' : 'Rejected'} by ${whoDecided(report, payload, nameOf)}`,
    at: payload.ts * 1000,
    cautions: cautionsOf(report),
  }
  if (main.result.sandbox || report.votes.some(({ result }) => result.valid && result.sandbox)) {
    return {
      kind: 'sandbox',
      heading: `Not valid for production: a dry-run ${decision} this`,
      ...decided,
      by: 'Decided by the sandbox, no person',
      sentence:
        'The signature is genuine, but it was made in the sandbox. No person was asked. Do not act on it.',
    }
  }
  if ([main, ...report.votes].some(({ result }) => result.valid && result.unproven)) {
    return {
      kind: 'unproven',
      heading: 'A genuine receipt, but its content is not proven',
      ...decided,
      sentence:
        'A person decided this request, but nothing proves that it was about the action and details next to the receipt. Do not act on them.',
    }
  }
  const unmet = report.bundle?.verdict === 'unmet' ? report.bundle.message : report.unmet
  if (unmet !== undefined)
    return { kind: 'unmet', heading: 'Good, but your policy is not met', ...decided, sentence: unmet }
  return {
    kind: decision,
    heading: heldHeading(report, payload, nameOf),
    ...decided,
    ...(report.bundle?.log !== undefined && !hasPolicy(report.bundle) && { unchecked: NO_POLICY }),
    sentence: `${decision === 'approved' && report.votes.length > 1 ? ALL_APPROVED : SENTENCES[decision]}${proofWords(report)}`,
  }
}

const SENTENCES: Record<ReceiptPayload['decision'], string> = {
  approved: 'The receipt is genuine: a person approved this request.',
  rejected: 'The receipt is genuine: a person rejected this request. It is not a permission.',
}

const ALL_APPROVED = 'Every vote is genuine: these people approved this request.'

/** Says what a bundle proves beyond the signature of the service. */
function proofWords({ bundle }: Report): string {
  if (bundle === undefined) return ''
  const whose = ['enrolment', 'checkpoint'].every((one) => hasPassed(bundle, one))
  const signed = bundle.votes.every(({ proof }) => proof === 'passkey')
    ? ` ${whose ? 'Each approver’s own' : 'For each approver, a'} passkey signed exactly this.`
    : ' That a person was there rests on the service alone, as it checked their code by itself.'
  return `${signed}${logWords(bundle)}`
}

/** Checks whether the log was held to a policy of the reader. */
function hasPolicy({ checks }: BundleVerdict): boolean {
  return checks.some(({ check, outcome }) => check === 'checkpoint' && outcome !== 'absent')
}

const NO_POLICY = 'The signatures of the log and its witnesses were not checked: there is no trust policy.'

function hasPassed({ checks }: BundleVerdict, name: string): boolean {
  return checks.some(({ check, outcome }) => check === name && outcome === 'passed')
}

function logWords(bundle: BundleVerdict): string {
  if (!hasPassed(bundle, 'checkpoint')) return ''
  const { log } = bundle
  const names = (log?.witnesses ?? []).map(({ name, time }) => `${visibleString(name)}${timeWords(time)}`)
  return ` The log of your policy has it${names.length === 0 ? '' : `, witnessed by ${names.join(' and ')}`}.`
}

function timeWords(seconds?: number): string {
  return seconds === undefined ? '' : ` at ${new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')}`
}

const NOT_VALID = 'Not valid'

/** The heading for a valid receipt: whose decision it is, or how many agree. */
function heldHeading(report: Report, { decision, approver }: ReceiptPayload, nameOf: NameOf): string {
  const noun = decision === 'approved' ? 'approval' : 'rejection'
  const count = votesFor(report, decision).length
  if (count > 1) return `${count} ${noun}s, unchanged`
  const name = nameOf(approver)
  return name === undefined ? `A genuine ${noun}, unchanged` : `${visibleString(name)}’s ${noun}, unchanged`
}

/** The heading for a refused receipt: the reason in plain words, if one line can say it. */
function refusedHeading({ code, field }: ReceiptRefusal): string {
  switch (code) {
    case 'receipt_contradicts_payload':
      return field === 'action' || field === 'context'
        ? `Not what was decided on: “${field}” differs`
        : `Not what was signed: “${field}” differs`
    case 'receipt_payload_malformed':
    case 'receipt_signature_malformed':
    case 'receipt_signature_invalid':
      return 'Not valid: altered or forged'
    case 'receipt_key_unknown':
      return 'Not valid: signed with an unknown key'
    default:
      return NOT_VALID
  }
}

function invalid(heading: string, reason: string): Verdict {
  return { kind: 'invalid', heading, sentence: `${reason} Do not act on it.`, cautions: [] }
}

function whoDecided(report: Report, payload: ReceiptPayload, nameOf: NameOf): string {
  const alike = votesFor(report, payload.decision).map(({ vote, payload: own }) =>
    whoActed(vote, own, nameOf),
  )
  return alike.length < 2 ? whoActed(report.main, payload, nameOf) : alike.join(', ')
}

function votesFor({ votes }: Report, decision: ReceiptPayload['decision']) {
  return votes.flatMap((vote) =>
    vote.result.valid && vote.result.payload.decision === decision
      ? [{ vote, payload: vote.result.payload }]
      : [],
  )
}

function cautionsOf({ main, votes, erasedAt }: Report): string[] {
  const results = [main, ...votes].flatMap(({ result }) => (result.valid ? [result] : []))
  const unseen = main.input?.context !== undefined && main.outcomes.get('context') !== 'passed'
  const cautions = [
    ...(main.result.valid ? cautionsAbout(main.result, results.slice(1)) : []),
    main.result.valid && main.result.checked.action === 'hash' && WEAK_HASH,
    main.input?.intent === undefined && main.input?.namesContent !== true && textless(erasedAt),
    unseen &&
      'The receipt does not cover the details (context) next to it: the statement that would bind them is missing.',
    votes.length > 0 &&
      !results.some(({ stated }) => stated !== undefined) &&
      'The receipt does not say how many people had to agree: compare the votes with your own rule.',
  ]
  return cautions.filter((caution) => typeof caution === 'string')
}

function textless(erasedAt: string | undefined): string {
  return erasedAt === undefined
    ? NO_TEXT
    : `This confirms the decision, not its text, which the service erased at ${erasedAt}. To check the text, add the whole answer if you kept one (GET /api/v1/approvals/:id).`
}

/** Shown for a receipt without its text: the hash in the receipt is too short to prove the text. */
const NO_TEXT =
  'This confirms the decision, not its text, which is not included. To check the text, add the whole answer that the caller has (GET /api/v1/approvals/:id); or enter the request’s id here, signed in as a person who may see it.'

/** One line of the list of checks. */
export interface CheckLine {
  check: ReceiptCheck
  state: 'passed' | 'failed' | 'unmet' | 'absent' | 'unmade' | 'dry-run'
  name: string
  sentence: string
}

export const CHECK_STATES: Record<CheckLine['state'], string> = {
  passed: 'Passed',
  failed: 'Failed',
  unmet: 'Not met',
  absent: 'Nothing to check',
  unmade: 'Not made',
  'dry-run': 'Dry-run',
}

/** For each check: its name, its meaning when it passed, and its meaning when there was nothing to check. */
const WORDS: Record<ReceiptCheck, { name: string; passed: string; absent?: string }> = {
  form: { name: 'A receipt', passed: 'It has the form of a Countersign receipt.' },
  encoding: {
    name: 'Strict encoding',
    passed: 'Payload and signature are encoded in the only allowed way; the signature has 64 bytes.',
  },
  key: {
    name: 'Known key',
    passed: 'The key was found by its id in the key set. A key sent with a receipt is never used.',
  },
  signature: {
    name: 'Signature',
    passed:
      'The Ed25519 signature matches the payload, by strict rules: weak keys (of small order) are refused.',
  },
  canonical: {
    name: 'Canonical form',
    passed: 'The signed bytes are exactly the RFC 8785 form of their content.',
  },
  version: { name: 'Version', passed: 'Format 1, which this page knows.' },
  fields: { name: 'Fields', passed: 'Exactly the fields of format 1, each in its form.' },
  time: { name: 'In time', passed: 'It was decided before the request expired.' },
  purpose: {
    name: 'Kind of key',
    passed: 'The key may sign this kind of decision: live and sandbox have different ones.',
  },
  validity: {
    name: 'Key in use',
    passed: 'At the time of the decision the key was in use: neither retired nor revoked.',
  },
  sandbox: { name: 'Not a dry-run', passed: 'It was made for real, not in the sandbox.' },
  claims: {
    name: 'Fields around it',
    passed: 'Ids, decision, method, approver and times next to the signed payload agree with it.',
    absent: 'There is nothing next to the signed payload.',
  },
  action_hash: {
    name: 'Action, short hash',
    passed: 'The action next to the receipt matches the 16 characters of its hash in the payload.',
    absent: 'The action is not next to the receipt.',
  },
  expected: {
    name: 'The requested receipt',
    passed: 'The receipt belongs to the id that you entered.',
    absent: '',
  },
  clock: { name: 'Not from the future', passed: 'By the clock of this device, it was decided in the past.' },
  intent: {
    name: 'Full statement (intent)',
    passed: 'The statement next to the receipt is the one that the signed nonce commits to.',
    absent: 'The statement is not next to the receipt, so the nonce cannot be opened.',
  },
  action: {
    name: 'Exact action',
    passed: 'The action is, letter by letter, the one in the statement.',
    absent: 'Needs the action and the statement next to the receipt.',
  },
  context: {
    name: 'Exact details',
    passed: 'The details (context) are exactly those in the statement.',
    absent: 'Needs the details and the statement next to the receipt.',
  },
}

const DRY_RUN = 'This is a dry-run: no person decided. In production it counts as not valid.'
const UNMADE = 'Not made: one of the checks before it failed.'

/** Every check with its result, in the order in which they were made. */
export function checkLines({ result, outcomes, failed }: Examination): CheckLine[] {
  const asked = (check: ReceiptCheck): boolean =>
    check !== 'expected' || failed === check || outcomes.get(check) === 'passed'
  return RECEIPT_CHECKS.filter(asked).map((check) => {
    const { name, passed, absent = '' } = WORDS[check]
    if (check === failed && !result.valid) return { check, name, state: 'failed', sentence: result.message }
    const outcome = outcomes.get(check)
    if (outcome === undefined) return { check, name, state: 'unmade', sentence: UNMADE }
    if (check === 'sandbox' && result.valid && result.sandbox)
      return { check, name, state: 'dry-run', sentence: DRY_RUN }
    return { check, name, state: outcome, sentence: outcome === 'passed' ? passed : absent }
  })
}
