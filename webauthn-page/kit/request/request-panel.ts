import { methodWord } from '../../../src/domain/request.ts'
import type { Decision, Review, Vote } from '../api/contract.ts'
import { copyable } from '../dom/button.ts'
import { type Child, div, el, exactText, facts, folded, hint, link, mono, p, panel } from '../dom/element.ts'
import { moment } from '../dom/moment.ts'
import { notice } from '../dom/notice.ts'
import { qrImage } from '../dom/qr-image.ts'
import { whileVisible } from '../dom/while-visible.ts'
import { addPasskey, NONE_ALLOWED } from '../passkey/no-factor.ts'
import { callerText, callerValue } from '../show/caller-text.ts'
import { chatName, wordsOf } from '../show/chat.ts'
import { byName, type WritePerson } from './request-words.ts'

/**
 * The right-hand part of a request's page: its outcome, or the form that `decide` makes for a person who may decide it now.
 * The service sets `may_decide` only for a person who has something to confirm with.
 */
export function requestPanel(
  review: Review,
  live: readonly HTMLElement[],
  decide: (review: Review) => HTMLElement,
  person: WritePerson = byName(review.names),
): HTMLElement {
  return panel('panel', titleOf(review), ...live, ...body(review, decide, person))
}

function titleOf(review: Review): string {
  if (review.decision !== undefined) return 'Receipt'
  return review.status === 'pending' && review.may_decide ? 'Your decision' : 'State'
}

function body(review: Review, decide: (review: Review) => HTMLElement, person: WritePerson): HTMLElement[] {
  const held = review.held ? [heldNotice()] : []
  if (review.decision !== undefined) return [...held, receiptView(review, review.decision, person)]
  if (review.status !== 'pending') return [p(finalSentence(review))]
  return [review.may_decide ? decide(review) : whyNot(review)]
}

function finalSentence(review: Review): string {
  if (review.status !== 'expired') return 'The decision is recorded.'
  return review.cancelled === true
    ? 'The request was withdrawn. Nothing was signed.'
    : 'The request expired without a decision. Nothing was signed; the caller must make a new request.'
}

/** Explains why the person may not decide, and what they can do. */
function whyNot({ why_not, held, sandbox }: Review): HTMLElement {
  const lacking = LACKING[why_not ?? '']
  if (lacking !== undefined) return addPasskey(lacking)
  if (why_not === 'already_voted')
    return p('Your vote is recorded. This page shows the other votes when they come.')
  if (held) return heldNotice()
  if (why_not === 'not_confirmed')
    return p(
      'Only people confirmed by the operator may decide this request, and you are not. The operator runs “countersign user confirm”.',
    )
  return p(
    sandbox === true
      ? 'A sandbox request is decided automatically.'
      : 'You can follow this request here, but you cannot decide it.',
  )
}

/** Says why a request cannot be decided, or its approval be used, after a restore. */
export function heldNotice(): HTMLElement {
  return notice(
    'warning',
    'this request is held. The service was restored from a backup, and this request may have been decided, or its approval used, after the backup was made. Neither is possible until the operator runs “countersign restore confirm”.',
  )
}

const LACKING: Partial<Record<string, string>> = {
  passkey_required: 'This request must be decided with a passkey.',
  authenticator_refused:
    'This request accepts only passkeys on authenticators of a verified model, and you have none.',
  method_not_enrolled: NONE_ALLOWED,
}

/** Shows the signed result: who, how, when, and the receipt that anyone can check. */
function receiptView(review: Review, decision: Decision, person: WritePerson): HTMLElement {
  const mine = decision.approver === review.approver
  const sandbox = decision.method === 'sandbox'
  return div(
    'receipt',
    facts(
      ['Decision', el('strong', {}, decision.decision === 'approved' ? 'Approved' : 'Rejected')],
      ['Method', methodWord(decision.method)],
      ['Decided', moment(decision.decided_at)],
      sandbox
        ? ['Decided by', 'The sandbox, no person']
        : [
            closerOf(review),
            person(decision.approver),
            mine && el('span', { class: 'not-on-paper' }, ' (you)'),
          ],
      sandbox ? ['In the receipt', mono(decision.approver)] : undefined,
      decision.delegate === undefined ? undefined : ['Decided by the delegate', person(decision.delegate)],
      ['Receipt id', copyable(el('code', { class: 'mono' }, decision.id), decision.id, 'the receipt id')],
      // If several people decide, the comment is shown with the votes.
      decision.comment === null || review.quorum.needed > 1
        ? undefined
        : ['Comment (not signed)', callerValue(decision.comment)],
    ),
    signedReceipt(decision),
    proofOf(review.id),
    review.verify_qr !== undefined && printedCode(review.id, review.verify_qr),
    p(
      link(`/verify#${review.id}`, 'Check this receipt'),
      ' in a browser: anyone can, without signing in. For programs: ',
      link(`/api/v1/approvals/${review.id}/verify`, 'the check as JSON'),
      '.',
    ),
  )
}

/** Loaded later: the outcome comes first. */
function proofOf(id: string): HTMLElement {
  const place = div('log-state')
  const show = async (): Promise<void> => {
    const { decisionProof } = await import('./decision-proof.ts')
    const { element, look } = decisionProof(id)
    place.replaceWith(element)
    whileVisible(element, LOOK_MS, look)()
  }
  show().catch(() => place.remove())
  return place
}

const LOOK_MS = 2_000

/** With a quorum, the receipt is for the approval that reached it: that person did not decide alone. */
function closerOf({ status, quorum }: Review): string {
  return status === 'approved' && quorum.needed > 1 ? 'Last approval by' : 'Approver'
}

/** On paper only: what opens the check of this receipt on a phone. */
function printedCode(id: string, svg: string): HTMLElement {
  const address = `${location.origin}/verify#${id}`
  return div(
    'on-paper',
    qrImage(svg, 'QR code with the address beside it'),
    p('Check this receipt at ', mono(address)),
  )
}

function signedReceipt(decision: Decision): HTMLElement {
  const payload = decodePayload(decision.signed_payload)
  return folded(
    'Signed receipt',
    facts(
      ['Signed text', exactText('Signed text', callerText(payload))],
      ['Signature', el('code', { class: 'mono' }, decision.signature)],
      ['Signing key', el('code', { class: 'mono' }, decision.public_key_id)],
    ),
  )
}

/** Decodes Base64url to the UTF-8 text that was signed. */
function decodePayload(encoded: string): string {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}

/** Progress in words, then every vote so far. Hidden when there is no vote to show or the receipt already says it all. */
export function quorumView(review: Review, person: WritePerson = byName(review.names)): HTMLElement {
  const { needed } = review.quorum
  // A dry-run asks no one.
  const nothing = (review.status === 'expired' || review.sandbox === true) && review.votes.length === 0
  if (nothing || (review.decision !== undefined && needed === 1)) return el('div', { hidden: true })
  return div(
    'quorum',
    review.status !== 'expired' && p(progress(review)),
    review.status === 'pending' && (needed > 1 || !review.may_decide) && stillToDecide(review, person),
    review.outcome_goes_to !== undefined && goesTo(review.outcome_goes_to),
    review.not_reachable.length > 0 && notReachable(review, person),
    review.votes.length > 0 &&
      el(
        'ul',
        { class: 'votes', 'aria-label': 'Votes' },
        ...review.votes.map((vote) => voteRow(vote, review, person)),
      ),
  )
}

function progress({ status, quorum: { needed, approved } }: Review): string {
  if (status !== 'pending') return `${approved} of ${needed} needed approvals were given.`
  if (needed === 1) return 'One approval is needed. One rejection rejects.'
  return `${approved} of ${needed} needed approvals so far. One rejection rejects.`
}

/** Names the approvers who have not voted, at most the first `FEW`. */
function stillToDecide({ policy, votes, approver }: Review, person: WritePerson): HTMLElement | false {
  const open = policy.approvers.filter((one) => !votes.some((vote) => vote.approver === one))
  const rest = open.length - FEW
  const named = people(open.slice(0, FEW), (one) => (one === approver ? 'you' : person(one)))
  return open.length > 0 && hint('Still to decide: ', ...named, rest > 0 && ` and ${rest} more`, '.')
}

const FEW = 5

/** Names who else is told the outcome. */
function goesTo({ kind, name, platform }: NonNullable<Review['outcome_goes_to']>): HTMLElement {
  const place = platform === undefined ? ' in chat' : ` in ${wordsOf(platform).name}`
  return hint('The outcome also goes to ', kind === 'channel' && 'the channel ', chatName(name), place, '.')
}

/** Names the approvers whom no message reached: a person who waits for the others should know. */
function notReachable({ not_reachable: lost, approver }: Review, person: WritePerson): HTMLElement {
  const who = people(lost, (one) => (one === approver ? 'you' : el('span', {}, 'approver ', person(one))))
  return hint('Not reachable in chat: ', ...who, '.')
}

function people(references: readonly string[], write: (reference: string) => Child): Child[] {
  return references.flatMap((one, index) => [index > 0 && ', ', write(one)])
}

function voteRow(vote: Vote, { status }: Review, person: WritePerson): HTMLElement {
  const { delegate } = vote
  return el(
    'li',
    { class: `vote ${vote.decision}` },
    p(
      el('strong', {}, vote.decision === 'approved' ? 'Approved' : 'Rejected'),
      ' · ',
      ...voter(vote, person),
    ),
    delegate !== undefined && !vote.mine && hint('by the delegate ', person(delegate)),
    hint(methodWord(vote.method), ' · ', moment(vote.at)),
    status === 'rejected' && vote.decision === 'approved' && hint('Not signed: the request was rejected.'),
    vote.comment !== null && hint('Comment (not signed):'),
    vote.comment !== null && el('blockquote', {}, callerValue(vote.comment)),
  )
}

function voter({ method, mine, approver, delegate }: Vote, person: WritePerson): Child[] {
  if (method === 'sandbox') return ['the sandbox']
  if (!mine) return ['Approver ', person(approver)]
  return delegate === undefined ? ['You'] : ['You for approver ', person(approver)]
}
