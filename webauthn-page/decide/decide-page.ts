import { type CurrentSession, currentSessionShape } from '../../dashboard/shell/account-view.ts'
import type { Outcome } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { Review } from '../kit/api/contract.ts'
import { get } from '../kit/api/request.ts'
import { noteSignedIn } from '../kit/api/signed-in-before.ts'
import { type Draft, keptDraft } from '../kit/dom/draft.ts'
import { announce, type Child, div, el, folded } from '../kit/dom/element.ts'
import { timeLeft } from '../kit/dom/moment.ts'
import { notice, noticeSlot } from '../kit/dom/notice.ts'
import { showScene, showUser } from '../kit/dom/stage.ts'
import { whileVisible } from '../kit/dom/while-visible.ts'
import {
  assertSameRequest,
  type CheckedReview,
  keepOpened,
  loadReview,
  stateOf,
} from '../kit/request/checked-review.ts'
import { createConnection } from '../kit/request/connection.ts'
import { barTop } from '../kit/request/decision-bar.ts'
import { quorumView, requestPanel } from '../kit/request/request-panel.ts'
import { ACTION_ID, requestScene } from '../kit/request/request-scene.ts'
import { headingOf, REVOKED_KEY, revokedKeyNote, WORD_OF } from '../kit/request/request-words.ts'
import { type Unseen, watchUnseen } from '../kit/request/unseen.ts'
import { type DecisionFormOptions, decisionForm } from './decision-form.ts'
import { isFinal, sessionEnded, showInvitation, showStopped, wayBack } from './stopped-scenes.ts'

const POLL_MS = 4000

const loadPrecedents = () => import('../kit/request/precedents.ts')

/** `/a/<id>?d=approve|reject`. Opening the page changes nothing and shows nothing before sign-in (T12, T13). */
export class DecidePage {
  readonly #id: string
  readonly #wanted: Outcome | undefined
  readonly #draft: Draft
  readonly #connection = createConnection()
  #shown: CheckedReview | undefined
  /** The votes, beside the form; and before the request for phones, where that is under the fold. */
  #quorum: HTMLElement[] = []
  #unseen: Unseen | undefined
  /** The request and clock that the count-down uses. */
  #time: CheckedReview | undefined
  /** Who is signed in; loaded once the request is there. */
  #session: Promise<CurrentSession> | undefined
  /** Warns this person that an owner lets them set up their sign-in anew. */
  #recovery: HTMLElement | undefined
  /** What happened to the request, folded until a person wants it, if they came to decide. */
  #past: HTMLDetailsElement | undefined
  /** The links away from this page; they stay the same from scene to scene. */
  #way: HTMLElement | undefined
  #busy = false
  /** The scroll position when the session ended. */
  #place = 0
  #stopClock: () => void = () => {}
  #lookNow: () => void = () => {}

  constructor(id: string, wanted: Outcome | undefined) {
    this.#id = id
    this.#wanted = wanted
    this.#draft = keptDraft(`comment:${id}`)
    // While the request loads.
    loadPrecedents().catch(() => {})
    addEventListener('online', () => this.#lookNow())
  }

  /** Loads the request and shows its state below the message of `say`; `known` is shown if the request cannot be loaded. */
  async open(say?: (review: Review) => Child, known?: Child): Promise<void> {
    this.#stop()
    try {
      const checked = await this.#load()
      const message = say?.(checked.review)
      if (this.#shown === undefined) {
        this.#session = get('/session', currentSessionShape)
        this.#greet(this.#session, checked.review).catch(() => {})
      }
      this.#show(checked, message)
    } catch (error) {
      this.#fail(error, () => this.open(say, known), known)
    }
  }

  /** Shows who is signed in, and the ways to the pages that they may see. */
  async #greet(session: Promise<CurrentSession>, { requester }: Review): Promise<void> {
    const loading = import('../../dashboard/shell/navigation.ts')
    const found = await session
    // Signed out meanwhile: nobody is to be named.
    const isLate = (): boolean => this.#session !== session
    if (isLate()) return
    showUser(found.user)
    noteSignedIn(found.user.approver)
    const { showNavigationOf } = await loading
    if (isLate()) return
    holdingStill(() => showNavigationOf(requester.account, found))
    if (found.recovery === undefined) return
    const { recoveryNotice } = await import('../../dashboard/inbox/invitations.ts')
    if (isLate()) return
    // Whoever comes only by links to requests must see it within a day, too.
    this.#recovery = recoveryNotice(found.recovery, (said) => {
      this.#recovery = undefined
      return this.#again(said)
    })
    holdingStill(() => document.querySelector('.request')?.prepend(this.#recovery ?? ''))
  }

  /** Shows the newest state below what was done. */
  #again(said?: string): Promise<void> {
    return this.open(() => said && notice('success', said))
  }

  async #load(): Promise<CheckedReview> {
    const checked = await loadReview(this.#id)
    if (this.#shown !== undefined) {
      assertSameRequest(this.#shown.review, checked.review)
      keepOpened(this.#shown.review, checked.review)
    }
    this.#connection.alive()
    return checked
  }

  #show(checked: CheckedReview, message?: Child): void {
    this.#stop()
    const first = this.#shown === undefined
    this.#shown = checked
    const { review } = checked
    const author = review.approver ?? review.on_behalf_of?.delegate ?? ''
    if (this.#draft.author !== author) Object.assign(this.#draft, { text: '', reason: undefined })
    this.#draft.author = author
    const pending = review.status === 'pending'
    this.#time = { ...checked }
    const clock = pending ? timeLeft(this.#time, () => setTimeout(() => this.#lookNow(), 1000)) : undefined
    this.#stopClock = clock?.stop ?? (() => {})
    const [votes, ahead] = [quorumView(review), quorumView(review)]
    this.#quorum = [votes, ahead]
    const unseen = watchUnseen(barTop)
    this.#unseen = unseen
    const live = [clock?.element, votes, this.#connection.element].filter((part) => part !== undefined)
    const panel = requestPanel(review, isOpen(review) ? [] : live, () =>
      div('section-body', decisionForm(review, this.#formOptions(clock?.element, unseen)), votes),
    )
    const scene = requestScene(checked, panel, message)
    this.#past = this.#pastOf(review, this.#past?.open ?? !isOpen(review))
    scene.querySelector('.request-text')?.append(this.#past)
    scene.prepend(this.#recovery ?? '')
    const head = scene.querySelector('.request-head')
    if (isOpen(review)) {
      if (review.quorum.needed > 1) head?.append(ahead)
    } else {
      this.#way ??= wayBack()
      head?.after(this.#way)
    }
    showScene(titleOf(review), scene, { wide: true })
    if (first) focusWanted(scene)
    if (isOpen(review)) helpToDecide(review.id, scene, this.#draft)
    if (isOpen(review)) unseen.watch(scene)
    if (this.#place > 0) window.scrollTo(0, this.#place)
    this.#place = 0
    if (pending) this.#lookNow = whileVisible(scene, POLL_MS, () => this.#look())
  }

  /** Timeline, earlier requests and what was sent: loaded when they are wanted, for the decision comes first. */
  #pastOf(review: Review, open: boolean): HTMLDetailsElement {
    const slot = noticeSlot()
    const loading = el('p', { class: 'loading' }, 'Loading…')
    const past = folded('Timeline and earlier requests', slot.element, loading)
    past.classList.add('past')
    const load = async (): Promise<void> => {
      const { requestPast } = await import('../../dashboard/requests/request-past.ts')
      const session = await (this.#session ?? get('/session', currentSessionShape))
      past.append(...(await requestPast(review, session, (said) => this.#again(said))))
    }
    const first = (): void => void slot.attempt(load).then(() => loading.remove())
    past.addEventListener('toggle', first, { once: true })
    past.open = open
    return past
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
        if (failure.code !== 'not_signed_in') return this.#recorded()
        this.#stop()
        this.#invite(recorded)
      },
      mismatch: (error) => this.#fail(error),
    }
  }

  /**
   * Shows the decision that the service has recorded of this person. The answer to it may be lost, or be a refusal because a
   * browser sent it twice. `known` is the outcome the service confirmed.
   */
  #recorded(known?: Outcome): Promise<void> {
    const way = wayBack()
    this.#way = way
    loadPrecedents()
      .then(({ addNext }) => addNext(way, this.#id))
      .catch(() => {})
    return this.open((review) => {
      const own = ownVote(review)
      if (own === undefined) return notice('warning', review.status === 'pending' ? NOT_YOURS : NOT_RECORDED)
      this.#draft.text = ''
      announce(`Your ${WORD_OF[own.decision]} is recorded`)
      return recordedNotice(own.decision)
    }, known && recordedNotice(known))
  }

  /** Looks for a change, but not during a decision. @returns always true: the looks go on while the scene is on the page */
  async #look(): Promise<boolean> {
    if (this.#busy) return true
    const before = this.#shown
    try {
      const checked = await this.#load()
      // While the answer was on its way, the person may have pressed a button, or the page may have moved on.
      if (!this.#busy && before === this.#shown) this.#update(checked)
    } catch (error) {
      if (isFinal(error)) this.#fail(error)
      else this.#connection.lost()
    }
    return true
  }

  /** Shows a change. A small one replaces only the votes or adds a warning, so that a half-written comment and the focus stay. */
  #update(checked: CheckedReview): void {
    const before = this.#shown?.review
    const { review } = checked
    if (before === undefined || stateOf(before) !== stateOf(review)) {
      announce(`${headingOf(review)}.`)
      this.#show(checked)
      // The person did not cause this change: a press meant for the previous scene must not hit something else.
      document.querySelector('.request')?.classList.add('settling')
      return
    }
    // A difference of less than a second comes from network delay, and would make the count-down jump.
    const off = checked.clock - (this.#time?.clock ?? checked.clock)
    if (this.#time !== undefined && Math.abs(off) > 1000) this.#time.clock = checked.clock
    if (before.votes.length !== review.votes.length) {
      this.#quorum = this.#quorum.map((votes) => {
        const now = quorumView(review)
        votes.replaceWith(now)
        return now
      })
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

  /** Asks for sign-in and forgets what was shown: the next person to sign in here may be someone else. */
  #invite(recorded?: string): void {
    const first = this.#shown === undefined
    const message = first ? undefined : sessionEnded(recorded, this.#draft.text)
    this.#place = window.scrollY
    this.#shown = undefined
    this.#way = undefined
    showUser(undefined)
    document.querySelector('#navigation')?.replaceChildren()
    this.#past = undefined
    this.#recovery = undefined
    this.#session = undefined
    showInvitation(!first, () => void this.open(), message)
    if (message?.textContent) announce(message.textContent)
  }

  #stop(): void {
    this.#stopClock()
    this.#unseen?.stop()
    this.#unseen = undefined
  }
}

const NOT_RECORDED = 'your decision is not recorded; the request had ended before.'

const NOT_YOURS =
  'your decision is not recorded; this vote had been cast before, or you may no longer cast it.'

function recordedNotice(decision: Outcome): HTMLElement {
  return notice('success', `your ${WORD_OF[decision]} is recorded.`)
}

/** Returns the vote of the signed-in person. */
function ownVote({ votes }: Review): Review['votes'][number] | undefined {
  return votes.find(({ mine }) => mine)
}

/** Adds what was decided before and reasons for rejecting. Loaded later: the request comes first, and can be decided without. */
function helpToDecide(id: string, scene: Element, draft: Draft): void {
  loadPrecedents()
    .then(async ({ addHelp }) => {
      const add = await addHelp(id, scene, draft)
      holdingStill(add)
    })
    .catch(() => {})
}

/** Keeps the buttons under the finger when `change` makes the page above them longer, if the browser does not do so itself. */
function holdingStill(change: () => void): void {
  const buttons = document.querySelector('.decision-buttons')
  const before = buttons?.getBoundingClientRect().top ?? 0
  change()
  if (scrollY > 0 && CSS.supports('overflow-anchor', 'auto')) return
  window.scrollBy(0, (buttons?.getBoundingClientRect().top ?? 0) - before)
}

const TITLE_LENGTH = 60

/** Returns the page title. It contains the action, so that requests differ in tabs and the task switcher. */
function titleOf(review: Review): string {
  const action = [...visibleString(review.action)]
  const short = action.length > TITLE_LENGTH ? `${action.slice(0, TITLE_LENGTH).join('')}…` : action.join('')
  return `${isOpen(review) ? 'Approve?' : `${headingOf(review)}:`} ${short}`
}

/** Checks whether this person may decide the request now, with the factors they have. */
function isOpen({ status, may_decide }: Review): boolean {
  return status === 'pending' && may_decide
}

/** Focuses the button that the link asked for, if it is in view with the action; else it would be pressed blindly. */
function focusWanted(scene: HTMLElement): void {
  const wanted = scene.querySelector<HTMLElement>('[data-wanted]')
  if (wanted === null) return
  const { top, bottom } = wanted.getBoundingClientRect()
  const action = scene.querySelector(`#${ACTION_ID}`)?.getBoundingClientRect().top ?? 0
  if (top >= 0 && bottom <= window.innerHeight && action < barTop()) wanted.focus({ preventScroll: true })
}
