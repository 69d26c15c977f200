import { okShape } from '../../webauthn-page/api/contract.ts'
import { post } from '../../webauthn-page/api/request.ts'
import { button } from '../../webauthn-page/dom/button.ts'
import { el } from '../../webauthn-page/dom/element.ts'
import { day } from '../../webauthn-page/dom/moment.ts'
import { callerText } from '../../webauthn-page/show/caller-text.ts'
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
    'Owners of these accounts ask you to join. You can leave again at any time.',
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
  const answer = (word: 'accept' | 'decline', message: string) => async (): Promise<void> => {
    part.slot.clear()
    try {
      await post(`/me/invitations/${encodeURIComponent(account_id)}/${word}`, {}, okShape)
      await done(message)
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
    el(
      'div',
      { class: 'buttons' },
      button('Accept', 'primary', answer('accept', `You belong to ${account_name} now.`), {
        'aria-label': `Accept the invitation to ${account_name}`,
      }),
      button('Decline', 'plain', answer('decline', 'The invitation is declined.'), {
        'aria-label': `Decline the invitation to ${account_name}`,
      }),
    ),
  )
}
