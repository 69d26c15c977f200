import { readMatchingCode } from '../../src/domain/bootstrap.ts'
import type { ConsentIntent } from '../../src/domain/intent.ts'
import type { Outcome } from '../../src/domain/receipt.ts'
import { type Consent, decisionOptionsShape, type User, voteAnswerShape } from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { button } from '../kit/dom/button.ts'
import { announce, el, link, p } from '../kit/dom/element.ts'
import { type Field, field, readCode } from '../kit/dom/form.ts'
import { noticeSlot } from '../kit/dom/notice.ts'
import { promptNote, usePasskey } from '../kit/passkey/ceremony.ts'
import { type MethodChoice, methodChoice } from '../kit/request/ballot-fields.ts'
import { checkIntent, MismatchError } from '../kit/request/checked-review.ts'
import { audience } from '../kit/request/request-words.ts'

export interface ConsentFormOptions {
  user: User
  /** True while the owner's word is under way. */
  busy(state: boolean): void
  recorded(decision: Outcome): Promise<void>
  /** Looks again. @returns whether the form is still on the page */
  refresh(failure: RequestFailure): Promise<boolean>
  mismatch(error: MismatchError): void
}

/** The matching code, the way of confirming, and the two answers side by side. */
export function consentForm(consent: Consent, options: ConsentFormOptions): HTMLElement {
  if (consent.methods.length === 0)
    return p('You have no passkey or code yet. ', link('/account', 'Set one up'), ', then come back.')
  const choice = methodChoice(consent.methods)
  const slot = noticeSlot()
  const code = matchingCodeField()
  let running = false
  const answer = async (decision: Outcome): Promise<void> => {
    if (running) return announce('Still waiting for the first press. Nothing more was started.')
    const word = readWord(decision, code, choice)
    if (word === undefined) return
    running = true
    options.busy(true)
    slot.clear()
    try {
      await submitConsent(consent, { decision, approver: options.user.approver, ...word }, (asking) => {
        if (asking) slot.show('info', ...promptNote())
        else slot.clear()
      })
      await options.recorded(decision)
    } catch (error) {
      choice.code.input.value = ''
      if (error instanceof MismatchError) options.mismatch(error)
      else if (!isNews(error) || (await options.refresh(error))) slot.fail(error, { code, totp: choice.code })
    } finally {
      running = false
      options.busy(false)
    }
  }
  return el(
    'div',
    { class: 'decision-form' },
    code.row,
    choice.element,
    slot.element,
    el(
      'div',
      { class: 'decision-buttons' },
      button('Approve', 'approve', () => answer('approved')),
      button('Reject', 'reject', () => answer('rejected')),
    ),
    choice.hint,
  )
}

/** Refusals after which the request is no longer what it was. */
function isNews(error: unknown): error is RequestFailure {
  return (
    error instanceof RequestFailure &&
    ['wrong_matching_code', 'not_pending', 'not_signed_in', 'not_found'].includes(error.code)
  )
}

/** Marks the first field that is not filled in. */
function readWord(
  decision: Outcome,
  code: Field,
  choice: MethodChoice,
): { code: string | undefined; totp: string | undefined } | undefined {
  const matching = decision === 'approved' ? readMatchingCode(code.input.value) : undefined
  if (decision === 'approved' && matching === undefined) {
    code.setError('Enter the eight letters that the agent shows, like BDWP-HQPK.')
    code.input.focus()
    return undefined
  }
  if (choice.method() === 'passkey') return { code: matching, totp: undefined }
  const totp = readCode(choice.code)
  return totp === undefined ? undefined : { code: matching, totp }
}

function matchingCodeField(): Field {
  return field({
    label: 'Matching code',
    name: 'matching-code',
    hint: 'The eight letters that the agent shows you now. No agent of yours shows one? Then reject.',
    attributes: {
      autocomplete: 'off',
      autocapitalize: 'characters',
      autocorrect: 'off',
      maxlength: 12,
      class: 'input code-input matching-code',
    },
  })
}

/** What the owner says. */
interface Word {
  decision: Outcome
  /** The matching code in its stored form; undefined when rejecting. */
  code: string | undefined
  /** The owner's reference, as the page knows it. */
  approver: string
  /** A code of an authenticator app instead of the passkey. */
  totp: string | undefined
}

/** What is on the screen and the button that was pressed: the only statement the passkey may sign. */
function shownConsent(consent: Consent, { decision, code, approver }: Word): Omit<ConsentIntent, 'salt'> {
  return {
    typ: 'human-approval/bootstrap/v1',
    aud: audience(),
    bst: consent.id,
    decision,
    approver,
    client_name: consent.client_name,
    scopes: consent.scopes.join(' '),
    code: code ?? null,
    requested_at: consent.created_at,
    exp: Math.floor(Date.parse(consent.expires_at) / 1000),
  }
}

/**
 * Gets a fresh proof of presence for exactly what is shown, then posts the owner's word.
 * `asking` hears when the passkey prompt opens and when it was answered.
 * @throws MismatchError before the passkey is asked, CeremonyError, RequestFailure
 */
async function submitConsent(consent: Consent, word: Word, asking: (open: boolean) => void): Promise<void> {
  const path = `/account/bootstrap/${consent.id}/decision`
  const { decision, code, totp } = word
  const said = code === undefined ? { decision } : { decision, code }
  if (totp !== undefined) {
    await post(path, { ...said, totp }, voteAnswerShape)
    return
  }
  const { intent, options } = await post(`${path}/options`, said, decisionOptionsShape)
  await checkIntent(intent, options, shownConsent(consent, word))
  asking(true)
  const passkey = await usePasskey(options)
  asking(false)
  await post(path, { ...said, passkey }, voteAnswerShape)
}
