import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Section, section } from '../parts/section.ts'
import type { AccountInvitation } from '../shell/account-view.ts'

const MEANINGS = {
  owner: 'you would own it',
  approver: 'you would decide requests that name you',
  auditor: 'you would see its requests and its audit log, and decide nothing',
}

/** Accounts that asked this person to join; undefined when none did. */
export function invitationsSection(
  invitations: readonly AccountInvitation[],
  done: (message: string) => Promise<void>,
): HTMLElement | undefined {
  if (invitations.length === 0) return undefined
  const part = section(
    'Invitations',
    'Owners of these accounts ask you to join. To accept, open the link that the owner handed you: it proves that they mean you.',
  )
  const rows = invitations.map((invitation) => row(part, invitation, done))
  part.body.append(el('ul', { class: 'entries' }, ...rows))
  return part.element
}

function row(
  part: Section,
  { account_id, account_name, role, invited_at }: AccountInvitation,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const decline = async (): Promise<void> => {
    part.slot.clear()
    try {
      await post(`/me/invitations/${encodeURIComponent(account_id)}/decline`, {}, okShape)
      await done('The invitation is declined.')
    } catch (error) {
      part.slot.fail(error)
    }
  }
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, callerText(account_name)),
      el('p', { class: 'hint' }, `As ${role}: ${MEANINGS[role]}. Invited `, day(invited_at), '.'),
    ),
    button('Decline', 'plain', decline, {
      'aria-label': `Decline the invitation to ${account_name}`,
    }),
  )
}
