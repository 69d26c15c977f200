import type { Bundle, BundledVote, LogPlace, SignedPasskey } from '../domain/bundle.ts'
import { given } from '../domain/given.ts'
import { fromBase64Url } from './base64.ts'
import { readBundle, receiptOf } from './bundle.ts'
import { canonicalize, parseCanonical } from './canonical.ts'
import { type Ed25519, signatureHolds } from './ed25519-web.ts'
import type { VerificationKey } from './key-record.ts'
import { parseCheckpointText, parseProof } from './log/checkpoint.ts'
import { decisionSubject } from './log/leaves.ts'
import { hashOnWeb, inclusionHolds, leafHash } from './log/merkle.ts'
import { NoteError, parseNote, type SignedNote, verifyNote } from './log/note.ts'
import { quorumMet, type TrustPolicy } from './log/policy.ts'
import { ASSERTION_CHECKS, failedCheck, sha256, usualClientData } from './passkey-assertion.ts'
import type { ReceiptCheck, VerifyOptions } from './receipt-checks.ts'
import { ReceiptError, type ReceiptRefusal, refuse } from './receipt-error.ts'
import { parseReceiptInput } from './receipt-input.ts'
import { heldToIntent, type VerifiedReceipt } from './verify-core.ts'
import { examineInput } from './verify-web.ts'
import { problemOfVotes } from './votes.ts'

/** The checks of a bundle, in order: the first that fails ends the verification. */
const BUNDLE_CHECKS = [
  ...(['shape', 'receipt', 'intent', 'context', 'expected'] as const),
  ...ASSERTION_CHECKS,
  ...(['votes', 'inclusion', 'enrolment', 'checkpoint', 'witnesses'] as const),
]
export type BundleCheck = (typeof BUNDLE_CHECKS)[number]

/** What a verifier trusts beforehand; none of it comes with a bundle. */
export interface Trust {
  keys: readonly VerificationKey[]
  /** Without it the log is not checked further than that the decision is in the tree that the proof names. */
  policy?: TrustPolicy | undefined
}

export interface BundleOptions extends VerifyOptions {
  audience?: string | undefined
  account?: string | undefined
  /** The BASE_URL of the service that must have asked. */
  service?: string | undefined
  /** Whether a log that is trusted must say of every vote that its passkey is the approver's. */
  enrolment?: boolean | undefined
}

/** One vote that holds. */
export interface ProvenVote {
  receipt: VerifiedReceipt
  /** `passkey`: by the person's own signature. `service`: nothing but the service's word says that a person was there. */
  proof: 'passkey' | 'service'
}

/** The place in the log, as far as it was checked. */
interface ProvenPlace {
  origin: string
  index: number
  size: number
  /** Those of the policy, with the time of each cosignature in Unix seconds. */
  witnesses: { name: string; time?: number }[]
}

/** `unmet`: all that is there holds, but less is there than the policy asks for. */
export interface BundleVerdict {
  verdict: 'good' | 'unmet' | 'bad'
  /** Every check that was made, in order. `absent`: there was nothing of that kind to check. */
  checks: { check: BundleCheck; outcome: 'passed' | 'absent' | 'unmet' | 'failed' }[]
  /** Why it is not good. */
  message?: string
  code?: string
  /** In the order of the votes, the closing one last; all of them hold, unless the bundle is bad. */
  votes: ProvenVote[]
  service?: string
  /** The text that was decided on; whoever asked wrote it. */
  action?: string
  log?: ProvenPlace
}

/** A check failed; `code` is that of the receipt's own checks. */
class Broken extends Error {
  readonly check: BundleCheck
  readonly code: string

  constructor(check: BundleCheck, message: string, code = `bundle_${check}`) {
    super(message)
    this.check = check
    this.code = code
  }
}

/**
 * Verifies a bundle without the service, on any platform with WebCrypto. No content of it makes the promise reject.
 * @param json the text, byte for byte, or what was parsed of it
 * @param ed25519 the server has a faster one
 */
export async function verifyBundle(
  json: unknown,
  trust: Trust,
  options: BundleOptions = {},
  ed25519: Ed25519 = signatureHolds,
): Promise<BundleVerdict> {
  const done = new Map<BundleCheck, 'passed' | 'absent' | 'unmet' | 'failed'>()
  const found: Omit<BundleVerdict, 'verdict' | 'checks'> = { votes: [] }
  let verdict: BundleVerdict['verdict'] = 'good'
  try {
    const bundle = readBundle(json)
    if (typeof bundle === 'string') throw new Broken('shape', bundle)
    done.set('shape', 'passed')
    for (const vote of votesIn(bundle))
      found.votes.push(await provenVote(vote, bundle, { trust, options, ed25519, done }))
    const receipts = found.votes.map(({ receipt }) => receipt)
    const problem = problemOfVotes(receipts.at(-1), receipts, [])
    if (problem !== undefined) throw new Broken('votes', problem)
    const passkeys = votesIn(bundle).flatMap(({ passkey }) => passkey?.key ?? [])
    if (new Set(passkeys).size < passkeys.length) throw new Broken('votes', 'One passkey is counted twice.')
    done.set('votes', 'passed')
    const { aud, action } = intentOf(bundle)
    Object.assign(found, { service: String(aud), action: String(action) })
    const { place, unmet } = await provenPlace(bundle, { trust, options, ed25519, done }, receipts)
    Object.assign(found, given({ log: place, message: unmet }))
    if (unmet !== undefined) verdict = 'unmet'
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    verdict = 'bad'
    // Of several votes, an earlier one may have come further.
    for (const later of BUNDLE_CHECKS.slice(BUNDLE_CHECKS.indexOf(error.check))) done.delete(later)
    done.set(error.check, 'failed')
    Object.assign(found, { message: error.message, code: error.code })
  }
  const checks = BUNDLE_CHECKS.flatMap((check) => {
    const outcome = done.get(check)
    return outcome === undefined ? [] : [{ check, outcome }]
  })
  return { verdict, checks, ...found }
}

interface Doing {
  trust: Trust
  options: BundleOptions
  ed25519: Ed25519
  done: Map<BundleCheck, 'passed' | 'absent' | 'unmet' | 'failed'>
}

async function provenVote(vote: BundledVote, { context }: Bundle, doing: Doing): Promise<ProvenVote> {
  const { done, options } = doing
  const receipt = await provenReceipt(vote, context, doing)
  done.set('receipt', 'passed')
  done.set('intent', 'passed')
  done.set('context', context === undefined ? 'absent' : 'passed')
  const expects = [options.expected, options.audience, options.account, options.service]
  const content = Object.values(options.expectedContent ?? {})
  const isHeld = [...expects, ...content].some((one) => one !== undefined)
  done.set('expected', isHeld ? 'passed' : 'absent')
  const signed = await signedBy(vote)
  if (signed === undefined) return { receipt, proof: 'service' }
  const { passkey, facts } = signed
  const inBatch = passkey.batch === undefined || (await listsIntent(passkey.batch, vote, receipt))
  const failed = inBatch ? await failedCheck(passkey, facts, doing.ed25519) : 'challenge'
  const until = failed === undefined ? ASSERTION_CHECKS.length : ASSERTION_CHECKS.indexOf(failed)
  for (const check of ASSERTION_CHECKS.slice(0, until)) done.set(check, 'passed')
  if (failed !== undefined) throw new Broken(failed, ASSERTION_WORDS[failed])
  return { receipt, proof: 'passkey' }
}

/** What the passkey of a vote signed, with the client data in full, and what it must have been about. */
async function signedBy(vote: Omit<BundledVote, 'receipt'>) {
  const { passkey, intent } = vote
  if (passkey === undefined) return undefined
  const challenge = await sha256(utf8(passkey.batch ?? intent))
  const { aud } = intentOf(vote)
  const facts = { challenge, origin: typeof aud === 'string' ? aud : '' }
  const whole: SignedPasskey = { client_data: usualClientData(facts), ...passkey }
  return { passkey: whole, facts }
}

const ASSERTION_WORDS = {
  challenge: 'The passkey signed something other than this intent.',
  origin: 'The passkey was used on a page of another origin, or in a frame.',
  rp_id: 'The passkey is registered for another service.',
  presence: 'The authenticator did not verify a person.',
  assertion: 'The signature of the passkey does not hold.',
} as const

async function provenReceipt(
  vote: BundledVote,
  context: string | undefined,
  { trust, options, ed25519 }: Doing,
): Promise<VerifiedReceipt> {
  const receipt = await receiptOf(vote, sha256Hex)
  if (receipt === undefined) throw new Broken('intent', 'The intent is not the statement of a decision.')
  const { intent } = vote
  try {
    const whole = { ...parseReceiptInput(receipt), intent, ...given({ context }) }
    const { result: alone, failed } = await examineInput(whole, trust.keys, options, ed25519)
    if (!alone.valid) throw new Broken(checkOf(alone, failed), alone.message, alone.code)
    const result = heldToIntent(alone, options)
    if (!result.valid || result.unproven)
      throw new Broken('expected', refuse('receipt_unexpected').message, 'receipt_unexpected')
    if (options.service !== undefined && intentOf({ intent }).aud !== options.service)
      throw new Broken('expected', 'Another service asked for this decision.', 'receipt_unexpected')
    return result
  } catch (error) {
    if (error instanceof ReceiptError) throw new Broken('receipt', error.message, error.code)
    throw error
  }
}

/** Returns the check of the bundle to which a failed check of the receipt belongs. */
function checkOf({ code }: ReceiptRefusal, failed: ReceiptCheck | undefined): BundleCheck {
  if (code === 'receipt_unexpected') return 'expected'
  return failed === 'intent' || failed === 'context' ? failed : 'receipt'
}

/** Checks that the gesture's statement is of this person and service, and lists this intent. */
async function listsIntent(
  batch: string,
  { intent }: BundledVote,
  { payload, delegate }: VerifiedReceipt,
): Promise<boolean> {
  const { typ, aud, approver, items } = Object(parseCanonical(batch))
  const { rid, decision } = payload
  const hash = await sha256Hex(intent)
  const own = Array.isArray(items) ? items.filter((item) => Object(item).rid === rid) : []
  const isListed = own.length === 1 && own[0].intent_sha256 === hash && own[0].decision === decision
  const isTheirs = approver === (delegate ?? payload.approver) && aud === intentOf({ intent }).aud
  return typ === 'human-approval/batch/v1' && isTheirs && isListed
}

/** All votes, the closing one last. */
function votesIn(bundle: Bundle): BundledVote[] {
  return [...(bundle.votes ?? []), bundle]
}

function intentOf({ intent }: Pick<BundledVote, 'intent'>): { aud?: unknown; action?: unknown } {
  return Object(parseCanonical(intent))
}

/** @returns the place, and what is missing; neither where nothing is asked for and no proof is there */
async function provenPlace(
  bundle: Bundle,
  doing: Doing,
  receipts: readonly VerifiedReceipt[],
): Promise<{ place?: ProvenPlace; unmet?: string }> {
  const { done } = doing
  const isAsked = doing.trust.policy !== undefined || doing.options.enrolment === true
  if (bundle.log === undefined) {
    noteEnrolment(bundle, false, doing)
    if (!isAsked) return {}
    done.set('inclusion', 'unmet')
    return { unmet: 'The bundle has no place in a log. Get it again with log=logged, or log=witnessed.' }
  }
  let check: BundleCheck = 'inclusion'
  try {
    const { index, size, origin, note } = await placeOf(bundle, bundle.log)
    done.set(check, 'passed')
    check = 'enrolment'
    noteEnrolment(bundle, await areEnrolled(bundle, bundle.log, receipts), doing)
    check = 'checkpoint'
    // Said, since whoever passes the bundle on could have made the tree.
    if (!isAsked) done.set(check, 'absent')
    const { witnesses, unmet } = isAsked ? await trustIn(note, origin, doing) : { witnesses: [] }
    const lacking = unmet ?? (done.get('enrolment') === 'unmet' ? NOT_ENROLLED : undefined)
    return { place: { origin, index, size, witnesses }, ...given({ unmet: lacking }) }
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    const what = check === 'enrolment' ? 'The registration of a passkey' : 'The proof of the log'
    throw new Broken(check, `${what} does not hold: ${error.message}.`)
  }
}

/** Without a passkey there is nothing to say, unless it is asked for. */
function noteEnrolment(bundle: Bundle, enrolled: boolean, { options, done }: Doing): void {
  const hasPasskeys = votesIn(bundle).some(({ passkey }) => passkey !== undefined)
  if (enrolled || options.enrolment) done.set('enrolment', enrolled ? 'passed' : 'unmet')
  else if (hasPasskeys) done.set('enrolment', 'absent')
}

const NOT_ENROLLED =
  'The log does not say of every vote that its passkey is the approver’s. Get the bundle again with enrolment=1.'

/** Checks whose log it is, and who has seen it. @throws NoteError for a signature that does not hold */
async function trustIn(
  note: SignedNote,
  origin: string,
  { trust: { policy }, ed25519, done }: Doing,
): Promise<Pick<ProvenPlace, 'witnesses'> & { unmet?: string }> {
  // A log whose key was rotated has several under its name.
  const logs = policy?.logs.flatMap(({ key }) => (key.name === origin ? key : [])) ?? []
  if (policy === undefined || logs.length === 0) {
    done.set('checkpoint', 'unmet')
    return { witnesses: [], unmet: policy === undefined ? NO_POLICY : FOREIGN_LOG }
  }
  const known = [...logs, ...[...policy.witnesses.values()].map(({ key }) => key)]
  const signed = await verifyNote(note, known, ed25519)
  const cosigned = signed.filter(({ key }) => !logs.includes(key))
  if (cosigned.length === signed.length) throw new NoteError('the log did not sign it')
  done.set('checkpoint', 'passed')
  const met = quorumMet(
    policy,
    cosigned.map(({ key }) => key),
  )
  // Nobody need have seen it: to say that enough have would be a claim that nothing backs.
  done.set('witnesses', policy.quorum === 'none' ? 'absent' : met ? 'passed' : 'unmet')
  const witnesses = cosigned.map(({ key: { name }, time }) => ({ name, ...given({ time }) }))
  return { witnesses, ...given({ unmet: met ? undefined : FEW_WITNESSES }) }
}

const NO_POLICY = 'Only a log that a policy trusts can say whose passkey signed, and there is no policy.'
const FOREIGN_LOG = 'The policy does not trust the log that the proof is from.'
const FEW_WITNESSES = 'Fewer witnesses have seen the log than the policy asks for.'

/**
 * Checks each registration that is there: of that passkey, by that person, in the tree of the decision, and before it.
 * @returns whether every vote has one
 * @throws NoteError
 */
async function areEnrolled(
  bundle: Bundle,
  log: LogPlace,
  receipts: readonly VerifiedReceipt[],
): Promise<boolean> {
  const votes = votesIn(bundle)
  const { index, checkpoint } = parseProof(log.proof)
  const tree = parseCheckpointText(parseNote(checkpoint).text)
  for (const [at, { passkey, enrolment }] of votes.entries()) {
    if (enrolment === undefined) continue
    const { subject, record, proof } = enrolment
    const { delegate, payload } = receipts[at] ?? {}
    if (subject.public_key !== passkey?.key) throw new NoteError('it is of another passkey')
    if (subject.approver !== (delegate ?? payload?.approver)) throw new NoteError('it is of another person')
    const { extra, ...own } = parseProof(proof)
    if (extra !== undefined || own.checkpoint !== checkpoint)
      throw new NoteError('it is under another checkpoint than the decision')
    if (own.index >= index) throw new NoteError('it came after the decision')
    const leaf = await leafOf(record, canonicalize(subject))
    if (!(await hashOnWeb(inclusionHolds(leaf, own.index, tree, own.path))))
      throw new NoteError('it is not in the tree of the checkpoint')
  }
  return votes.every(({ enrolment }) => enrolment !== undefined)
}

/** Checks that the leaf of these receipts is in the tree of their checkpoint, whose signature is not checked. @throws NoteError */
export async function placeOf(bundle: Bundle, { record, proof }: LogPlace) {
  const { index, path, checkpoint, extra } = parseProof(proof)
  const note = parseNote(checkpoint)
  const tree = parseCheckpointText(note.text)
  const leaf = await leafOf(record, await subjectIn(bundle))
  if (extra !== undefined || !(await hashOnWeb(inclusionHolds(leaf, index, tree, path))))
    throw new NoteError('the decision is not in the tree of its checkpoint')
  return { index, leaf, size: tree.size, origin: tree.origin, note }
}

async function leafOf(record: string, subject: string): Promise<Uint8Array> {
  const entry = Uint8Array.of(...hashIn(record), ...(await sha256(utf8(subject))))
  return hashOnWeb(leafHash(entry))
}

/** The text to whose hash the log commits. */
export async function subjectIn(bundle: Bundle): Promise<string> {
  const votes = votesIn(bundle).map(async (vote) => {
    const receipt = await receiptOf(vote, sha256Hex)
    return receipt === undefined ? [] : { ...receipt, passkey: (await signedBy(vote))?.passkey }
  })
  return decisionSubject((await Promise.all(votes)).flat())
}

function hashIn(text: string): Uint8Array {
  try {
    const bytes = fromBase64Url(text)
    if (bytes.length === 32) return bytes
  } catch {
    // Said below.
  }
  throw new NoteError('the record is not a hash')
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Lower-case hex SHA-256 of a text's UTF-8. */
export async function sha256Hex(text: string): Promise<string> {
  return Array.from(await sha256(utf8(text)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
