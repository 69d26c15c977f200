import type { Examination } from '../../src/signing/examine-receipt.ts'
import { el } from '../../webauthn-page/dom/element.ts'
import { moment } from '../../webauthn-page/dom/moment.ts'
import { checkList } from './check-list.ts'

/** One line and the checks of every signed vote. */
export function votesView(votes: readonly Examination[]): HTMLElement | undefined {
  if (votes.length === 0) return undefined
  return el(
    'section',
    { class: 'card', 'aria-labelledby': 'votes-title' },
    el('h3', { id: 'votes-title' }, votes.length === 1 ? 'One vote' : `${votes.length} votes`),
    el('p', { class: 'hint' }, 'Each person’s vote is signed by itself and was checked by itself.'),
    el('ol', { class: 'votes' }, ...votes.map(voteView)),
  )
}

function voteView(vote: Examination, index: number): HTMLElement {
  const { result } = vote
  const look = result.valid ? result.payload.decision : 'rejected'
  return el(
    'li',
    { class: `vote ${look}` },
    ...headline(vote),
    el('details', {}, el('summary', {}, `Checks of vote ${index + 1}`), checkList(vote)),
  )
}

function headline({ result }: Examination): (HTMLElement | string)[] {
  if (!result.valid) return [el('strong', {}, 'Not valid'), ': ', result.message]
  const { payload } = result
  const iso = new Date(payload.ts * 1000).toISOString()
  return [
    el('strong', {}, `Valid: ${payload.decision}`),
    ' by ',
    el('span', { class: 'mono' }, payload.approver),
    ', ',
    moment(iso),
  ]
}
