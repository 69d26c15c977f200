import type { Review, Vote } from '../api/contract.ts'
import { el } from '../dom/element.ts'
import { moment } from '../dom/moment.ts'
import { callerValue } from '../show/caller-text.ts'
import { byReference, type WritePerson } from './person.ts'
import { methodWord } from './words.ts'

/** Progress in words, then every vote so far. Empty where the receipt below already says it all. */
export function quorumView(review: Review, person: WritePerson = byReference): HTMLElement {
  const { needed } = review.quorum
  const nothing = review.status === 'expired' && review.votes.length === 0
  if (nothing || (review.decision !== undefined && needed === 1)) return el('div', { hidden: true })
  return el(
    'div',
    { class: 'quorum' },
    review.status !== 'expired' && el('p', {}, progress(review)),
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

/** Whoever waits for the others should know who has not been told. */
function notReachable({ not_reachable: lost, approver }: Review, person: WritePerson): HTMLElement {
  const who = lost.map((one, index) => [
    index > 0 && ', ',
    one === approver ? 'you' : el('span', {}, 'approver ', person(one)),
  ])
  return el('p', { class: 'hint' }, 'Not reachable in chat: ', ...who.flat(), '.')
}

function voteRow(vote: Vote, { status }: Review, person: WritePerson): HTMLElement {
  const approver = [vote.mine ? 'approver ' : 'Approver ', person(vote.approver)]
  const { delegate } = vote
  const stoodIn = delegate !== undefined
  const who = el('span', {}, ...(vote.mine ? ['You', ...(stoodIn ? [' for ', ...approver] : [])] : approver))
  return el(
    'li',
    { class: `vote ${vote.decision}` },
    el('p', {}, el('strong', {}, vote.decision === 'approved' ? 'Approved' : 'Rejected'), ' · ', who),
    stoodIn && !vote.mine && el('p', { class: 'hint' }, 'by the delegate ', person(delegate)),
    el('p', { class: 'hint' }, methodWord(vote.method), ' · ', moment(vote.at)),
    status === 'rejected' &&
      vote.decision === 'approved' &&
      el('p', { class: 'hint' }, 'Not signed: the request was rejected.'),
    vote.comment !== null && el('blockquote', {}, callerValue(vote.comment)),
  )
}
