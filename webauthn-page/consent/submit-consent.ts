import type { ConsentIntent } from '../../src/domain/consent-intent.ts'
import type { Outcome } from '../../src/domain/receipt.ts'
import { type Consent, consentedShape, consentOptionsShape } from '../kit/api/consent-shapes.ts'
import { post } from '../kit/api/request.ts'
import { usePasskey } from '../kit/passkey/ceremony.ts'
import { audience } from '../kit/request/audience.ts'
import { checkIntent } from '../kit/request/check-intent.ts'

/** What the owner says. */
export interface Word {
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
export async function submitConsent(
  consent: Consent,
  word: Word,
  asking: (open: boolean) => void,
): Promise<void> {
  const path = `/account/bootstrap/${consent.id}/decision`
  const { decision, code, totp } = word
  const said = code === undefined ? { decision } : { decision, code }
  if (totp !== undefined) {
    await post(path, { ...said, totp }, consentedShape)
    return
  }
  const { intent, options } = await post(`${path}/options`, said, consentOptionsShape)
  await checkIntent(intent, options, shownConsent(consent, word))
  asking(true)
  const passkey = await usePasskey(options)
  asking(false)
  await post(path, { ...said, passkey }, consentedShape)
}
