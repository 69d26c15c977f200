import { SCOPE_WORDS } from '../../src/domain/bootstrap.ts'
import { isFinal, sessionEnded, showInvitation, showStopped, wayBack } from '../decide/stopped-scenes.ts'
import { type Consent, consentShape, sessionShape, type User } from '../kit/api/contract.ts'
import { get, RequestFailure, steadyNow } from '../kit/api/request.ts'
import { announce, type Child, div, el, facts, kind, link, mono, p, panel } from '../kit/dom/element.ts'
import { moment, timeLeft } from '../kit/dom/moment.ts'
import { notice } from '../kit/dom/notice.ts'
import { showScene, showUser } from '../kit/dom/stage.ts'
import { whileVisible } from '../kit/dom/while-visible.ts'
import { createConnection } from '../kit/request/connection.ts'
import { WORD_OF } from '../kit/request/request-words.ts'
import { callerQuote, callerText } from '../kit/show/caller-text.ts'
import { consentForm } from './consent-form.ts'

const POLL_MS = 4000

/** `/b/<id>`: an agent asks for an API key. Opening the page changes nothing and shows nothing before sign-in. */
export class ConsentPage {
  readonly #id: string
  readonly #connection = createConnection()
  #shown: Consent | undefined
  #user: User | undefined
  #busy = false
  #stopClock: () => void = () => {}
  #lookNow: () => void = () => {}

  constructor(id: string) {
    this.#id = id
    addEventListener('online', () => this.#lookNow())
  }

  /** Loads the request and shows its state, with `message` above it. */
  async open(message?: Child): Promise<void> {
    try {
      const [{ user }, consent] = await Promise.all([get('/session', sessionShape), this.#load()])
      this.#user = user
      showUser(user)
      this.#show(consent, user, message)
    } catch (error) {
      this.#fail(error, () => this.open(message), message)
    }
  }

  async #load(): Promise<Consent> {
    const consent = await get(`/account/bootstrap/${encodeURIComponent(this.#id)}`, consentShape)
    this.#connection.alive()
    return consent
  }

  #show(consent: Consent, user: User, message?: Child): void {
    this.#stopClock()
    const first = this.#shown === undefined
    this.#shown = consent
    const panel = consent.status === 'pending' ? this.#openPanel(consent, user) : outcomePanel(consent)
    const scene = consentScene(consent, panel, message)
    showScene(headingOf(consent), scene, { wide: true, focus: !first })
    const moving = consent.status === 'pending' || isUncollected(consent)
    if (moving) this.#lookNow = whileVisible(scene, POLL_MS, () => this.#look())
  }

  #openPanel(consent: Consent, user: User): HTMLElement {
    const clock = Date.parse(consent.server_time) - steadyNow()
    const time = timeLeft({ review: consent, clock }, () => setTimeout(() => this.#lookNow(), 1000))
    this.#stopClock = time.stop
    const form = consentForm(consent, {
      user,
      timeLeft: time.element,
      connection: this.#connection,
      busy: (state) => {
        this.#busy = state
      },
      lost: {
        look: async () => (await this.#load()).status !== 'pending',
        found: () => this.open(),
      },
      recorded: async (decision) => {
        announce(`Your ${WORD_OF[decision]} is recorded`)
        await this.open(notice('success', `you ${decision} this request.`))
      },
      refresh: (failure, recorded) => this.#refresh(failure, recorded),
      mismatch: (error) => this.#fail(error),
    })
    return panel('panel', 'Your decision', form)
  }

  /** Loads the request again after a refusal. @returns whether it is still open, so that the form stays */
  async #refresh(failure: RequestFailure, recorded: string): Promise<boolean> {
    try {
      if (failure.code === 'not_signed_in') throw failure
      const consent = await this.#load()
      if (consent.status === 'pending') return true
      if (this.#user !== undefined) this.#show(consent, this.#user, notice('warning', failure.message))
    } catch (error) {
      if (error instanceof RequestFailure && error.status === 401) this.#invite(recorded)
      else this.#fail(error)
    }
    return false
  }

  /** Looks for a change. @returns always true: the looks go on as long as the scene is on the page */
  async #look(): Promise<boolean> {
    if (this.#busy) return true
    const before = this.#shown
    try {
      const consent = await this.#load()
      if (this.#busy || before !== this.#shown || this.#user === undefined) return true
      if (headingOf(consent) === (before && headingOf(before))) return true
      announce(`${headingOf(consent)}.`)
      this.#show(consent, this.#user)
    } catch (error) {
      if (isFinal(error)) this.#fail(error)
      else this.#connection.lost()
    }
    return true
  }

  #fail(error: unknown, again = () => this.open(), known?: Child): void {
    this.#stopClock()
    showStopped(error, () => this.#invite(), again, known)
  }

  /** Asks for sign-in and forgets what was shown: the next person to sign in here may be someone else. */
  #invite(recorded?: string): void {
    const first = this.#shown === undefined
    this.#shown = undefined
    this.#user = undefined
    showUser(undefined)
    showInvitation(!first, () => void this.open(), first ? undefined : sessionEnded(recorded, ''))
  }
}

function isUncollected({ status, collected }: Consent): boolean {
  return status === 'approved' && collected === undefined
}

/** Returns the heading: a question while the request is open, then its outcome. */
function headingOf({ status, collected, tries_left }: Consent): string {
  if (status === 'pending') return 'Give this agent an API key?'
  if (status === 'approved') return collected === undefined ? 'Approved' : 'The key was collected'
  if (status === 'expired') return 'Expired'
  return tries_left <= 0 ? 'Rejected after three wrong codes' : 'Rejected'
}

/** The whole page of one request for a key; `panel` shows what the owner can do, or the outcome. */
function consentScene(consent: Consent, panel: HTMLElement, message: Child): HTMLElement {
  const open = consent.status === 'pending'
  const text = div(
    'request-text',
    open &&
      notice(
        'warning',
        'approve only if you started this agent yourself and it shows you the code. Nothing else is known about it except that it knows your e-mail address.',
      ),
    callerQuote(consent.client_name, 'the agent').element,
    statedFacts(consent),
  )
  return el(
    'div',
    { class: open ? 'request open' : 'request settled' },
    message,
    div(
      'request-head',
      el('p', { class: `state ${consent.status}` }, 'Request for an API key'),
      el('h1', {}, headingOf(consent)),
      el('p', { class: 'asker' }, 'An agent asks for a key of your account, under an unverified name.'),
    ),
    !open && wayBack(),
    div('request-columns', ...(open ? [text, panel] : [panel, text])),
  )
}

function statedFacts(consent: Consent): HTMLElement {
  const { requester } = consent
  return panel(
    'card',
    'Stated by Countersign',
    facts(
      ['Requested from', mono(requester.address)],
      [
        'Software',
        requester.user_agent === '' ? el('em', {}, 'not said') : callerText(requester.user_agent),
        kind(' as stated by the agent'),
      ],
      ['Requested at', moment(consent.created_at)],
      ['Expires at', moment(consent.expires_at)],
      ['The key may', el('ul', { class: 'plain-list' }, ...consent.scopes.map(scopeRow))],
      ['The key may not', 'decide anything, make keys, or change your account'],
      consent.consent && ['You answered', moment(consent.consent.at), ` with a ${consent.consent.method}`],
      consent.collected && [
        'Collected',
        moment(consent.collected.at),
        ...(consent.collected.address === undefined ? [] : [' from ', mono(consent.collected.address)]),
      ],
    ),
  )
}

function scopeRow(scope: Consent['scopes'][number]): HTMLElement {
  return el('li', {}, `${SCOPE_WORDS[scope]} `, el('code', {}, scope))
}

/** Shows the outcome, and what is left to do. */
function outcomePanel(consent: Consent): HTMLElement {
  const { status, collected } = consent
  if (status !== 'approved' || collected === undefined) return panel('panel', 'State', p(outcomeOf(consent)))
  return panel(
    'panel',
    'State',
    p(
      'The key was issued once, to ',
      mono(collected.address ?? 'an unknown address'),
      '. If that was not your agent, revoke the key at once.',
    ),
    p(link('/keys', 'See or revoke the key', { class: 'button primary' })),
  )
}

/** Describes the outcome of a request whose key was not collected. */
function outcomeOf({ status, collect_by, tries_left }: Consent): string {
  if (status === 'approved')
    return isTooLate(collect_by)
      ? 'The agent did not collect its key within an hour of your consent, so none was made.'
      : 'The agent can collect its key within an hour. This page then shows when it did, and from where.'
  if (status === 'expired') return 'It expired. No key was issued.'
  return tries_left <= 0
    ? 'No key was issued. If you typed the code that your agent showed, let it ask again; if another person told you what to type, tell the operator of this service.'
    : 'No key was issued.'
}

function isTooLate(collectBy: string | undefined): boolean {
  return collectBy !== undefined && Date.parse(collectBy) <= Date.now()
}
