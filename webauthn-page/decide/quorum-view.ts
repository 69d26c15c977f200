import type { Review, Vote } from '../api/contract.ts'
import { el } from '../dom/element.ts'
import { moment } from '../dom/moment.ts'
import { callerValue } from '../show/caller-text.ts'
import { methodWord } from './words.ts'

/** Progress in words, then every vote so far. */
export function quorumView(review: Review): HTMLElement {
  const { needed, approved } = review.quorum
  const progress =
    needed === 1
      ? 'One approval is needed. One rejection rejects.'
      : `${approved} of ${needed} approvals. One rejection rejects.`
  return el(
    'div',
    { class: 'quorum' },
    el('p', {}, progress),
    review.votes.length > 0 &&
      el('ul', { class: 'votes', 'aria-label': 'Votes' }, ...review.votes.map(voteRow)),
  )
}

function voteRow(vote: Vote): HTMLElement {
  const who = vote.mine ? 'You' : el('span', {}, 'Approver ', el('span', { class: 'mono' }, vote.approver))
  return el(
    'li',
    { class: `vote ${vote.decision}` },
    el('p', {}, el('strong', {}, vote.decision === 'approved' ? 'Approved' : 'Rejected'), ' · ', who),
    el('p', { class: 'hint' }, methodWord(vote.method), ' · ', moment(vote.at)),
    vote.comment !== null && el('blockquote', {}, callerValue(vote.comment)),
  )
}
