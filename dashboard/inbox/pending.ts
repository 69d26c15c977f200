import type { Principal } from '../../webauthn-page/kit/api/contract.ts'
import { hint, mono } from '../../webauthn-page/kit/dom/element.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'

/** Says whose vote it would be when the person is a delegate; undefined when it is their own. */
export function forWhom(principal: Principal | null | undefined): HTMLElement | undefined {
  if (principal === null || principal === undefined) return undefined
  return hint(
    'You decide it for ',
    callerName(principal.name),
    ' (',
    mono(principal.approver),
    '), for whom you stand in.',
  )
}

interface Ordered {
  high_impact: boolean
  created_at: string
}

/** High impact first, then the oldest: what matters most is never below what can wait (T18). */
export function inOrder<T extends Ordered>(requests: readonly T[]): T[] {
  return [...requests].sort(
    (a, b) =>
      Number(b.high_impact) - Number(a.high_impact) || Date.parse(a.created_at) - Date.parse(b.created_at),
  )
}
