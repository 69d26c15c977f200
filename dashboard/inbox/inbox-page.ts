import {
  okShape,
  type PendingRequest,
  type WaitingConsent,
  waitingConsentsShape,
} from '../../webauthn-page/kit/api/contract.ts'
import { get, post, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
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
import { requestPageShape } from '../requests/request-shapes.ts'
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
  const [pending, consents, guide] = await Promise.all([
    loadPending(),
    loadConsents(),
    owns ? firstRun(user.id) : undefined,
  ])
  const waiting = waitingSection(pending, {
    actor: user.approver,
    signal,
    auditor: account.role === 'auditor',
    ...(guide === undefined ? {} : { follow: (waiting: readonly PendingRequest[]) => guide.show(waiting) }),
  })
  const scene = div(
    'inbox',
    el('h1', {}, 'Inbox'),
    invitationsSection(invitations, done),
    guide?.element,
    waiting,
    consentsSection(consents),
  )
  if (matchMedia('(hover: none) and (display-mode: browser)').matches) void hintToInstall(scene)
  return { title: inboxTitle(pending.value.data.length), scene, wide: true }
}

/** Below everything: it comes late, and must move nothing. Nobody misses it where it does not come. */
async function hintToInstall(scene: HTMLElement): Promise<void> {
  const found = await import('../account/push.ts').catch(() => undefined)
  scene.append(found?.installHint() ?? '')
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

/** The way from nothing to the first checked receipt, all of it on the screen. */
interface FirstRun {
  element: HTMLElement
  /** Takes what waits now: the third step follows it. */
  show(waiting: readonly PendingRequest[]): void
}

/** What this browser remembers of the guide: whose it has begun, until it is through. */
const GUIDE = 'countersign.first-run'

/** Where nothing may be kept, the guide ends with the visit. */
function rememberGuide(userId: string | undefined): void {
  try {
    if (userId === undefined) localStorage.removeItem(GUIDE)
    else localStorage.setItem(GUIDE, userId)
  } catch {}
}

function guideOf(): string | null {
  try {
    return localStorage.getItem(GUIDE)
  } catch {
    return null
  }
}

/**
 * The guide of an owner without any key, or of one who began it in this browser and has not come to its end. The raw key is
 * on the screen once; later its place is named.
 * @throws RequestFailure, ShapeError
 */
async function firstRun(userId: string): Promise<FirstRun | undefined> {
  const { data: keys } = await get('/account/api-keys', keysShape)
  if (keys.length > 0 && guideOf() !== userId) return undefined
  rememberGuide(userId)
  const guide = new Guide()
  const [key] = keys
  if (key !== undefined) guide.resume(key.sandbox, await latestDecided())
  return guide
}

/** The request of this account that was decided last. @throws RequestFailure, ShapeError */
async function latestDecided(): Promise<string | undefined> {
  for (const status of ['approved', 'rejected']) {
    const { data } = await get(`/account/requests?limit=1&status=${status}`, requestPageShape)
    if (data[0] !== undefined) return data[0].id
  }
  return undefined
}

/** Stands in commands for a key that is not shown again. */
const NAMED_KEY = '$COUNTERSIGN_KEY'

/** A key, a command, a decision, a receipt. */
class Guide implements FirstRun {
  readonly element: HTMLElement
  readonly #ask = step('Ask for an approval', 'The command to copy appears here, with your key in it.')
  readonly #decide = step('Approve it', 'The request appears here by itself, seconds after you asked.')
  readonly #check = step('Check the receipt', 'The signed proof of the decision, which anyone can verify.')
  readonly #key: Step
  /** What waited before: others may have asked this person, and the guide is about what their own key asks. */
  #before: ReadonlySet<string> | undefined
  #waiting: readonly PendingRequest[] = []
  #shown: string | undefined

  constructor() {
    const part = section(
      'From an API key to a checked receipt, in four steps',
      'It takes a minute and a terminal. Afterwards your own agents and applications ask the same way.',
    )
    this.#key = step(
      'Create an API key',
      keyForm((rawKey, sandbox) => this.#made(rawKey, sandbox)),
    )
    const steps = [this.#key, this.#ask, this.#decide, this.#check]
    const close = (): void => {
      rememberGuide(undefined)
      part.element.remove()
    }
    part.body.append(
      el('ol', { class: 'guide' }, ...steps.map(({ element }) => element)),
      buttonRow(button('Hide this guide', 'quiet', close)),
    )
    this.element = part.element
  }

  /** Goes on where the person left: there is a key, and maybe a decision. */
  resume(sandbox: boolean, decided: string | undefined): void {
    this.#key.fill(
      p('You have a key. ', link('/keys', 'Make another'), ' if you did not keep it.'),
      command(`export COUNTERSIGN_KEY='sa_${sandbox ? 'test' : 'live'}_…'`, 'how a terminal keeps the key'),
    )
    this.#before = new Set()
    this.#toAsk(NAMED_KEY, sandbox)
    if (decided === undefined) this.#follow()
    else this.#end(decided)
  }

  show(now: readonly PendingRequest[]): void {
    this.#waiting = now
    const before = this.#before
    const first = before && now.find(({ id }) => !before.has(id))
    if (first === undefined || first.id === this.#shown) return
    this.#shown = first.id
    this.#decide.fill(...arrived(first))
  }

  #made(rawKey: string, sandbox: boolean): void {
    this.#before = new Set(this.#waiting.map(({ id }) => id))
    this.#key.fill(
      p('Your key. ', el('strong', {}, 'It is shown only this once'), ': copy it to a safe place.'),
      secretBox(rawKey, 'the API key'),
    )
    this.#toAsk(rawKey, sandbox)
    this.#follow()
    this.#ask.heading.focus()
    announce('Your key is made. Step 2: ask for an approval')
  }

  #toAsk(key: string, sandbox: boolean): void {
    this.#ask.fill(
      p('Run this in a terminal on this machine, or wherever this address can be reached:'),
      command(askCommand(key, location.origin), 'the command that asks for an approval'),
    )
    if (sandbox) this.#decide.fill(p('Nothing to do: a dry-run decides by itself after a few seconds.'))
  }

  #follow(): void {
    whileVisible(this.element, POLL_MS, async () => {
      const decided = await latestDecided().catch(() => undefined)
      if (decided !== undefined) this.#end(decided)
      return decided === undefined
    })
  }

  /** The guide is through as soon as the receipt is looked at. */
  #end(id: string): void {
    this.#decide.fill(p('It is decided.'))
    const check = link(`/verify#${encodeURIComponent(id)}`, 'Check the receipt', { class: 'button primary' })
    check.addEventListener('click', () => rememberGuide(undefined))
    this.#check.fill(
      p('The page checks it in your browser; a program takes it from the answer of this call:'),
      command(
        `curl ${location.origin}/api/v1/approvals/${id} \\\n  -H "Authorization: Bearer ${NAMED_KEY}"`,
        'the command that reads the receipt',
      ),
      check,
    )
    if (this.element.isConnected) announce('It is decided. Step 4: check the receipt')
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

function keyForm(made: (rawKey: string, sandbox: boolean) => void): HTMLElement {
  const slot = noticeSlot()
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: 'my-first-agent' },
  })
  const create = async (sandbox: boolean): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    const answer = await makeKey({ name: said, sandbox })
    if (answer !== undefined) made(answer.raw_key, sandbox)
  }
  const trial = button('Create a sandbox key', 'quiet', () => slot.attempt(() => create(true), { name }), {
    'aria-describedby': SANDBOX_HINT,
  })
  return form(
    {},
    () => slot.attempt(() => create(false), { name }),
    name.row,
    slot.element,
    buttonRow(submitButton('Create your first API key'), trial),
    el(
      'p',
      { class: 'hint', id: SANDBOX_HINT },
      'No passkey or phone at hand, or only writing code? With a sandbox key a dry-run decides by itself and nobody is asked.',
    ),
  )
}

const SANDBOX_HINT = 'sandbox-hint'

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
