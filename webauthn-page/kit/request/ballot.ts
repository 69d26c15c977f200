import type { ConsentIntent, DecisionIntent } from '../../../src/domain/intent.ts'
import type { Outcome } from '../../../src/domain/receipt.ts'
import { COMMENT_LENGTH, commentFault } from '../../../src/domain/text-check.ts'
import { decisionOptionsShape, type Factor } from '../api/contract.ts'
import { post, refusedWith } from '../api/request.ts'
import { anyObject } from '../api/shape.ts'
import type { ButtonLook } from '../dom/button.ts'
import { type Attributes, announce, div, el } from '../dom/element.ts'
import { codeField, type Field, field, readCode, tick, wrong } from '../dom/form.ts'
import { type NoticeSlot, noticeSlot } from '../dom/notice.ts'
import { openElsewhere, passkeysWork, stopPrompt, usePasskey } from '../passkey/ceremony.ts'
import { checkIntent, type Shown } from './checked-review.ts'
import { findOut, type Lost, sendWord, UnknownOutcome } from './lost-answer.ts'
import { WORD_OF } from './request-words.ts'

/** The part that every decision form shares: the method of confirming, the buttons, and the messages about the outcome. */
export type Ballot = ReturnType<typeof createBallot>

interface BallotOptions {
  /** The methods of confirming that this person may use for this request. */
  methods: readonly Factor[]
  /** Called with true when a decision starts, and with false when it ends. */
  busy(state: boolean): void
  /** Fields at which the service's refusals are shown. */
  fields?: Record<string, Field>
  /** Finds out the outcome of a decision whose answer was lost. */
  lost: Lost
}

/** Creates a ballot, which lets only one decision run at a time, whichever button was pressed. */
export function createBallot({ methods, busy, fields = {}, lost }: BallotOptions) {
  const { element, code, codeOnly, none, hint, method } = methodChoice(methods)
  const slot = noticeSlot()
  code.input.addEventListener('keydown', (event) => {
    if (event instanceof KeyboardEvent && event.key === 'Enter')
      slot.show('info', 'a code alone does not say what you decide. Press Approve or Reject.')
  })
  const buttons: HTMLElement[] = []
  let running = false
  let held: string | undefined
  const rest = (): void => {
    for (const one of buttons) {
      if (running || held !== undefined) one.setAttribute('aria-disabled', 'true')
      else one.removeAttribute('aria-disabled')
    }
  }
  const run = (state: boolean): void => {
    running = state
    busy(state)
    rest()
  }
  return {
    choice: element,
    /** Whether a code is the only method, so that there is nothing to choose. */
    codeOnly,
    /** Says what to do when no allowed method works in this browser, where a button could only fail; else undefined. */
    elsewhere: none ? openElsewhere() : undefined,
    slot,
    /** Explains what pressing a button does with the chosen method. */
    hint,
    /** Makes a button of the form. All of them are disabled while a decision runs. */
    button(label: string, look: ButtonLook, press: () => Promise<void>, attributes: Attributes = {}) {
      const one = el('button', { type: 'button', class: `button ${look}`, ...attributes }, label)
      one.addEventListener('click', () => void press())
      buttons.push(one)
      return one
    },
    /** Disables all buttons, with the reason why nothing can be sent; undefined enables them again. */
    hold(why: string | undefined) {
      held = why
      rest()
    },
    /**
     * Runs `work` with the typed code, or with undefined when a passkey is to confirm. An error of `work` is shown beside the
     * buttons, unless `took` resolves to true because it has handled the error.
     */
    async cast(
      work: (totp: string | undefined) => Promise<void>,
      took: (error: unknown) => Promise<boolean>,
    ): Promise<void> {
      if (running) return announce('The first press is still in progress. Nothing else was started.')
      if (held !== undefined) return announce(held)
      slot.clear()
      const totp = method() === 'totp' ? readCode(code) : undefined
      if (!commentFits(fields.comment) || (method() === 'totp' && totp === undefined)) return
      run(true)
      try {
        await work(totp).catch((error: unknown) => {
          if (error instanceof UnknownOutcome) return findOut(error, slot, lost)
          throw error
        })
      } catch (error) {
        code.input.value = ''
        if (await took(error)) return
        if (error instanceof UnknownOutcome) slot.show('warning', error.message)
        else slot.fail(error, { totp: code, ...fields })
        // The next thing to do is to type another code.
        if (refusedWith(['totp_refused'], error)) code.input.focus()
      } finally {
        run(false)
      }
    },
  }
}

/** Checks the comment before a passkey is asked for: nobody should confirm what is refused then. */
function commentFits(comment: Field | undefined): boolean {
  const fault = comment && commentFault(comment.input.value)
  if (fault) wrong(comment, `It ${fault}.`)
  return !fault
}

/** The decision that a person sends, and the statement that must be signed for it. */
interface Word {
  /** The path it is posted to; `<path>/options` returns the statement that a passkey signs. */
  path: string
  said: { decision: Outcome; code?: string }
  /** Sent with the decision, but not signed. */
  comment?: string
  reason?: string | undefined
  /** Whose vote it is. A passkey signs this reference; with a code it is sent in the body. */
  approver?: string
  /** The content of the screen and the button that was pressed: the only statement the passkey may sign. */
  shown: Shown<DecisionIntent> | Shown<ConsentIntent>
}

/**
 * Gets a fresh proof of presence for exactly what is shown, then posts the decision with it.
 * @param totp a code instead of the passkey
 * @throws MismatchError before the passkey prompt opens, CeremonyError, RequestFailure, UnknownOutcome
 */
export async function postWord(word: Word, totp: string | undefined, slot: NoticeSlot): Promise<void> {
  const { path, said, shown, approver, reason } = word
  const body = { ...said, ...commentOf(word), reason }
  const named = `your ${WORD_OF[said.decision]}`
  const send = (proof: object): Promise<unknown> =>
    sendWord(named, slot, () => post(path, { ...body, ...proof }, anyObject))
  if (totp !== undefined) return void (await send({ totp, approver }))
  slot.show('working', `Preparing ${named} …`)
  const { intent, options } = await post(`${path}/options`, said, decisionOptionsShape)
  await checkIntent(intent, options, shown)
  await send({ passkey: await usePasskey(options, slot) })
}

/** Returns the trimmed comment as a field of the body; nothing for a blank comment. */
export function commentOf({ comment = '' }: { comment?: string }): { comment?: string } {
  return comment.trim() === '' ? {} : { comment: comment.trim() }
}

/** Offers only the methods that this person may use for this request and that work in this browser. */
function methodChoice(allowed: readonly Factor[]) {
  const usable = allowed.filter((method) => method !== 'passkey' || passkeysWork())
  let chosen: Factor = usable[0] ?? 'passkey'
  const code = codeField('The 6 digits it shows now. Each code works once.', '6 digits')
  const hint = el('p', { class: 'hint' })
  const update = (): void => {
    hint.textContent =
      chosen === 'totp'
        ? 'Pressing the button decides, with the code you typed. It cannot be undone.'
        : 'Nothing is decided until you confirm with your passkey. Then it cannot be undone.'
    code.row.hidden = chosen !== 'totp'
  }
  const element = div('method-choice')
  if (usable.length > 1) {
    const options = usable.map((method) =>
      option(method, method === chosen, () => {
        chosen = method
        update()
        // Otherwise the other method's prompt would stay open, and the form would not respond until it is answered.
        stopPrompt()
      }),
    )
    element.append(el('fieldset', {}, el('legend', {}, 'Confirm with'), ...options))
  }
  if (usable.includes('totp')) element.append(code.row)
  update()
  hint.hidden = usable.length === 0
  return {
    element,
    code,
    codeOnly: usable.join() === 'totp',
    none: usable.length === 0,
    hint,
    method: () => chosen,
  }
}

function option(method: Factor, checked: boolean, choose: () => void): HTMLElement {
  const label = method === 'passkey' ? 'Passkey' : 'Code from an authenticator app'
  const { row, input } = tick('radio', label, { name: 'method', value: method, checked })
  input.addEventListener('change', choose)
  return row
}

/** The field for the person's comment to the caller; its text is kept in `draft` as they write. */
export function commentField(draft: { text: string }, hint: string): Field {
  const comment = field({
    label: 'Comment (optional)',
    name: 'comment',
    hint,
    multiline: true,
    attributes: { maxlength: COMMENT_LENGTH, spellcheck: 'true' },
  })
  const counter = el('p', { class: 'counter' })
  const update = (): void => {
    draft.text = comment.input.value
    counter.textContent = `${comment.input.value.length} of ${COMMENT_LENGTH} characters`
  }
  comment.input.value = draft.text
  comment.input.addEventListener('input', update)
  comment.row.append(counter)
  update()
  return comment
}
