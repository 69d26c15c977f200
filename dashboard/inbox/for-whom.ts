import type { Principal } from '../../webauthn-page/kit/api/contract.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'

/** Says whose vote it would be when the person stands in for somebody; undefined when it is their own. */
export function forWhom(principal: Principal | null | undefined): HTMLElement | undefined {
  if (principal === null || principal === undefined) return undefined
  return el(
    'p',
    { class: 'hint' },
    'You decide it for ',
    el('strong', {}, callerText(principal.name)),
    ' (',
    el('span', { class: 'mono' }, principal.approver),
    '), for whom you stand in.',
  )
}
