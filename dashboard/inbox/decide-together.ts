import type { Outcome } from '../../src/domain/receipt.ts'
import type { Factor } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure, refusedWith } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { type Draft, keptDraft } from '../../webauthn-page/kit/dom/draft.ts'
import {
  announce,
  announcements,
  type Child,
  div,
  el,
  freshId,
  link,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { type NoticeSlot, noticeSlot, sentenceOf, signInHref } from '../../webauthn-page/kit/dom/notice.ts'
import { stopPrompt } from '../../webauthn-page/kit/passkey/ceremony.ts'
import { unopenedNote } from '../../webauthn-page/kit/request/attachments.ts'
import { type Ballot, commentField, createBallot } from '../../webauthn-page/kit/request/ballot.ts'
import { type CheckedReview, MismatchError } from '../../webauthn-page/kit/request/checked-review.ts'
import { barTop, decidingFor, keepClear } from '../../webauthn-page/kit/request/decision-bar.ts'
import { type Lost, refusedIn } from '../../webauthn-page/kit/request/lost-answer.ts'
import { addReasons } from '../../webauthn-page/kit/request/precedents.ts'
import { audience } from '../../webauthn-page/kit/request/request-words.ts'
import { type Unseen, watchUnseen } from '../../webauthn-page/kit/request/unseen.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'
import type { BatchItem } from './batch.ts'
import { itemList, loadBatch, recordedOf, resultRows, submitBatch } from './batch.ts'

/** Error codes that mean: the list has changed since it was shown. Nothing was recorded then. */
const CHANGED = ['batch_changed', 'not_pending', 'already_voted', 'not_found']

const ALL_AT_ONCE = 'One confirmation decides all of these; each gets its own signature. '

/** One decision on several requests under one gesture, in a dialog of its own. */
export class DecideTogether {
  readonly #ids: readonly string[]
  readonly #decision: Outcome
  readonly #actor: string
  readonly #heading = el('h2', { id: freshId('together'), tabindex: -1 })
  readonly #slot = noticeSlot()
  readonly #body = div('batch-body')
  readonly #dialog = el('dialog', { class: 'dialog sheet', 'aria-labelledby': this.#heading.id })
  /** Tells the person why nothing can be sent. */
  readonly #cutOff = el('p', { class: 'connection', role: 'status' })
  readonly #closed = new AbortController()
  readonly #draft: Draft
  #ballot: Ballot | undefined
  #busy = false
  #unseen: Unseen | undefined
  /** The timer that updates the times left. */
  #ticking: number | undefined

  /** `actor` is the reference of the signed-in person. */
  constructor(ids: readonly string[], decision: Outcome, actor: string) {
    this.#ids = ids
    this.#decision = decision
    this.#actor = actor
    this.#draft = keptDraft(`comment:${ids.join()}`, this.#closed.signal)
    if (this.#draft.author !== actor) this.#draft.text = ''
    this.#draft.author = actor
  }

  /** Disables the decision while `why` says that nothing can be sent; undefined enables it. */
  allow(why: string | undefined): void {
    this.#cutOff.textContent = why ?? ''
    this.#ballot?.hold(why)
  }

  /** Hides the requests: the next person at this browser may be someone else. */
  signedOut(recorded?: string): void {
    if (this.#busy && recorded === undefined) return
    this.#slot.show('info', ['your session has ended.', recorded].filter(Boolean).join(' '))
    const signIn = link(signInHref(), 'Sign in', { class: 'button primary' })
    this.#show(`${this.#verb()} together`, p('Your comment and your selection are kept.'), signIn)
  }

  /** Opens the dialog. Resolves when it is closed, whatever the outcome. */
  async open(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#dialog.addEventListener('close', () => {
        stopPrompt()
        this.#leave()
        this.#closed.abort()
        this.#dialog.remove()
        resolve()
      })
    })
    // Closing the dialog cannot take back a decision that is under way.
    this.#dialog.addEventListener('cancel', (event) => {
      if (this.#busy) event.preventDefault()
    })
    this.#dialog.append(this.#heading, this.#slot.element, this.#body, announcements())
    document.body.append(this.#dialog)
    this.#dialog.showModal()
    await this.#load()
    await closed
  }

  /** @returns whether the list is shown */
  async #load(): Promise<boolean> {
    this.#show(
      `${this.#verb()} together`,
      el('p', { class: 'loading' }, 'Loading the requests…'),
      this.#closing('Cancel'),
    )
    try {
      const reviews = await loadBatch(this.#ids)
      if (!this.#dialog.open) return false
      if (reviews.length > 0) this.#showItems(reviews)
      else this.#show('Nothing to decide', p('Everything has been decided.'), this.#closing('Close'))
      return true
    } catch (error) {
      if (!this.#dialog.open) return false
      if (error instanceof MismatchError) this.#showMismatch(error)
      else if (error instanceof RequestFailure && error.status === 401) this.signedOut('')
      else this.#showFailure(error)
      return false
    }
  }

  #verb(): string {
    return this.#decision === 'approved' ? 'Approve' : 'Reject'
  }

  /** Stops watching what was shown, and its timer. */
  #leave(): void {
    this.#unseen?.stop()
    clearInterval(this.#ticking)
  }

  #show(title: string, ...parts: Child[]): void {
    this.#leave()
    this.#heading.textContent = title
    this.#body.replaceChildren(...parts.filter((part) => part !== undefined && part !== false))
    this.#heading.focus()
    this.#dialog.scrollTo(0, 0)
  }

  #showItems(items: readonly CheckedReview[]): void {
    const methods = usableForAll(items)
    const left = this.#ids.length - items.length
    const high = items.filter(({ review }) => review.high_impact).length
    const unseen = watchUnseen(barTop)
    const list = itemList(items)
    const [alone, all] = [items.length === 1, high > 0 && high === items.length]
    const facts = [
      all && (alone ? 'It is marked high impact.' : 'All are marked high impact.'),
      high === 1 && !all && 'One of them is marked high impact and comes first.',
      high > 1 && !all && `${high} of them are marked high impact and come first.`,
      left > 0 && `${left} can no longer be decided by you and ${left === 1 ? 'is' : 'are'} left out.`,
    ].filter((fact) => fact !== false)
    this.#show(
      `${this.#verb()} ${counted(items.length)}?`,
      p(alone ? 'You decide it with one signature. ' : ALL_AT_ONCE, facts.join(' ')),
      div(
        'batch-columns',
        list.element,
        div(
          'batch-side',
          ...(methods.length === 0
            ? [
                p('No single factor is allowed for all of these. Decide them one by one.'),
                this.#closing('Cancel'),
              ]
            : [this.#form(items, methods, unseen)]),
        ),
      ),
    )
    this.#unseen = unseen
    this.#ticking = window.setInterval(list.tick, 1000)
    if (this.#decision === 'approved') unseen.watch(...this.#body.querySelectorAll<HTMLElement>('.to-read'))
  }

  /** Before an approval, all parts of high-impact requests must have been on the screen, as on a request's own page. */
  #form(items: readonly CheckedReview[], methods: readonly Factor[], unseen: Unseen): HTMLElement {
    const readers =
      items.length === 1
        ? 'The caller gets it; it is not part of the signed receipt.'
        : 'The callers get it; it is not part of the signed receipts.'
    const comment = commentField(this.#draft, readers)
    const busy = (state: boolean): void => {
      this.#busy = state
    }
    const ballot = createBallot({ methods, busy, fields: { comment }, lost: this.#lost(items) })
    this.#ballot = ballot
    ballot.hold(this.#cutOff.textContent || undefined)
    const confirm = ballot.button(
      `${this.#verb()} ${counted(items.length)}`,
      this.#decision === 'approved' ? 'approve' : 'reject',
      async () => {
        this.#slot.clear()
        unseen.look()
        if (unseen.left() > 0) return unseen.askToRead(ballot.slot, 'what you approve has')
        await ballot.cast(
          (totp) => this.#decide(items, totp, ballot.slot),
          (error) => this.#took(error),
        )
      },
    )
    const bar = div(
      'decision-bar',
      ballot.slot.element,
      this.#cutOff,
      forOthers(items),
      unopenedNote(items.map(({ review }) => review)),
      unseen.element,
      ballot.elsewhere,
      this.#closing('Cancel', ballot.elsewhere === undefined && confirm),
    )
    keepClear(bar)
    const form = div('decision-form', comment.row, ballot.choice, bar, ballot.hint)
    if (this.#decision === 'rejected') void addReasons(oneOfEachAccount(items), form, this.#draft)
    unseen.changed = () => {
      form.toggleAttribute('data-unread', unseen.left() > 0)
      bar.toggleAttribute('data-more', unseen.left() > 0)
    }
    return form
  }

  /** The service records votes one after the other: they are complete once a second look finds no further ones. */
  #lost(items: readonly CheckedReview[]): Lost {
    const ids = items.map(({ review }) => review.id)
    let found: readonly BatchItem[] = []
    return {
      look: async () => {
        const before = found.length
        found = await recordedOf(ids)
        return found.length === ids.length || (found.length > 0 && found.length === before)
      },
      found: async () => this.#showResults(items, found),
    }
  }

  async #decide(items: readonly CheckedReview[], totp: string | undefined, slot: NoticeSlot): Promise<void> {
    const reviews = items.map(({ review }) => review)
    const who = { decision: this.#decision, actor: this.#actor, audience: audience() }
    const { text: comment, reason } = this.#draft
    this.#showResults(items, await submitBatch({ reviews, ...who, comment, reason }, totp, slot))
  }

  /** @returns false for an error that leaves the form as it is: a closed prompt, a wrong code, no answer */
  async #took(error: unknown): Promise<boolean> {
    const { failure, recorded } = refusedIn(error)
    if (error instanceof MismatchError) this.#showMismatch(error)
    else if (failure instanceof RequestFailure && failure.status === 401) this.signedOut(recorded)
    else if (refusedWith(CHANGED, error)) await this.#reload(error)
    else return false
    return true
  }

  async #reload({ ids }: RequestFailure): Promise<void> {
    if (!(await this.#load())) return
    const some = ids.length === 0 ? 'something' : counted(ids.length)
    this.#slot.show(
      'warning',
      `${some} changed since you looked: decided, withdrawn or expired. Nothing was recorded. The list now shows the current state.`,
    )
  }

  #showResults(items: readonly CheckedReview[], results: readonly BatchItem[]): void {
    this.#draft.text = ''
    const recorded = results.filter((result) => !('error' in result)).length
    // With a quorum a recorded approval is not yet an approved request.
    const over = results.filter((result) => !('error' in result) && result.status !== 'pending').length
    this.#show(
      over === items.length
        ? `${this.#decision === 'approved' ? 'Approved' : 'Rejected'}: ${counted(recorded)}`
        : `${recorded} of ${counted(items.length)} recorded`,
      this.#closing('Back to the inbox'),
      el(
        'ol',
        { class: 'batch-list', 'aria-label': 'Outcomes' },
        ...resultRows(items, this.#decision, results),
      ),
    )
    announce(`${recorded} of ${counted(items.length)} recorded`)
  }

  #showMismatch(error: MismatchError): void {
    this.#slot.show('error', error.message, ' Nothing was signed.')
    this.#show(
      'Stopped for your safety',
      p('Do not decide these requests any other way. Tell the operator of this service about this message.'),
      this.#closing('Close'),
    )
  }

  #showFailure(error: unknown): void {
    this.#slot.show('failed', sentenceOf(error))
    this.#show(
      'The requests could not be loaded',
      buttonRow(
        button('Try again', 'primary', async () => {
          this.#slot.clear()
          await this.#load()
        }),
        button('Close', 'quiet', () => this.#dialog.close()),
      ),
    )
  }

  #closing(label: string, beside: Child = false): HTMLElement {
    return buttonRow(
      button(label, label === 'Cancel' ? 'quiet' : 'primary', () => {
        if (this.#busy) stopPrompt()
        else this.#dialog.close()
      }),
      beside,
    )
  }
}

/** The factors that may confirm every one of the requests. */
function usableForAll(items: readonly CheckedReview[]): Factor[] {
  const [first, ...others] = items
  if (first === undefined) return []
  return first.review.methods.filter((method) =>
    others.every(({ review }) => review.methods.includes(method)),
  )
}

/** The ids of one request of each account that asks. */
function oneOfEachAccount(items: readonly CheckedReview[]): string[] {
  return [...new Map(items.map(({ review }) => [review.requester.account, review.id])).values()]
}

function counted(number: number): string {
  return number === 1 ? '1 request' : `${number} requests`
}

/** Names beside the button the people for whom the person decides as a delegate; undefined if there are none. */
function forOthers(items: readonly CheckedReview[]): HTMLElement | undefined {
  const others = new Map<string, { name: string; count: number }>()
  for (const { review } of items) {
    const other = review.on_behalf_of ?? undefined
    if (other === undefined) continue
    others.set(other.approver, { name: other.name, count: (others.get(other.approver)?.count ?? 0) + 1 })
  }
  if (others.size === 0) return undefined
  const named = [...others.values()].flatMap(({ name, count }, index): Child[] => [
    index > 0 && ', ',
    callerName(name),
    count < items.length && ` (${count} of ${items.length})`,
  ])
  return decidingFor(...named)
}
