import { setTimeout as pause } from 'node:timers/promises'
import type { AuditRecord } from '../../domain/audit.ts'
import {
  BUNDLE_FORMAT,
  type Bundle,
  type BundledVote,
  type EnrolledPasskey,
  type LogPlace,
} from '../../domain/bundle.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { ReceiptPayload } from '../../domain/receipt.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { DecisionProof, LogStanding } from '../../domain/views.ts'
import { subjectOf } from '../../signing/audit-chain.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { formatProof, type LogProof, parseCheckpointText } from '../../signing/log/checkpoint.ts'
import { decisionSubject, enrolledPasskey } from '../../signing/log/leaves.ts'
import { cosignedAt, parseNote } from '../../signing/log/note.ts'
import { abridged } from '../../signing/passkey-assertion.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { signedPasskey } from '../people/passkey-key.ts'
import { provable } from '../requests/close-request.ts'
import { readOwnRequest } from '../requests/read-request.ts'
import { reviewRequest } from '../requests/review-request.ts'
import { begin, hasPatience, type Wait } from '../requests/wait-for-decision.ts'
import { isRolledBack } from './log.ts'
import { proveRecord } from './read-log.ts'

/** How far the decision must be in the log: not at all, in a signed checkpoint, or in one that a witness signed, too. */
export interface BundleWish extends Wait {
  log: 'none' | 'logged' | 'witnessed'
  /** Whether the registration of each passkey is to be in it, as far as the log has it. */
  enrolment: boolean
}

/** Milliseconds between two looks at the log, which gets a checkpoint a second at most. */
const LOOK_MS = 200

/**
 * Returns everything that proves the decision on a request of the caller, as soon as the log has it as far as is wished.
 * @returns undefined when the caller is gone
 * @throws Refusal `not_found`, `no_receipt` before a decision or without one, `receipt_erased`, `before_log`, `log_rolled_back`,
 * `invalid or missing API key` when the key was revoked meanwhile (T54), and `not_logged` when the time is over
 */
export async function bundleReceipt(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  wish: BundleWish,
): Promise<Bundle | undefined> {
  const patience = begin(deps, wish)
  const request = await readOwnRequest(deps, caller, id)
  let bundle = bundleOf(request)
  if (wish.log === 'none') return bundle
  for (let seen: string | undefined; ; ) {
    const known = seen
    seen = await stateOfLog(deps)
    const found = seen === known ? undefined : await standingOf(deps, request)
    if (found?.log === 'stopped') throw refusal('log_rolled_back')
    if (found?.log === 'before_log') throw refusal('before_log')
    if (found?.log === 'witnessed' || found?.log === wish.log) {
      // Its texts may have been erased meanwhile.
      if (known !== undefined) bundle = bundleOf(await readOwnRequest(deps, caller, id))
      const placed = { ...bundle, log: found.place }
      return wish.enrolment ? withEnrolments(deps, request, placed) : placed
    }
    if (wish.signal.aborted) return undefined
    if (!hasPatience(deps, patience)) throw refusal('not_logged', { status: wish.log })
    await pause(LOOK_MS)
    const revoked = await deps.apiKeys.revokedAmong([caller.key.id])
    if (revoked.length > 0) throw refusal('invalid or missing API key')
  }
}

/** Tells one state of the log from the next: a decision is looked for again only when it has moved, since thousands may wait. */
async function stateOfLog(deps: FlowDeps): Promise<string> {
  const head = await deps.logs.current()
  if (head === undefined) return ''
  const { number, size, cosigned_size, cosigned_note } = head
  return [number, size, cosigned_size, cosigned_note?.length, isRolledBack(deps, head)].join()
}

/**
 * Returns what a person who may read the request is told of its place in the log, with the bundle as it is now.
 * @throws Refusal `not_found`, `no_receipt` before a decision or without one
 */
export async function proofFor(
  deps: FlowDeps,
  person: User,
  id: string,
  address: string,
): Promise<DecisionProof> {
  const { request } = await reviewRequest(deps, person, id, address)
  if (request.decision === undefined) throw refusal('no_receipt', { status: request.status })
  const standing = await standingOf(deps, request)
  const cosigned = 'witnesses' in standing ? standing.witnesses.map(({ name }) => name) : []
  const asked = deps.witnesses.map(({ key }) => key.name)
  const awaited = asked.filter((name) => !cosigned.includes(name))
  if (request.erased_at !== undefined) return { standing, awaited }
  const bundle = bundleOf(request)
  if (!('place' in standing)) return { standing, awaited, bundle }
  return {
    standing,
    awaited,
    bundle: await withEnrolments(deps, request, { ...bundle, log: standing.place }),
  }
}

/** Reads how far the log has the decision. */
async function standingOf(deps: FlowDeps, request: ApprovalRequest): Promise<LogStanding> {
  const { record, subject } = await recordOf(deps, request)
  const proven = record && (await proveRecord(deps, record.seq))
  if (record === undefined || proven === undefined) {
    const head = await deps.logs.current()
    return { log: head !== undefined && isRolledBack(deps, head) ? 'stopped' : 'waiting' }
  }
  if (subjectOf(record) !== subject) return { log: 'before_log' }
  const { text, signatures } = parseNote(proven.checkpoint)
  const { origin, size } = parseCheckpointText(text)
  const witnesses = signatures.flatMap(({ name, bytes }) => {
    const time = name === origin ? undefined : cosignedAt(bytes)
    return time === undefined ? [] : { name, at: new Date(time * 1000) }
  })
  return {
    log: witnesses.length > 0 ? 'witnessed' : 'logged',
    origin,
    index: proven.index,
    size,
    witnesses,
    place: placeIn(record, proven),
  }
}

/** Finds the record of the decision, and returns the hash of what it is to be about. */
async function recordOf({ trail }: FlowDeps, { id, status, votes }: ApprovalRequest) {
  const type = status === 'approved' ? 'approval.approved' : 'approval.rejected'
  const subject = sha256Hex(decisionSubject(provable(votes)))
  const [known] = await trail.list({ subject: id, type, limit: 1 })
  return { subject, record: known ?? (await trail.findErased(subject)) }
}

function placeIn({ content_sha256 }: AuditRecord, proof: LogProof): LogPlace {
  return { record: Buffer.from(content_sha256, 'hex').toString('base64url'), proof: formatProof(proof) }
}

/** Adds the registration of each passkey that the log had before the decision. One checkpoint proves all, so the proof of the decision may be a newer one. */
async function withEnrolments(deps: FlowDeps, request: ApprovalRequest, bundle: Bundle): Promise<Bundle> {
  const { record: decision } = await recordOf(deps, request)
  if (decision === undefined) return bundle
  const signed = request.votes.filter(({ receipt }) => receipt !== undefined)
  const found = await Promise.all(signed.map((vote) => enrolmentOf(deps, vote)))
  const enrolled = found.flat().filter(({ record }) => record.seq < decision.seq)
  const earlier = enrolled.map(({ record }) => record.seq)
  const proven = await proveRecord(deps, decision.seq, earlier)
  if (proven === undefined) return bundle
  const enrolments = new Map(
    enrolled.flatMap(({ did, subject, record }, at) => {
      const proof = proven.earlier[at]
      return proof === undefined ? [] : [[did, { ...placeIn(record, proof), subject }]]
    }),
  )
  const withOwn = <Voted extends BundledVote>(vote: Voted) => ({
    ...vote,
    ...given({ enrolment: enrolments.get(vote.receipt.did) }),
  })
  const { votes, ...closing } = bundle
  return { ...withOwn(closing), ...given({ votes: votes?.map(withOwn) }), log: placeIn(decision, proven) }
}

/** A passkey that voted, and the record of its registration. */
interface Enrolled {
  did: string
  subject: EnrolledPasskey
  record: AuditRecord
}

/** More passkeys than a person registers in all. */
const MOST_ENROLMENTS = 1000

/** Finds the record of the registration of the passkey that voted; of none from before the log, whose record names no key. */
async function enrolmentOf(
  { trail }: FlowDeps,
  { user_id, approver, delegate, decision_id: did, evidence }: Vote,
): Promise<Enrolled[]> {
  // An authenticator could have spelt its key in a way that verifiers do not read.
  if (evidence.type !== 'passkey' || signedPasskey(evidence)?.key !== evidence.public_key) return []
  const subject = enrolledPasskey(delegate ?? approver, evidence)
  const wanted = sha256Hex(canonicalize(subject))
  const type = 'factor.passkey_added'
  const added = await trail.list({ subject: user_id, type, limit: MOST_ENROLMENTS })
  const record = added.find((one) => subjectOf(one) === wanted) ?? (await trail.findErased(wanted))
  return record === undefined ? [] : [{ did, subject, record }]
}

/** @throws Refusal `no_receipt`, `receipt_erased` */
function bundleOf({ decision, votes, context_json, erased_at, status }: ApprovalRequest): Bundle {
  if (decision === undefined) throw refusal('no_receipt', { status })
  if (erased_at !== undefined) throw refusal('receipt_erased')
  const signed = votes.filter(({ receipt }) => receipt !== undefined)
  const others = signed.filter(({ decision_id }) => decision_id !== decision.id).map(bundledVote)
  const [closing] = signed.filter(({ decision_id }) => decision_id === decision.id).map(bundledVote)
  if (closing === undefined) throw new Error(`${decision.id} is no signed vote`)
  return {
    format: BUNDLE_FORMAT,
    ...closing,
    context: context_json,
    ...given({ votes: others.length === 0 ? undefined : others }),
  }
}

function bundledVote({ receipt, intent_json: intent, evidence, decision_id }: Vote): BundledVote {
  if (receipt === undefined) throw new Error(`${decision_id} is not signed`)
  const { canonical_payload, signature, public_key_id } = receipt
  const { ts }: ReceiptPayload = JSON.parse(canonical_payload)
  const signed = { receipt: { did: decision_id, ts, signature, public_key_id }, intent }
  if (evidence.type === 'totp') return { ...signed, totp: { checked_by: 'service' } }
  const passkey = signedPasskey(evidence)
  if (passkey === undefined) return signed
  const challenge = Buffer.from(sha256Hex(passkey.batch ?? intent), 'hex')
  return { ...signed, passkey: abridged(passkey, { challenge, origin: JSON.parse(intent).aud }) }
}
