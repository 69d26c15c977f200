import type { AuthenticationResponseJSON } from '@simplewebauthn/browser'
import type { STEP_UP_OPERATIONS } from '../../../src/domain/user.ts'
import { okShape, stepUpShape } from '../api/contract.ts'
import { post, RequestFailure } from '../api/request.ts'
import { button, buttonRow, submitButton } from '../dom/button.ts'
import { openDialog } from '../dom/dialog.ts'
import { type Child, div, el, p } from '../dom/element.ts'
import { codeField, form, readCode } from '../dom/form.ts'
import { noticeSlot } from '../dom/notice.ts'
import { insteadOfPrompt, openElsewhere, passkeysWork, stopPrompt, usePasskey } from './ceremony.ts'
import { NEW_LINK } from './no-factor.ts'

export type Operation = (typeof STEP_UP_OPERATIONS)[number]

/** A fresh proof with an existing factor, good for one operation on one target (T34). */
export type Proof = { passkey: AuthenticationResponseJSON } | { totp: string }

/**
 * Asks in a dialog for a passkey or code that already belongs to the person, and states the purpose. Undefined when they
 * cancel. `url`: see `openElsewhere`. @throws RequestFailure when the service refuses
 */
export async function stepUp(
  operation: Operation,
  purpose: Child | readonly Child[],
  target?: string,
  url?: string,
): Promise<Proof | undefined> {
  const body = target === undefined ? { operation } : { operation, target }
  const { methods, options } = await post('/me/step-up/options', body, stepUpShape)
  const passkey = methods.includes('passkey') && options !== undefined && passkeysWork()
  const code = methods.includes('totp')
  const proof = await openDialog<Proof>('Confirm that it is you', (finish) => [
    p(...(Array.isArray(purpose) ? purpose : [purpose])),
    passkey && passkeyProof(options, finish),
    code && codeProof(finish, !passkey),
    methods.length > 0 && !passkey && !code && openElsewhere(url),
    methods.length === 0 && p(`You have no other passkey or code that can confirm this. ${NEW_LINK}`),
    buttonRow(button('Cancel', 'quiet', () => finish())),
  ])
  stopPrompt()
  return proof
}

/**
 * Runs a call that needs a proof: first without, for the service refuses what is wrong with it before it answers
 * `proof_required`, and nobody should confirm what is refused then. `url`: see `openElsewhere`. @returns its answer; undefined when the person cancelled
 */
export async function confirmed<Answer>(
  purpose: Child | readonly Child[],
  run: (proof?: Proof) => Promise<Answer>,
  operation: Operation,
  target?: string,
  url?: string,
): Promise<Answer | undefined> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof RequestFailure && error.code === 'proof_required')) throw error
  }
  const proof = await stepUp(operation, purpose, target, url)
  return proof && run(proof)
}

/** Runs a call that needs a recent proof of presence, as `confirmed` does; the proof then counts for a while. */
export function proven<Answer>(
  purpose: Child | readonly Child[],
  run: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const prove = async (proof?: Proof): Promise<Answer> => {
    if (proof !== undefined) await post('/session/proof', { proof }, okShape)
    return run()
  }
  return confirmed(purpose, prove, 'session.prove')
}

function passkeyProof(
  options: Parameters<typeof usePasskey>[0],
  finish: (proof: Proof) => void,
): HTMLElement {
  const slot = noticeSlot()
  const confirm = button('Confirm with a passkey', 'primary', () =>
    slot.attempt(async () => finish({ passkey: await usePasskey(options, slot) })),
  )
  return div('proof', confirm, slot.element)
}

function codeProof(finish: (proof: Proof) => void, only: boolean): HTMLElement {
  const code = codeField()
  const send = (): void => {
    const totp = readCode(code)
    if (totp !== undefined) finish({ totp })
  }
  const entry = form({}, send, code.row, submitButton('Confirm with the code', only ? 'primary' : 'plain'))
  if (only) return entry
  const codes = el('details', { class: 'alternative' }, el('summary', {}, 'Use a code instead'), entry)
  insteadOfPrompt(codes)
  return codes
}
