import {
  okShape,
  type PendingRequest,
  type WaitingConsent,
  waitingConsentsShape,
} from '../../webauthn-page/kit/api/contract.ts'
import { get, post, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, type Child, div, el, hint, link, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerQuote, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { makeKey } from '../keys/key-actions.ts'
import { keysShape } from '../keys/key-shapes.ts'
import { entry } from '../parts/rows.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { AccountInvitation } from '../shell/account-view.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { loadPending } from './pending.ts'
import { inboxTitle } from './waiting-list.ts'
import { waitingSection } from './waiting-section.ts'

/** `/`: everything that waits for the person, whatever account it belongs to; for a new owner, how to begin. */
export async function inboxPage(context: PageContext): Promise<PageView> {
  const { user, account, invitations, done, signal } = context
  // A person who came to decide for the account of another has not come to set up their own.
  const owns = account.own && account.role === 'owner'
  const [pending, consents, isNew] = await Promise.all([loadPending(), loadConsents(), owns && neverHadKey()])
  const guide = isNew ? firstRun() : undefined
  const waiting = waitingSection(pending, {
    actor: user.approver,
    signal,
    auditor: account.role === 'auditor',
    ...(guide === undefined ? {} : { follow: guide.show }),
  })
  const scene = div(
    'inbox',
    el('h1', {}, 'Inbox'),
    invitationsSection(invitations, done),
    guide?.element,
    waiting,
    consentsSection(consents),
  )
  return { title: inboxTitle(pending.value.data.length), scene, wide: true }
}

const MEANINGS = {
  owner: 'you would own it',
  approver: 'you would decide requests that name you',
  auditor: 'you would see its requests and its audit log, and decide nothing',
}

/** Accounts that asked this person to join; undefined when none did. */
function invitationsSection(invitations: readonly AccountInvitation[], done: Done): HTMLElement | undefined {
  if (invitations.length === 0) return undefined
  const part = section(
    'Invitations',
    'Owners of these accounts ask you to join. To accept, open the link that the owner handed you: it proves that they mean you.',
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
      'aria-label': `Decline the invitation to ${account_name}`,
    }),
  )
}

const POLL_MS = 5000

/** Who asks for a key of this account now. @throws RequestFailure, ShapeError */
async function loadConsents(): Promise<WaitingConsent[]> {
  return (await get('/account/bootstrap', waitingConsentsShape)).data
}

/** Hidden while no agent asks, which is nearly always; it appears without a reload. */
function consentsSection(first: readonly WaitingConsent[]): HTMLElement {
  const part = section(
    'Asking for an API key',
    'Agents and programs that want a key of your account. Looking decides nothing; you confirm on the next page.',
  )
  const list = el('ul', { class: 'waiting-list' })
  part.body.replaceChildren(list)
  let shown = ''
  const show = (waiting: readonly WaitingConsent[]): void => {
    const ids = waiting.map(({ id }) => id).join()
    if (ids === shown && shown !== '') return
    if (shown !== '' || part.element.isConnected) tell(shown, waiting)
    shown = ids
    part.element.hidden = waiting.length === 0
    const focused = list.contains(document.activeElement)
    list.replaceChildren(...waiting.map(consentRow))
    if (focused && waiting.length > 0) part.element.querySelector('h2')?.focus({ preventScroll: true })
  }
  show(first)
  whileVisible(part.element, POLL_MS, async () => {
    try {
      show(await loadConsents())
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
  const { element: quote, textId } = callerQuote(consent.client_name)
  return el(
    'li',
    { class: 'waiting' },
    quote,
    el(
      'p',
      { class: 'asker' },
      'Unverified name. Asked from ',
      mono(consent.requester.address),
      '; ends ',
      moment(consent.expires_at),
      '.',
    ),
    link(`/b/${encodeURIComponent(consent.id)}`, 'Review', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  )
}

/** Has the account of this person never had a key? @throws RequestFailure, ShapeError */
async function neverHadKey(): Promise<boolean> {
  return (await get('/account/api-keys', keysShape)).data.length === 0
}

/** The way from nothing to the first approved request, all of it on the screen. */
interface FirstRun {
  element: HTMLElement
  /** Takes what waits now: the third step follows it. */
  show(waiting: readonly PendingRequest[]): void
}

/** A key, a command, a decision. The raw key lives in this page alone. */
function firstRun(): FirstRun {
  const part = section(
    'Your first approval, in three steps',
    'It takes a minute and a terminal. Afterwards your own agents and applications ask the same way.',
  )
  const ask = step('Ask for an approval', 'The command to copy appears here, with your key in it.')
  const decide = step('Approve it', 'The request appears here by itself, seconds after you asked.')
  const key = step(
    'Create an API key',
    keyForm((rawKey) => keyMade(rawKey)),
  )
  const keyMade = (rawKey: string): void => {
    before = new Set(waiting.map(({ id }) => id))
    key.fill(
      p('Your key. ', el('strong', {}, 'It is shown only this once'), ': copy it to a safe place.'),
      secretBox(rawKey, 'the API key'),
    )
    ask.fill(
      p('Run this in a terminal on this machine, or wherever this address can be reached:'),
      command(askCommand(rawKey, location.origin), 'the command that asks for an approval'),
    )
    ask.heading.focus()
    announce('Your key is made. Step 2: ask for an approval')
  }
  part.body.append(el('ol', { class: 'guide' }, key.element, ask.element, decide.element))
  let waiting: readonly PendingRequest[] = []
  let before: ReadonlySet<string> | undefined
  let shown: string | undefined
  return {
    element: part.element,
    show(now) {
      waiting = now
      // Others may have asked this person before; the guide is about what their own key asks.
      const first = before && now.find(({ id }) => before?.has(id) === false)
      if (first?.id === shown) return
      if (first === undefined) decide.fill(decided())
      else decide.fill(...arrived(first))
      shown = first?.id
    },
  }
}

interface Step {
  element: HTMLElement
  heading: HTMLElement
  fill(...parts: Child[]): void
}

function step(title: string, first: Child): Step {
  const heading = el('h3', { tabindex: -1 }, title)
  const body = div('guide-body', first)
  return {
    element: el('li', { class: 'guide-step' }, heading, body),
    heading,
    fill: (...parts) => body.replaceChildren(...parts.filter((part) => part !== undefined && part !== false)),
  }
}

function keyForm(made: (rawKey: string) => void): HTMLElement {
  const slot = noticeSlot()
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: 'my-first-agent' },
  })
  const create = async (): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    const answer = await makeKey({ name: said, sandbox: false })
    if (answer !== undefined) made(answer.raw_key)
  }
  return form(
    {},
    () => slot.attempt(create, { name }),
    name.row,
    slot.element,
    submitButton('Create your first API key'),
  )
}

function arrived(request: PendingRequest): Child[] {
  const { element, textId } = callerQuote(request.action)
  return [
    p('It is here. Look at it, and approve it with your passkey or code:'),
    element,
    link(`/a/${encodeURIComponent(request.id)}`, 'Review and approve', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  ]
}

function decided(): HTMLElement {
  return p('It is decided: that was your first. The caller reads the decision and its receipt.')
}
