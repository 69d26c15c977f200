import type { Outcome } from '../../src/domain/receipt.ts'
import type { Review } from '../kit/api/contract.ts'
import { type RequestFailure, refusedWith } from '../kit/api/request.ts'
import type { ButtonLook } from '../kit/dom/button.ts'
import type { Draft } from '../kit/dom/draft.ts'
import { div, el, folded } from '../kit/dom/element.ts'
import { unopenedNote } from '../kit/request/attachments.ts'
import { type Ballot, commentField, createBallot, postWord } from '../kit/request/ballot.ts'
import { MismatchError, shownIntent } from '../kit/request/checked-review.ts'
import type { Connection } from '../kit/request/connection.ts'
import { decidingFor, keepClear } from '../kit/request/decision-bar.ts'
import { type Lost, refusedIn } from '../kit/request/lost-answer.ts'
import { ACTION_ID } from '../kit/request/request-scene.ts'
import { audience, WORD_OF } from '../kit/request/request-words.ts'
import type { Unseen } from '../kit/request/unseen.ts'
import { callerName } from '../kit/show/caller-text.ts'

export interface DecisionFormOptions {
  /** The outcome that the link asked for: it only decides which button stands out. */
  wanted: Outcome | undefined
  draft: Draft
  timeLeft: HTMLElement | undefined
  unseen: Unseen
  connection: Connection
  /** Called with true when a decision starts, and with false when it ends. */
  busy(state: boolean): void
  lost: Lost
  recorded(decision: Outcome): Promise<void>
  /** Called when the request or the session changed meanwhile; `recorded` says what is known of the person's decision. */
  stale(failure: RequestFailure, recorded: string): Promise<void>
  mismatch(error: MismatchError): void
}

/**
 * Comment, method of confirming, and the bar with time and buttons, which stays at a phone's lower edge. Messages that come
 * and go in the bar are placed where they do not move the buttons: above them on a phone, below them elsewhere.
 */
export function decisionForm(review: Review, options: DecisionFormOptions): HTMLElement {
  const comment = commentField(options.draft, 'The caller gets it; it is not part of the signed receipt.')
  const { busy, lost } = options
  const ballot = createBallot({ methods: review.methods, busy, fields: { comment }, lost })
  const took = async (error: unknown): Promise<boolean> => {
    const { failure, recorded } = refusedIn(error)
    if (error instanceof MismatchError) options.mismatch(error)
    else if (refusedWith(STALE, failure)) await options.stale(failure, recorded)
    else return false
    return true
  }
  const decide = async (decision: Outcome): Promise<void> => {
    options.unseen.look()
    if (decision === 'approved' && isUnread(review, options.unseen))
      return options.unseen.askToRead(ballot.slot, 'this request has')
    await ballot.cast(async (totp) => {
      const path = `/approvals/${review.id}/decision`
      const shown = await shownIntent(review, decision, audience())
      const { text: comment, reason } = options.draft
      const why = decision === 'rejected' ? reason : undefined
      const word = { path, said: { decision }, comment, reason: why, approver: shown.approver, shown }
      await postWord(word, totp, ballot.slot)
      // Shown before the receipt has loaded: the decision is already recorded.
      ballot.slot.show('success', `your ${WORD_OF[decision]} is recorded.`)
      await options.recorded(decision)
    }, took)
  }
  const other = review.on_behalf_of ?? undefined
  const bar = div(
    'decision-bar',
    ballot.slot.element,
    options.connection.element,
    ballot.codeOnly && ballot.choice,
    div(
      'bar-line',
      div('bar-text', options.timeLeft, unopenedNote([review]), other && decidingFor(callerName(other.name))),
      options.unseen.element,
    ),
    ballot.elsewhere ?? decisionButtons(ballot, options.wanted, decide),
  )
  const remark = options.draft.text !== '' ? comment.row : folded('Add a comment', comment.row)
  keepClear(bar, review.action, remark, ballot.choice)
  options.connection.follow(ballot.hold)
  options.unseen.changed = () => {
    bar.toggleAttribute('data-more', options.unseen.left() > 0)
    bar.toggleAttribute('data-unread', isUnread(review, options.unseen))
  }
  return div('decision-form', remark, !ballot.codeOnly && ballot.choice, ballot.hint, bar)
}

/** Checks for unseen parts: all of a high-impact request must have been on the screen before approval, not before rejection. */
function isUnread({ high_impact }: Review, unseen: Unseen): boolean {
  return high_impact && unseen.left() > 0
}

function decisionButtons(
  ballot: Ballot,
  wanted: Outcome | undefined,
  decide: (decision: Outcome) => Promise<void>,
): HTMLElement {
  const one = (label: string, decision: Outcome, look: ButtonLook): HTMLElement =>
    ballot.button(label, look, () => decide(decision), {
      'aria-describedby': ACTION_ID,
      ...(wanted === decision ? { 'data-wanted': true } : {}),
    })
  return el(
    'div',
    { class: wanted === undefined ? 'decision-buttons' : `decision-buttons wanted-${wanted}` },
    one('Reject', 'rejected', 'reject'),
    one('Approve', 'approved', 'approve'),
  )
}

/** Refusals after which sending the same form would only be refused again. */
const STALE = ['not_pending', 'already_voted', 'not_signed_in', 'not_found']
