import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { Policy } from './settings-shapes.ts'

/** What helps where no approver is left. */
export const WAYS_OUT =
  'Name more approvers, ask for fewer approvals, or have the approvers set up passkeys that the policy counts.'

/** What is wrong with the policy that is in force: no approver it reaches, names that do not count. */
export function policyWarnings({ reachable, approvers }: Policy): HTMLElement[] {
  const gone = approvers.filter(({ eligible }) => !eligible)
  const warnings: HTMLElement[] = []
  if (!reachable)
    warnings.push(
      notice(
        'warning',
        `Under this policy no one can approve now, and new requests are refused. ${WAYS_OUT}`,
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
