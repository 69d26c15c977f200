import type { Decision, Review } from '../api/contract.ts'
import { copyButton } from '../dom/copy-button.ts'
import { downloadButton } from '../dom/download-button.ts'
import { el, link } from '../dom/element.ts'
import { facts } from '../dom/facts.ts'
import { moment } from '../dom/moment.ts'
import { callerText, callerValue } from '../show/caller-text.ts'
import { byReference, type WritePerson } from './person.ts'
import { methodWord } from './words.ts'

/** The signed result: who, how, when, and the receipt that anyone can check. */
export function receiptView(
  review: Review,
  decision: Decision,
  person: WritePerson = byReference,
): HTMLElement {
  const mine = decision.approver === review.approver
  return el(
    'div',
    { class: 'receipt' },
    facts(
      ['Decision', el('strong', {}, decision.decision === 'approved' ? 'Approved' : 'Rejected')],
      ['Method', methodWord(decision.method)],
      ['Decided', moment(decision.decided_at)],
      ['Approver', person(decision.approver), mine && ' (you)'],
      decision.delegate === undefined ? undefined : ['Decided by the delegate', person(decision.delegate)],
      [
        'Receipt',
        el(
          'span',
          { class: 'copyable' },
          el('code', { class: 'mono' }, decision.id),
          copyButton(decision.id, 'the receipt id'),
        ),
      ],
      decision.comment === null ? undefined : ['Comment', callerValue(decision.comment)],
    ),
    signedReceipt(review, decision),
    el(
      'p',
      {},
      link(`/verify#${review.id}`, 'Check this receipt'),
      ' in a browser; anyone may, without signing in. For programs: ',
      link(`/api/v1/approvals/${review.id}/verify`, 'the check as JSON'),
      '.',
    ),
  )
}

function signedReceipt(review: Review, decision: Decision): HTMLElement {
  const payload = decodePayload(decision.signed_payload)
  return el(
    'details',
    { class: 'exact' },
    el('summary', {}, 'Signed receipt'),
    facts(
      [
        'Signed text',
        el(
          'pre',
          { class: 'exact-text', tabindex: 0, role: 'group', 'aria-label': 'Signed text' },
          callerText(payload),
        ),
      ],
      ['Signature', el('code', { class: 'mono' }, decision.signature)],
      ['Signing key', el('code', { class: 'mono' }, decision.public_key_id)],
    ),
    downloadButton(
      'Download as JSON',
      `${decision.id}.json`,
      'application/json',
      `${JSON.stringify(receiptFile(review, decision, payload), null, 2)}\n`,
    ),
  )
}

/** The form of a callback body, which `countersign verify` and other verifiers read as it is. */
function receiptFile(review: Review, decision: Decision, payload: string): object {
  return {
    request_id: review.id,
    decision: decision.decision,
    decided_at: decision.decided_at,
    signed_receipt: {
      decision_id: decision.id,
      signature: decision.signature,
      public_key_id: decision.public_key_id,
      canonical_payload: payload,
      comment: decision.comment,
    },
    ...(review.sandbox === true ? { sandbox: true } : {}),
  }
}

/** Base64url to the UTF-8 text that was signed. */
function decodePayload(encoded: string): string {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}
