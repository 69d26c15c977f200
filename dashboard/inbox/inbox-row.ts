import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { type Child, div, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { duration, exactly, secondsUntil } from '../../webauthn-page/kit/dom/moment.ts'
import { keepFilters } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { callerName, callerText, warningNames } from '../../webauthn-page/kit/show/caller-text.ts'
import { tag } from '../parts/rows.ts'

export type InboxRow = ReturnType<typeof inboxRow>

/**
 * The row of a waiting request. The service's own words stand beside the caller's words, never in their tint (T44). The
 * row shows the beginning of the action, to find the request: the page of the decision shows it in full.
 */
export function inboxRow(request: PendingRequest) {
  const textId = freshId('action')
  const [marksId, askerId] = [`${textId}-marks`, `${textId}-asker`]
  const open = el(
    'a',
    {
      class: 'inbox-open',
      // Leaves out the time left: screen readers would repeat it each second.
      'aria-describedby': `${marksId} ${askerId}`,
    },
    el('span', { class: 'inbox-action', id: textId }, callerText(request.action)),
  )
  const box = canDecide(request)
    ? el('input', { type: 'checkbox', 'aria-label': 'Select', 'aria-describedby': textId })
    : undefined
  const time = countdown(request.expires_at, 'visually-hidden')
  const marks = el('div', { class: 'inbox-marks', id: marksId })
  const account = el('span', {}, ' · ', callerText(request.requested_by.account_name))
  let seen = request
  let drawn = ''
  const renew = (now: PendingRequest): void => {
    seen = now
    const state = stateOf(now)
    if (state !== drawn) marks.replaceChildren(...marksOf(now))
    drawn = state
  }
  const aim = (): void => {
    open.href = keepFilters(pageOf(request))
  }
  renew(request)
  aim()
  const group = div('inbox-group')
  const element = el(
    'div',
    { class: 'inbox-row', role: 'listitem' },
    // The label makes the whole corner of the row a target for a finger.
    box && el('label', { class: 'inbox-pick' }, box),
    open,
    div('inbox-about', marks, el('p', { class: 'inbox-asker', id: askerId }, ...asker(request, account))),
    time.element,
    group,
  )
  return {
    request,
    element,
    /** The link to the page where the request is decided; the whole row is its target. */
    link: open,
    /** Selects the request for a joint decision; undefined if this person cannot decide it. */
    box,
    /** The name of the account that asks; shown when the list has several accounts. */
    account,
    /** The place for the controls of the rows of its kind. */
    group,
    /** Whether this person has had the request on the screen. */
    opened: () => seen.opened === true || element.classList.contains('read'),
    /** Points the link at the request's page, with the filters of the list. */
    aim,
    /** Updates the marks that can change. */
    renew,
    /** Updates the time left; `clock` is as in `secondsUntil`. */
    tick: time.tick,
    /** Marks the request as settled and disables its row, for a row that cannot be removed yet. */
    settle: () => {
      element.classList.add('settled')
      if (box !== undefined) Object.assign(box, { checked: false, disabled: true })
      time.element.textContent = 'Settled'
    },
  }
}

/** The path of the page where the request is decided. */
export function pageOf({ id }: { id: string }): string {
  return `/a/${encodeURIComponent(id)}`
}

/** Checks whether this person may decide the request, and has a factor to confirm it with. */
export function canDecide({ may_decide, methods }: PendingRequest): boolean {
  return may_decide && methods.length > 0
}

const SOON_SECONDS = 600
/** With more seconds left than this, only minutes are shown: seconds would distract. */
const SECONDS_SHOWN = 120

/** Shows the time left until `expires_at`, which is its title; `look` is the class of the words “Expires in”. */
export function countdown(expires_at: string, look: string) {
  const element = el('span', { class: 'time-left' })
  element.addEventListener('pointerenter', () => {
    element.title = `Expires at ${exactly(expires_at)}`
  })
  let shown = Number.NaN
  const tick = (clock: number): void => {
    const left = secondsUntil(expires_at, clock)
    // Of thousands of rows nearly all say what they said a second ago.
    const whole = left > SECONDS_SHOWN ? Math.floor(left / 60) * 60 : Math.max(-1, Math.floor(left))
    if (whole === shown) return
    shown = whole
    const said = left > SECONDS_SHOWN ? duration(left).replace(/ \d+ s$/, '') : duration(left)
    const words = left > 0 ? said : 'Expired'
    element.replaceChildren(left > 0 ? el('span', { class: look }, 'Expires in ') : '', words)
    element.classList.toggle('soon', left <= SOON_SECONDS)
    element.classList.toggle('urgent', left <= 60)
  }
  return { element, tick }
}

/** What can change in a pending request; its text never does. */
function stateOf(request: PendingRequest): string {
  const { quorum, requested_by, held } = request
  return [quorum.approved, requested_by.key_revoked, held, canDecide(request)].join()
}

function marksOf(request: PendingRequest): HTMLElement[] {
  const { high_impact, requested_by, quorum, action, attachments } = request
  return [
    ...(high_impact ? [el('span', { class: 'badge high-impact' }, 'High impact')] : []),
    ...(requested_by.key_revoked === true ? [tag('Key revoked', 'severe')] : []),
    ...warningNames(action).map((name) => tag(name, 'warn')),
    ...(quorum.needed > 1 && quorum.approved > 0 ? [approvals(quorum)] : []),
    ...(attachments ? [tag(attachments === 1 ? '1 attachment' : `${attachments} attachments`)] : []),
    ...(canDecide(request) ? [] : [tag(request.held ? 'Held' : 'You cannot confirm it', 'warn')]),
  ]
}

/** The count of approvals; on a phone only the numbers, so that the caller's name fits in the same line. */
function approvals({ approved, needed }: PendingRequest['quorum']): HTMLElement {
  const element = tag(`${approved} of ${needed}`)
  element.append(el('span', { class: 'not-on-phones' }, ' approvals'))
  return element
}

function asker({ requested_by, on_behalf_of: other }: PendingRequest, account: HTMLElement): Child[] {
  const standing = other === null ? [] : [' · for ', callerName(other.name)]
  return [callerName(requested_by.key_name), account, ...standing]
}

/** A list of more rows is drawn in parts. */
const LONG = 200
/** Rows of a part. A browser skips the parts far from the window; what it spends on a frame grows with the number of siblings. */
const PART = 25

/** Adds rows at the end of the list. */
export function appendRows(list: HTMLElement, rows: readonly InboxRow[]): void {
  if (list.lastElementChild === null) list.append(div('inbox-part'))
  list.lastElementChild?.append(...rows.map(({ element }) => element))
}

/** Puts all rows of the list into this order. Moves only those out of place: a row that moves loses the focus. */
export function placeRows(list: HTMLElement, rows: readonly InboxRow[]): void {
  for (const part of [...list.children]) if (part.firstElementChild === null) part.remove()
  let at = list.firstElementChild?.firstElementChild ?? null
  for (const row of rows) {
    if (row.element === at) at = at.nextElementSibling ?? firstOf(at.parentElement?.nextElementSibling)
    else if (at === null) appendRows(list, [row])
    else at.before(row.element)
  }
  const isLong = rows.length > LONG
  list.classList.toggle('long', isLong)
  if (isLong && [...list.children].some(({ childElementCount }) => childElementCount > 2 * PART)) divide(list)
  sizeParts(list)
}

function firstOf(part: Element | null | undefined): Element | null {
  return part?.firstElementChild ?? null
}

function divide(list: HTMLElement): void {
  const focused = document.activeElement
  const rows = [...list.children].flatMap(({ children }) => [...children])
  const parts = Array.from({ length: Math.ceil(rows.length / PART) }, (_, n) =>
    div('inbox-part', ...rows.slice(n * PART, (n + 1) * PART)),
  )
  list.replaceChildren(...parts)
  if (focused instanceof HTMLElement && list.contains(focused)) focused.focus({ preventScroll: true })
}

/** Tells the browser how high the parts are that it does not draw: by the number of rows shown in each. */
export function sizeParts(list: HTMLElement): void {
  for (const part of list.querySelectorAll<HTMLElement>('.inbox-part')) {
    const shown = part.querySelectorAll('.inbox-row:not([hidden], .folded)')
    part.style.setProperty('--rows', String(shown.length))
  }
}
