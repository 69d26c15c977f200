import { readMatchingCode, strangeLetter } from '../../src/domain/bootstrap.ts'
import type { ConsentIntent } from '../../src/domain/intent.ts'
import type { Outcome } from '../../src/domain/receipt.ts'
import type { Consent, User } from '../kit/api/contract.ts'
import { type RequestFailure, refusedWith } from '../kit/api/request.ts'
import { div } from '../kit/dom/element.ts'
import { type Field, field, wrong } from '../kit/dom/form.ts'
import { addPasskey, NONE_ALLOWED } from '../kit/passkey/no-factor.ts'
import { createBallot, postWord } from '../kit/request/ballot.ts'
import { MismatchError } from '../kit/request/checked-review.ts'
import type { Connection } from '../kit/request/connection.ts'
import { keepClear } from '../kit/request/decision-bar.ts'
import { type Lost, refusedIn } from '../kit/request/lost-answer.ts'
import { audience } from '../kit/request/request-words.ts'

export interface ConsentFormOptions {
  user: User
  timeLeft: HTMLElement
  connection: Connection
  /** Called with true when the owner's decision starts, and with false when it ends. */
  busy(state: boolean): void
  lost: Lost
  recorded(decision: Outcome): Promise<void>
  /** Loads the request again; `recorded` says what is known of the owner's decision. @returns whether the form is still shown */
  refresh(failure: RequestFailure, recorded: string): Promise<boolean>
  mismatch(error: MismatchError): void
}

/** Matching code, method of confirming, and the bar with the time and the buttons, which stays at a phone's lower edge. */
export function consentForm(consent: Consent, options: ConsentFormOptions): HTMLElement {
  if (consent.methods.length === 0) return addPasskey(NONE_ALLOWED)
  const code = matchingCodeField()
  const { busy, lost } = options
  const ballot = createBallot({ methods: consent.methods, busy, fields: { code }, lost })
  const took = async (error: unknown): Promise<boolean> => {
    const { failure, recorded } = refusedIn(error)
    if (error instanceof MismatchError) options.mismatch(error)
    else return refusedWith(NEWS, failure) && !(await options.refresh(failure, recorded))
    return true
  }
  const answer = async (decision: Outcome): Promise<void> => {
    const matching = decision === 'approved' ? readMatchingCode(code.input.value) : undefined
    if (decision === 'approved' && matching === undefined) {
      const strange = strangeLetter(code.input.value)
      const told = strange === undefined ? '' : `No code has a “${strange}”. `
      return wrong(code, `${told}Enter the eight letters that the agent shows, like BDWP-HQPK.`)
    }
    const said = matching === undefined ? { decision } : { decision, code: matching }
    await ballot.cast(async (totp) => {
      const path = `/account/bootstrap/${consent.id}/decision`
      await postWord({ path, said, shown: shownConsent(consent, options.user, said) }, totp, ballot.slot)
      await options.recorded(decision)
    }, took)
  }
  const bar = div(
    'decision-bar',
    ballot.slot.element,
    options.connection.element,
    div('bar-line', options.timeLeft),
    ballot.elsewhere ??
      div(
        'decision-buttons',
        ballot.button('Reject', 'reject', () => answer('rejected')),
        ballot.button('Approve', 'approve', () => answer('approved')),
      ),
  )
  keepClear(bar, consent.client_name, code.row, ballot.choice)
  options.connection.follow(ballot.hold)
  return div('decision-form', code.row, ballot.choice, ballot.hint, bar)
}

/** Refusals after which the request is no longer in the state that the page shows. */
const NEWS = ['wrong_matching_code', 'not_pending', 'not_signed_in', 'not_found']

function matchingCodeField(): Field {
  return field({
    label: 'Matching code',
    name: 'matching-code',
    hint: 'The eight letters that the agent shows you now. If none of your agents shows a code, reject.',
    attributes: {
      autocomplete: 'off',
      autocapitalize: 'characters',
      autocorrect: 'off',
      maxlength: 12,
      class: 'input code-input matching-code',
    },
  })
}

/** The content of the screen and the button that was pressed: the only statement the passkey may sign. */
function shownConsent(
  consent: Consent,
  { approver }: User,
  { decision, code }: { decision: Outcome; code?: string },
): Omit<ConsentIntent, 'salt'> {
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
