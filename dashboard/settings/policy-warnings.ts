import { get } from '../../webauthn-page/kit/api/request.ts'
import { link, note } from '../../webauthn-page/kit/dom/element.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { type Policy, policyShape } from './settings-shapes.ts'

/** The remedies if no approver is left. @param confirmedOnly the policy counts only people whom the operator confirmed */
export function waysOut(confirmedOnly: boolean): string {
  const ways = [
    'Name more approvers',
    'require fewer approvals',
    'have the approvers set up passkeys that the policy counts',
  ]
  if (confirmedOnly) ways.push('have the operator confirm them (countersign user confirm)')
  return `${ways.slice(0, -1).join(', ')}, or ${ways.at(-1)}.`
}

/** Warnings about the current policy: no one can approve, too few have a working factor, or names do not count. */
export function policyWarnings({ reachable, approvers, confirmed_only, quorum }: Policy): HTMLElement[] {
  const gone = approvers.filter(({ eligible }) => !eligible)
  const warnings: HTMLElement[] = []
  if (!reachable)
    warnings.push(
      notice(
        'warning',
        `Under this policy no one can approve now, and new requests are refused. ${waysOut(confirmed_only)}`,
      ),
    )
  const able = approvers.filter(
    (one) => one.eligible && (one.has_passkey || one.has_totp) && (one.confirmed || !confirmed_only),
  )
  if (reachable && able.length < quorum)
    warnings.push(
      notice(
        'warning',
        `New requests cannot be approved for now: they need ${quorum === 1 ? '1 approval' : `${quorum} approvals`}, and `,
        `${able.length} of the people named ${able.length === 1 ? 'has' : 'have'} a passkey or code that works. `,
        'Unless a delegate decides, the others need a new sign-in link: offer it under Members with “Lost a device”, or ask the operator of the service.',
      ),
    )
  if (gone.length > 0)
    warnings.push(
      notice(
        'warning',
        ...gone.flatMap(({ name }, index) => [index > 0 && ', ', callerText(name)]),
        gone.length === 1
          ? ' is still named but no longer an approver of the account, and does not count. Saving the policy drops the name.'
          : ' are still named but no longer approvers of the account, and do not count. Saving the policy drops the names.',
      ),
    )
  return warnings
}

/** The warnings for a page that is about something else, and the way to the policy. */
export function policyTrouble(policy: Policy, href: PageContext['href']): HTMLElement[] {
  const warnings = policyWarnings(policy)
  return warnings.length === 0 ? [] : [...warnings, note(link(href('/settings'), 'Open the policy'), '.')]
}

/** Reads the policy of the account that is shown. @returns what to say if it refuses every request; nothing if that is unknown */
export function refusingPolicy(href: PageContext['href']): Promise<HTMLElement[]> {
  const told = get('/account/policy', policyShape)
  return told.then((policy) => (policy.reachable ? [] : policyTrouble(policy, href))).catch(() => [])
}
