import type { Invitation } from '../kit/api/contract.ts'
import { el } from '../kit/dom/element.ts'
import { callerText } from '../kit/show/caller-text.ts'

/** What the invited person would be, and where. */
export function joining({ account_name, role }: Invitation): HTMLElement | undefined {
  if (account_name === undefined || role === undefined) return undefined
  const may =
    role === 'auditor'
      ? 'you see its requests and its audit log, and decide nothing'
      : 'you decide requests that name you'
  return el(
    'span',
    {},
    'You are asked to join ',
    el('strong', {}, callerText(account_name)),
    ` as ${role}: ${may}. `,
  )
}
