import type { Examination } from '../../src/signing/examine-receipt.ts'
import type { UnsignedVote } from '../../src/signing/votes.ts'
import { el, hint } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { whoActed } from './check-receipts.ts'
import { type CheckLine, checkLines } from './verdict.ts'

/** One line and the checks of every signed vote; one line of every approval that a rejection left unsigned. */
export function votesView(
  votes: readonly Examination[],
  unsigned: readonly UnsignedVote[],
): HTMLElement | undefined {
  const count = votes.length + unsigned.length
  if (count === 0) return undefined
  return el(
    'section',
    { class: 'card', 'aria-labelledby': 'votes-title' },
    el('h3', { id: 'votes-title' }, count === 1 ? 'One vote' : `${count} votes`),
    hint(unsigned.length === 0 ? ALL_SIGNED : ONE_OUTCOME),
    el(
      'ol',
      { class: 'votes' },
      ...unsigned.map(unsignedView),
      ...votes.map((vote, index) => voteView(vote, unsigned.length + index + 1)),
    ),
  )
}

const ALL_SIGNED = 'Each person’s vote is signed by itself and was checked by itself.'
const ONE_OUTCOME =
  'The rejection is signed and was checked. Approvals of a rejected request are never signed, so that none can pass for a permission; nothing proves them.'

/** In no colour of an approval: it is none. */
function unsignedView({ approver }: UnsignedVote): HTMLElement {
  return el(
    'li',
    { class: 'vote unsigned' },
    'An approval',
    ...(approver === undefined ? [] : [' by ', el('span', { class: 'mono' }, approver)]),
    ', not signed: the request was rejected',
  )
}

function voteView(vote: Examination, place: number): HTMLElement {
  const { result } = vote
  const look = result.valid ? result.payload.decision : 'rejected'
  return el(
    'li',
    { class: `vote ${look}` },
    ...headline(vote),
    el('details', {}, el('summary', {}, `Checks of vote ${place}`), checkList(vote)),
  )
}

function headline(vote: Examination): (HTMLElement | string)[] {
  const { result } = vote
  if (!result.valid) return [el('strong', {}, 'Not valid'), ': ', result.message]
  const { payload } = result
  const iso = new Date(payload.ts * 1000).toISOString()
  return [
    el('strong', {}, `Valid: ${payload.decision}`),
    ' by ',
    el('span', { class: 'mono' }, whoActed(vote, payload)),
    ', ',
    moment(iso),
  ]
}

const STATES: Record<CheckLine['state'], string> = {
  passed: 'Passed',
  failed: 'Failed',
  absent: 'Nothing to check',
  unmade: 'Not checked',
  'dry-run': 'Dry-run',
}

/** Every check with its result, in words as well as in colour. */
export function checkList(examination: Examination): HTMLElement {
  return el(
    'ol',
    { class: 'checks' },
    ...checkLines(examination).map(({ state, name, sentence }) =>
      el(
        'li',
        { class: `check-line ${state}` },
        el('span', { class: 'check-state' }, STATES[state]),
        ' ',
        el('div', {}, el('strong', {}, name), ' ', el('span', { class: 'check-words' }, sentence)),
      ),
    ),
  )
}
