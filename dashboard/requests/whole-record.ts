import type { Decision } from '../../webauthn-page/kit/api/contract.ts'
import { downloadButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { CheckedReview } from '../../webauthn-page/kit/request/checked-review.ts'
import { section } from '../parts/section.ts'

/**
 * The request and its decision in one file, in the form of `GET /approvals/:id`: with what was asked, the signed intent and
 * every vote, so that `/verify` and `countersign verify` check not only that a decision was signed but for what.
 */
export function recordSection({ review, context }: CheckedReview, decision: Decision): HTMLElement {
  const part = section(
    'For your records',
    'What was asked, the decision and every vote in one file. The verify page and the command line check all of it; it holds the details of the request, so hand it on with care.',
  )
  const { id, status, action, created_at, expires_at, sandbox } = review
  const record = {
    id,
    status,
    action,
    context,
    created_at,
    expires_at,
    ...(sandbox === true ? { sandbox } : {}),
    decision,
  }
  part.body.append(
    el(
      'div',
      { class: 'buttons' },
      downloadButton(
        'Download the whole record',
        `${id}.json`,
        'application/json',
        `${JSON.stringify(record, null, 2)}\n`,
      ),
    ),
    el(
      'p',
      { class: 'hint' },
      'To check it later: ',
      el('code', {}, `npx countersign verify ${id}.json --jwks ${location.origin}/.well-known/jwks.json`),
    ),
  )
  return part.element
}
