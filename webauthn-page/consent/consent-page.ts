import { showFailure, showInvitation, showMismatch, showNotFound } from '../decide/stopped-scenes.ts'
import { type Consent, consentShape } from '../kit/api/consent-shapes.ts'
import { sessionShape, type User } from '../kit/api/contract.ts'
import { get, RequestFailure } from '../kit/api/request.ts'
import { announce } from '../kit/dom/announce.ts'
import { type Child, el } from '../kit/dom/element.ts'
import { notice } from '../kit/dom/notice.ts'
import { showScene, showUser } from '../kit/dom/stage.ts'
import { whileVisible } from '../kit/dom/while-visible.ts'
import { timeLeft } from '../kit/request/time-left.ts'
import { consentForm } from './consent-form.ts'
import { consentScene, headingOf, outcomePanel } from './consent-scene.ts'

const POLL_MS = 4000

/** `/b/<id>`: an agent asks for an API key. Opening it changes nothing and shows nothing before sign-in. */
export class ConsentPage {
  readonly #id: string
  #shown: Consent | undefined
  #user: User | undefined
  #busy = false
  #stopClock: () => void = () => {}

  constructor(id: string) {
    this.#id = id
  }

  /** Loads the request and shows its state, with `message` above it. */
  async open(message?: Child): Promise<void> {
    try {
      const [{ user }, consent] = await Promise.all([get('/session', sessionShape), this.#load()])
      this.#user = user
      showUser(user)
      this.#show(consent, user, message)
    } catch (error) {
      this.#fail(error)
    }
  }

  #load(): Promise<Consent> {
    return get(`/account/bootstrap/${encodeURIComponent(this.#id)}`, consentShape)
  }

  #show(consent: Consent, user: User, message?: Child): void {
    this.#stopClock()
    const first = this.#shown === undefined
    this.#shown = consent
    const panel = consent.status === 'pending' ? this.#openPanel(consent, user) : outcomePanel(consent)
    const scene = consentScene(consent, panel, message)
    showScene(headingOf(consent), scene, { wide: true, focus: !first })
    const moving = consent.status === 'pending' || isUncollected(consent)
    if (moving) whileVisible(scene, POLL_MS, () => this.#look(scene))
  }

  #openPanel(consent: Consent, user: User): HTMLElement {
    const clock = Date.parse(consent.server_time) - performance.now()
    const time = timeLeft({ review: consent, clock }, () => void this.open())
    this.#stopClock = time.stop
    const form = consentForm(consent, {
      user,
      busy: (state) => {
        this.#busy = state
      },
      recorded: async (decision) => {
        announce(decision === 'approved' ? 'Your approval is recorded' : 'Your rejection is recorded')
        await this.open(notice('success', `you ${decision} this request.`))
      },
      refresh: (failure) => this.#refresh(failure),
      mismatch: (error) => this.#fail(error),
    })
    return el(
      'section',
      { class: 'panel', 'aria-labelledby': 'panel-title' },
      el('h2', { id: 'panel-title' }, 'Your decision'),
      time.element,
      form,
    )
  }

  /** After a refusal: the form stays while the request is still open. */
  async #refresh(failure: RequestFailure): Promise<boolean> {
    try {
      const consent = await this.#load()
      if (consent.status === 'pending') return true
      if (this.#user !== undefined) this.#show(consent, this.#user, notice('warning', failure.message))
    } catch (error) {
      this.#fail(error)
    }
    return false
  }

  /** @returns whether to look again */
  async #look(scene: HTMLElement): Promise<boolean> {
    if (this.#busy) return true
    const before = this.#shown
    try {
      const consent = await this.#load()
      if (this.#busy || before !== this.#shown || this.#user === undefined) return scene.isConnected
      if (headingOf(consent) === (before && headingOf(before))) return true
      announce(`${headingOf(consent)}.`)
      this.#show(consent, this.#user)
      return false
    } catch (error) {
      const final = error instanceof RequestFailure && [401, 404].includes(error.status)
      if (final) this.#fail(error)
      return !final
    }
  }

  #fail(error: unknown): void {
    this.#stopClock()
    const status = error instanceof RequestFailure ? error.status : undefined
    if (error instanceof Error && error.name === 'MismatchError') showMismatch(error)
    else if (status === 401) this.#invite()
    else if (status === 404) showNotFound()
    else showFailure(error, () => this.open())
  }

  /** Forgets what was shown: the next person to sign in here may be another one. */
  #invite(): void {
    const first = this.#shown === undefined
    this.#shown = undefined
    this.#user = undefined
    showUser(undefined)
    showInvitation(!first, () => void this.open())
  }
}

function isUncollected({ status, collected }: Consent): boolean {
  return status === 'approved' && collected === undefined
}
