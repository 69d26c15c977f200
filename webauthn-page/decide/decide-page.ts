import type { Outcome } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import { type PendingRequest, pendingShape, type Review, sessionShape } from '../kit/api/contract.ts'
import { get } from '../kit/api/request.ts'
import { type Draft, keptDraft } from '../kit/dom/draft.ts'
import { announce, type Child, div, link, p } from '../kit/dom/element.ts'
import { timeLeft } from '../kit/dom/moment.ts'
import { notice } from '../kit/dom/notice.ts'
import { showScene, showUser } from '../kit/dom/stage.ts'
import { whileVisible } from '../kit/dom/while-visible.ts'
import { assertSameRequest, type CheckedReview, loadReview, stateOf } from '../kit/request/checked-review.ts'
import { createConnection } from '../kit/request/connection.ts'
import { barTop } from '../kit/request/decision-bar.ts'
import { quorumView, requestPanel } from '../kit/request/request-panel.ts'
import { requestScene } from '../kit/request/request-scene.ts'
import { headingOf, REVOKED_KEY, revokedKeyNote, WORD_OF } from '../kit/request/request-words.ts'
import { type Unseen, watchUnseen } from '../kit/request/unseen.ts'
import { type DecisionFormOptions, decisionForm } from './decision-form.ts'
import { isFinal, sessionEnded, showInvitation, showStopped, wayBack } from './stopped-scenes.ts'

const POLL_MS = 4000

/** `/a/<id>?d=approve|reject`. Opening it changes nothing and shows nothing before sign-in (T12, T13). */
export class DecidePage {
  readonly #id: string
  readonly #wanted: Outcome | undefined
  readonly #draft: Draft
  readonly #connection = createConnection()
  #shown: CheckedReview | undefined
  #quorum: HTMLElement | undefined
  #unseen: Unseen | undefined
  /** What the count-down goes by. */
  #time: CheckedReview | undefined
  /** Stays the same from scene to scene. */
  #way: HTMLElement | undefined
  #busy = false
  /** Where the person was when their session ended. */
  #place = 0
  #stopClock: () => void = () => {}
  #lookNow: () => void = () => {}

  constructor(id: string, wanted: Outcome | undefined) {
    this.#id = id
    this.#wanted = wanted
    this.#draft = keptDraft(`comment:${id}`)
    addEventListener('online', () => this.#lookNow())
  }

  /** Loads the request and shows its state, with what `say` says of it above it; `known` is true also if it cannot be loaded. */
  async open(say?: (review: Review) => Child, known?: Child): Promise<void> {
    this.#stop()
    try {
      const checked = await this.#load()
      const message = say?.(checked.review)
      if (this.#shown === undefined)
        void get('/session', sessionShape).then(
          ({ user }) => showUser(user),
          () => {},
        )
      this.#show(checked, message)
    } catch (error) {
      this.#fail(error, () => this.open(say, known), known)
    }
  }

  async #load(): Promise<CheckedReview> {
    const checked = await loadReview(this.#id)
    if (this.#shown !== undefined) assertSameRequest(this.#shown.review, checked.review)
    this.#connection.alive()
    return checked
  }

  #show(checked: CheckedReview, message?: Child): void {
    this.#stop()
    const first = this.#shown === undefined
    this.#shown = checked
    const { review } = checked
    const author = review.approver ?? review.on_behalf_of?.delegate ?? ''
    if (this.#draft.author !== author) this.#draft.text = ''
    this.#draft.author = author
    const pending = review.status === 'pending'
    this.#time = { ...checked }
    const clock = pending ? timeLeft(this.#time, () => setTimeout(() => this.#lookNow(), 1000)) : undefined
    this.#stopClock = clock?.stop ?? (() => {})
    const votes = quorumView(review)
    this.#quorum = votes
    const unseen = watchUnseen(barTop)
    this.#unseen = unseen
    const live = [clock?.element, votes, this.#connection.element].filter((part) => part !== undefined)
    const panel = requestPanel(review, isOpen(review) ? [] : live, () =>
      div('section-body', decisionForm(review, this.#formOptions(clock?.element, unseen)), votes),
    )
    const scene = requestScene(checked, panel, message)
    const past = link(`/requests/${encodeURIComponent(review.id)}`, 'Timeline and earlier requests', {
      class: 'button plain',
    })
    scene.querySelector('.request-text')?.append(p(past))
    if (!isOpen(review)) {
      this.#way ??= wayBack()
      scene.querySelector('.request-head')?.after(this.#way)
    }
    showScene(titleOf(review), scene, { wide: true })
    if (first) focusWanted(scene)
    if (isOpen(review)) unseen.watch(scene)
    if (this.#place > 0) window.scrollTo(0, this.#place)
    this.#place = 0
    if (pending) this.#lookNow = whileVisible(scene, POLL_MS, () => this.#look())
  }

  #formOptions(time: HTMLElement | undefined, unseen: Unseen): DecisionFormOptions {
    return {
      wanted: this.#wanted,
      draft: this.#draft,
      timeLeft: time,
      unseen,
      connection: this.#connection,
      busy: (state) => {
        this.#busy = state
      },
      lost: {
        look: async () => {
          const { review } = await this.#load()
          return review.status !== 'pending' || ownVote(review) !== undefined
        },
        found: () => this.#recorded(),
      },
      recorded: (decision) => this.#recorded(decision),
      stale: async (failure, recorded) => {
        if (failure.code !== 'not_signed_in') return this.#recorded(undefined, failure.message)
        this.#stop()
        this.#invite(recorded)
      },
      mismatch: (error) => this.#fail(error),
    }
  }

  /**
   * Shows what the service has recorded of this person: after their word, whose answer may be lost or a refusal, because a
   * browser sent it twice. `known` is what the service said of it, `otherwise` is said where nothing is recorded.
   */
  #recorded(known?: Outcome, otherwise = NOT_RECORDED): Promise<void> {
    this.#way = wayOn(this.#id)
    return this.open((review) => {
      const own = ownVote(review)
      if (own === undefined) return notice('warning', otherwise)
      this.#draft.text = ''
      announce(`Your ${WORD_OF[own.decision]} is recorded`)
      return recordedNotice(own.decision)
    }, known && recordedNotice(known))
  }

  /** Not while something is being signed. @returns that it looks again, as long as its scene is on the page */
  async #look(): Promise<boolean> {
    if (this.#busy) return true
    const before = this.#shown
    try {
      const checked = await this.#load()
      // The person may have pressed a button, or the page moved on, while the answer was under way.
      if (!this.#busy && before === this.#shown) this.#update(checked)
    } catch (error) {
      if (isFinal(error)) this.#fail(error)
      else this.#connection.lost()
    }
    return true
  }

  /** Small changes replace only the votes or add a warning, so that a half-written comment and the focus stay where they are. */
  #update(checked: CheckedReview): void {
    const before = this.#shown?.review
    const { review } = checked
    if (before === undefined || stateOf(before) !== stateOf(review)) {
      announce(`${headingOf(review)}.`)
      this.#show(checked)
      // The person did not ask for this change: a press that was meant for what was there before must not hit something else.
      document.querySelector('.request')?.classList.add('settling')
      return
    }
    // Less than a second is the way of the answer, and would make the count-down stumble.
    const off = checked.clock - (this.#time?.clock ?? checked.clock)
    if (this.#time !== undefined && Math.abs(off) > 1000) this.#time.clock = checked.clock
    if (before.votes.length !== review.votes.length) {
      const votes = quorumView(review)
      this.#quorum?.replaceWith(votes)
      this.#quorum = votes
      announce(`${review.quorum.approved} of ${review.quorum.needed} approvals`)
    }
    if (before.requested_by.key_revoked !== review.requested_by.key_revoked) {
      holdingStill(() => {
        document.querySelector('.request-head')?.append(revokedKeyNote(review.requested_by) ?? '')
      })
      announce(REVOKED_KEY)
    }
    this.#shown = checked
  }

  #fail(error: unknown, again = () => this.open(), known?: Child): void {
    this.#stop()
    showStopped(error, () => this.#invite(), again, known)
  }

  /** Forgets what was shown: the next person to sign in here may be another one. */
  #invite(recorded?: string): void {
    const first = this.#shown === undefined
    const message = first ? undefined : sessionEnded(recorded, this.#draft.text)
    this.#place = window.scrollY
    this.#shown = undefined
    this.#way = undefined
    showUser(undefined)
    showInvitation(!first, () => void this.open(), message)
    if (message?.textContent) announce(message.textContent)
  }

  #stop(): void {
    this.#stopClock()
    this.#unseen?.stop()
    this.#unseen = undefined
  }
}

const NOT_RECORDED = 'your decision is not recorded; the request was over before.'

function recordedNotice(decision: Outcome): HTMLElement {
  return notice('success', `your ${WORD_OF[decision]} is recorded.`)
}

/** The vote of the person at this browser. */
function ownVote({ votes }: Review): Review['votes'][number] | undefined {
  return votes.find(({ mine }) => mine)
}

/** Keeps the buttons under the finger while `change` makes the page above them longer, where the browser does not. */
function holdingStill(change: () => void): void {
  const buttons = document.querySelector('.decision-buttons')
  const before = buttons?.getBoundingClientRect().top ?? 0
  change()
  if (scrollY > 0 && CSS.supports('overflow-anchor', 'auto')) return
  window.scrollBy(0, (buttons?.getBoundingClientRect().top ?? 0) - before)
}

const TITLE_LENGTH = 60

/** With the action, so that tabs and the task switcher tell requests apart. */
function titleOf(review: Review): string {
  const action = [...visibleString(review.action)]
  const short = action.length > TITLE_LENGTH ? `${action.slice(0, TITLE_LENGTH).join('')}…` : action.join('')
  return `${isOpen(review) ? 'Approve?' : `${headingOf(review)}:`} ${short}`
}

/** May this person decide it now, with what they have? */
function isOpen({ status, may_decide }: Review): boolean {
  return status === 'pending' && may_decide
}

/** The button the link asked for takes the focus if it can be seen; a focus out of sight would be pressed blindly. */
function focusWanted(scene: HTMLElement): void {
  const wanted = scene.querySelector<HTMLElement>('[data-wanted]')
  if (wanted === null) return
  const { top, bottom } = wanted.getBoundingClientRect()
  if (top >= 0 && bottom <= window.innerHeight) wanted.focus({ preventScroll: true })
}

/**
 * After a decision: the way back, and the request whose time runs out first of those that still wait for this person. It is
 * a plain link, which takes along no decision. When the next request is not known, the way back remains.
 */
function wayOn(decidedId: string): HTMLElement {
  const element = wayBack()
  void get('/me/pending', pendingShape).then(
    ({ data }) => {
      const next = nextOf(data, decidedId)
      if (next === undefined) return
      // Last: what is there already stays under the finger.
      element.append(link(`/a/${encodeURIComponent(next.id)}`, 'Next request', { class: 'button primary' }))
    },
    () => {},
  )
  return element
}

function nextOf(waiting: readonly PendingRequest[], decidedId: string): PendingRequest | undefined {
  return waiting
    .filter(({ id, may_decide, methods }) => id !== decidedId && may_decide && methods.length > 0)
    .sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))[0]
}
