import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { entry } from '../parts/rows.ts'
import { type Section, section } from '../parts/section.ts'
import type { AccountInvitation, Recovery } from '../shell/account-view.ts'
import type { Done } from '../shell/page-entry.ts'

const MEANINGS = {
  owner: 'you would own it',
  approver: 'you would decide requests that name you',
  auditor: 'you would see its requests and its audit log, and decide nothing',
}

/** Tells below the page's heading what owners offer this person: on every page what must be seen within a day, the rest where people begin. */
export function tellOffers(
  { invitations, recovery }: { invitations: readonly AccountInvitation[]; recovery?: Recovery | undefined },
  done: Done,
  head: Element | undefined,
): void {
  const isFirst = head?.matches(':is(.inbox, .overview) > *') === true
  if (isFirst && invitations.length > 0) head.after(invitationsSection(invitations, done))
  if (recovery !== undefined) head?.after(recoveryNotice(recovery, done))
}

/** The accounts that asked this person to join. */
function invitationsSection(invitations: readonly AccountInvitation[], done: Done): HTMLElement {
  const part = section(
    'Invitations',
    'Owners of these accounts ask you to join. To accept, open the link that the owner gave you: it proves that you are the person they invited.',
  )
  const rows = invitations.map((invitation) => invitationRow(part, invitation, done))
  part.body.append(el('ul', { class: 'entries' }, ...rows))
  return part.element
}

function invitationRow(
  part: Section,
  { account_id, account_name, role, invited_at }: AccountInvitation,
  done: Done,
): HTMLElement {
  const decline = async (): Promise<void> => {
    await post(`/me/invitations/${encodeURIComponent(account_id)}/decline`, {}, okShape)
    await done('The invitation is declined.')
  }
  return entry(
    [callerText(account_name)],
    [hint(`As ${role}: ${MEANINGS[role]}. Invited `, day(invited_at), '.')],
    button('Decline', 'plain', () => part.slot.attempt(decline), {
      'aria-label': `Decline the invitation to ${visibleString(account_name)}`,
    }),
  )
}

/** Says that an owner lets this person set up their sign-in anew: whoever lost no device refuses with one press. */
export function recoveryNotice({ account_name, opens_at, expires_at }: Recovery, done: Done): HTMLElement {
  const slot = noticeSlot()
  const refuse = async (): Promise<void> => {
    await post('/me/recovery/refuse', {}, okShape)
    await done('Your sign-in stays as it is; the link no longer works.')
  }
  return div(
    'notice warning',
    p(
      el('strong', {}, 'Did you lose a device? '),
      'The owner of ',
      callerName(account_name),
      ' lets you set up your sign-in anew, by a link in their hands. It works from ',
      moment(opens_at),
      ' until ',
      moment(expires_at),
      ', and ends all your passkeys, codes and sessions.',
    ),
    p(
      'If you did not ask for this, cancel it. The owner cannot offer it again before that link would have expired.',
    ),
    slot.element,
    buttonRow(button('This was not me: cancel', 'primary', () => slot.attempt(refuse))),
  )
}
