import { visibleString } from '../../src/domain/text.ts'
import { okShape, type WaitingConsent } from '../../webauthn-page/kit/api/contract.ts'
import { post, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div, el, hint, link, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { ago, day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerName, callerQuote, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
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

const POLL_MS = 5000

/** The waiting requests for an API key. Hidden while there are none, nearly always; appears without a reload. `hold` keeps the rows below in their place. */
export function consentsSection(
  first: readonly WaitingConsent[],
  { load, hold }: { load(): Promise<WaitingConsent[]>; hold(change: () => void): void },
): HTMLElement {
  const part = section(
    'Requests for an API key',
    'Agents that ask for a key of your account. Opening a request decides nothing; you confirm on the next page.',
  )
  const list = el('ul', { class: 'waiting-list' })
  part.body.replaceChildren(list)
  let shown = ''
  const show = (waiting: readonly WaitingConsent[]): void => {
    const ids = waiting.map(({ id }) => id).join()
    if (ids === shown && shown !== '') return
    if (shown !== '' || part.element.isConnected) tell(shown, waiting)
    shown = ids
    const focused = list.contains(document.activeElement)
    // This section may stand above the list of requests, and move its rows.
    hold(() => {
      part.element.hidden = waiting.length === 0
      list.replaceChildren(...waiting.map(consentRow))
    })
    if (focused && waiting.length > 0) part.element.querySelector('h2')?.focus({ preventScroll: true })
  }
  show(first)
  whileVisible(part.element, POLL_MS, async () => {
    try {
      show(await load())
    } catch (error) {
      // Another part of the page says that the session has ended.
      if (error instanceof RequestFailure && error.status === 401) show([])
      return !(error instanceof RequestFailure && error.status === 401)
    }
    return true
  })
  return part.element
}

function tell(before: string, waiting: readonly WaitingConsent[]): void {
  if (waiting.some(({ id }) => !before.includes(id))) announce('An agent asks for an API key')
}

function consentRow(consent: WaitingConsent): HTMLElement {
  const { element: quote, textId } = callerQuote(consent.client_name, 'the agent')
  return el(
    'li',
    { class: 'waiting' },
    quote,
    el(
      'p',
      { class: 'asker' },
      'Unverified name. Requested from ',
      mono(consent.requester.address),
      '; expires ',
      ago(consent.expires_at),
      '.',
    ),
    link(`/b/${encodeURIComponent(consent.id)}`, 'Review', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  )
}
