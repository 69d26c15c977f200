import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import type { Examination } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { openedIntent } from './opened-intent.ts'

const METHODS: Record<ReceiptPayload['method'], string> = {
  passkey: 'Passkey',
  totp: 'Authenticator code',
  sandbox: 'Sandbox, no person',
}

/** What a receipt that holds says, and the key that says so. Only what is signed stands here. */
export function receiptFacts(
  examination: Examination,
  payload: ReceiptPayload,
  key: VerificationKey | undefined,
): HTMLElement {
  const intent = openedIntent(examination)
  return facts(
    ['Decision', el('strong', {}, payload.decision === 'approved' ? 'Approved' : 'Rejected')],
    ['Decided', time(payload.ts)],
    ['Method', METHODS[payload.method]],
    ['Approver', mono(payload.approver), ' ', kind('a reference, not a name')],
    intent?.delegate === undefined
      ? undefined
      : [
          'Acted for them',
          el('bdi', { class: 'mono' }, callerText(intent.delegate)),
          ' ',
          kind('a delegate'),
        ],
    ['Request', mono(payload.rid)],
    ['Receipt', mono(payload.did)],
    ['Open until', time(payload.exp)],
    intent?.audience === undefined
      ? undefined
      : ['Service', el('bdi', { class: 'mono' }, callerText(intent.audience))],
    intent === undefined ? undefined : ['High impact', intent.highImpact ? 'Yes' : 'No'],
    ['Hash of the action', mono(payload.action), ' ', kind('first 16 characters')],
    ['Nonce', mono(payload.nonce)],
    key && ['Signing key', mono(key.kid)],
    key && ['Key in use', ...keyPeriod(key)],
  )
}

function keyPeriod({ notBefore, notAfter, revokedAt }: VerificationKey): (HTMLElement | string)[] {
  return [
    'from ',
    moment(notBefore.toISOString()),
    ...(notAfter === undefined ? [', still in use'] : [' until ', moment(notAfter.toISOString())]),
    ...(revokedAt === undefined ? [] : ['; revoked ', moment(revokedAt.toISOString())]),
  ]
}

function time(seconds: number): HTMLElement {
  return moment(new Date(seconds * 1000).toISOString())
}

function mono(text: string): HTMLElement {
  return el('span', { class: 'mono' }, text)
}

function kind(text: string): HTMLElement {
  return el('span', { class: 'kind' }, text)
}
