import type { Outcome } from '../../src/domain/receipt.ts'
import { decisionOptionsShape, type Review, voteAnswerShape } from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { type ButtonLook, button } from '../kit/dom/button.ts'
import { announce, el } from '../kit/dom/element.ts'
import { readCode } from '../kit/dom/form.ts'
import { noticeSlot } from '../kit/dom/notice.ts'
import { promptNote, usePasskey } from '../kit/passkey/ceremony.ts'
import { commentField, methodChoice } from '../kit/request/ballot-fields.ts'
import { checkIntent, MismatchError, shownIntent } from '../kit/request/checked-review.ts'
import { ACTION_ID } from '../kit/request/request-scene.ts'
import { audience } from '../kit/request/request-words.ts'
import { callerName } from '../kit/show/caller-text.ts'

export interface DecisionFormOptions {
  /** What the link asked for: it only decides which button stands out. */
  wanted: Outcome | undefined
  draft: { comment: string }
  /** True while a decision is under way. */
  busy(state: boolean): void
  recorded(decision: Outcome): Promise<void>
  /** The request's state or the session changed under the person's hands. */
  stale(failure: RequestFailure): Promise<void>
  mismatch(error: MismatchError): void
}

/** Comment, way of confirming, and the two decisions side by side. */
export function decisionForm(review: Review, options: DecisionFormOptions): HTMLElement {
  const choice = methodChoice(review.methods)
  const slot = noticeSlot()
  const comment = commentField(options.draft, 'The caller reads it, and it is kept with the receipt.')
  let running = false
  const decide = async (decision: Outcome): Promise<void> => {
    const totp = choice.method() === 'totp' ? readCode(choice.code) : undefined
    if (running) return announce('Still waiting for the first press. Nothing more was started.')
    if (choice.method() === 'totp' && totp === undefined) return
    running = true
    options.busy(true)
    slot.clear()
    announce(totp === undefined ? 'Waiting for your passkey' : 'Checking the code')
    try {
      const ballot = { decision, comment: options.draft.comment, ...(totp === undefined ? {} : { totp }) }
      await submitDecision(review, ballot, (asking) => {
        if (asking) slot.show('info', ...promptNote())
        else slot.clear()
      })
      await options.recorded(decision)
    } catch (error) {
      choice.code.input.value = ''
      if (error instanceof MismatchError) options.mismatch(error)
      else if (isStale(error)) await options.stale(error)
      else slot.fail(error, { totp: choice.code, comment })
    } finally {
      running = false
      options.busy(false)
    }
  }
  return el(
    'div',
    { class: 'decision-form' },
    comment.row,
    choice.element,
    slot.element,
    decidingFor(review),
    decisionButtons(options.wanted, decide),
    choice.hint,
  )
}

/** Beside the buttons: whose vote it is, is part of what they decide. */
function decidingFor({ on_behalf_of: other }: Review): HTMLElement | undefined {
  if (other === undefined || other === null) return undefined
  return el('p', { class: 'deciding-for' }, 'You decide for ', callerName(other.name), '.')
}

function decisionButtons(
  wanted: Outcome | undefined,
  decide: (decision: Outcome) => Promise<void>,
): HTMLElement {
  const one = (label: string, decision: Outcome, look: ButtonLook): HTMLElement =>
    button(label, look, () => decide(decision), {
      'aria-describedby': ACTION_ID,
      ...(wanted === decision ? { 'data-wanted': true } : {}),
    })
  return el(
    'div',
    { class: wanted === undefined ? 'decision-buttons' : `decision-buttons wanted-${wanted}` },
    one('Approve', 'approved', 'approve'),
    one('Reject', 'rejected', 'reject'),
  )
}

/** Refusals after which the same form would only be refused again. */
function isStale(error: unknown): error is RequestFailure {
  return (
    error instanceof RequestFailure &&
    ['not_pending', 'already_voted', 'not_signed_in', 'not_found'].includes(error.code)
  )
}

interface Ballot {
  decision: Outcome
  comment: string
  /** A code instead of the passkey. */
  totp?: string
}

/**
 * Gets a fresh proof of presence for exactly what is shown, then posts the decision.
 * `asking` hears when the passkey prompt opens and when it was answered.
 * @throws MismatchError before the passkey is asked, CeremonyError, RequestFailure
 */
async function submitDecision(
  review: Review,
  { decision, comment, totp }: Ballot,
  asking: (open: boolean) => void,
): Promise<void> {
  const path = `/approvals/${review.id}/decision`
  const words = comment.trim() === '' ? {} : { comment: comment.trim() }
  if (totp !== undefined) {
    await post(path, { decision, ...words, totp }, voteAnswerShape)
    return
  }
  const { intent, options } = await post(`${path}/options`, { decision }, decisionOptionsShape)
  await checkIntent(intent, options, shownIntent(review, decision, audience()))
  asking(true)
  const passkey = await usePasskey(options)
  asking(false)
  await post(path, { decision, ...words, passkey }, voteAnswerShape)
}
