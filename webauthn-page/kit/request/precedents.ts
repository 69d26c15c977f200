import { cutText, more } from '../../../src/domain/cut-text.ts'
import { precedentWords } from '../../../src/domain/precedent-words.ts'
import type { Answer } from '../../../src/http/api/shared/fields.ts'
import type { similarAnswer } from '../../../src/http/api/similar.ts'
import { type PendingRequest, pendingShape } from '../api/contract.ts'
import { get } from '../api/request.ts'
import { answer } from '../api/shape.ts'
import type { Draft } from '../dom/draft.ts'
import { div, el, link, p } from '../dom/element.ts'
import { kept } from '../dom/kept.ts'
import { callerText } from '../show/caller-text.ts'
import { byEnd, inboxFilter, inboxOrder, keepFilters } from './inbox-filter.ts'

export type Similar = Answer<typeof similarAnswer>

const similarShape = answer<Similar>()

/** Loads what is known of requests like this one. It helps to decide, but each page is complete without it. */
export function loadSimilar(id: string): Promise<Similar | undefined> {
  return get(`/approvals/${encodeURIComponent(id)}/similar`, similarShape).catch(() => undefined)
}

/** Fields listed, and UTF-16 units of each name. */
const MOST_FIELDS = 8
const NAME_LENGTH = 60

/**
 * Says what people decided about earlier requests of this kind, and what differs from those they approved: in the service's words,
 * outside of the caller's frame. A caller chooses the names of fields (T44).
 */
export function precedentsView({ precedents }: Similar): HTMLElement | undefined {
  if (precedents === undefined) return undefined
  const { heading, said, at, departures, more: others } = precedentWords(precedents, MOST_FIELDS)
  const rows = departures.map(({ words, fields }) =>
    el(
      'li',
      {},
      el('strong', {}, words),
      ': ',
      ...fields.flatMap((field, index) => [index > 0 && ', ', callersName(field)]),
    ),
  )
  if (others > 0) rows.push(el('li', {}, more(others, 'field differs', 'fields differ')))
  return div(
    'precedents',
    p(el('strong', {}, heading), `: ${said}`, ...(at === undefined ? [] : [since(at), '.'])),
    rows.length > 0 && el('ul', { 'aria-label': 'Differs from what was approved' }, ...rows),
  )
}

/**
 * Loads what helps to decide. @returns a function that adds it to the page of the request: precedents above the caller's text, reasons
 * for rejecting below the buttons, which neither moves where they are beside the text or at a phone's lower edge
 */
export async function addHelp(id: string, scene: Element, draft: Draft): Promise<() => void> {
  const found = await loadSimilar(id)
  return () => {
    if (found === undefined) return
    scene.querySelector('.request-text')?.prepend(precedentsView(found) ?? '')
    if (found.reject_reasons.length > 0)
      scene.querySelector('.decision-form')?.append(reasonChoice(found.reject_reasons, draft))
  }
}

/**
 * Adds to the form the reasons for rejecting that the accounts of all these requests have: the caller of one account is not told the
 * words of another.
 * @param ids of one request of each account
 */
export async function addReasons(ids: readonly string[], form: Element, draft: Draft): Promise<void> {
  const [first = [], ...others] = await Promise.all(
    ids.map(async (id) => (await loadSimilar(id))?.reject_reasons ?? []),
  )
  const common = first.filter((reason) => others.every((reasons) => reasons.includes(reason)))
  if (common.length > 0) form.append(reasonChoice(common, draft))
}

/** The account's reasons for rejecting: one press chooses one, another gives it up. Only a rejection sends it. */
function reasonChoice(reasons: readonly string[], draft: Draft): HTMLElement {
  const buttons = reasons.map((reason) => {
    const pressed = String(draft.reason === reason)
    const one = el(
      'button',
      { type: 'button', class: 'button plain', 'aria-pressed': pressed },
      callerText(reason),
    )
    one.addEventListener('click', () => {
      draft.reason = draft.reason === reason ? undefined : reason
      for (const other of buttons)
        other.setAttribute('aria-pressed', String(other === one && draft.reason === reason))
    })
    return one
  })
  const legend = el('legend', {}, 'Reason for a rejection (optional)')
  return el('fieldset', { class: 'reasons' }, legend, ...buttons)
}

function callersName(text: string): HTMLElement {
  const { text: shown, left } = cutText(text, NAME_LENGTH)
  return el('code', {}, callerText(shown), left > 0 && more(left))
}

/** Says how long ago it was: "yesterday". */
function since(iso: string): HTMLElement {
  const hours = (Date.now() - Date.parse(iso)) / 3_600_000
  const written = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  const said =
    hours < 24 ? written.format(-Math.floor(hours), 'hour') : written.format(-Math.floor(hours / 24), 'day')
  return el('time', { datetime: iso, title: iso }, said)
}

/**
 * Adds a link, and the key n, to the request that expires first of those that still wait for this person in the list they came
 * from. It is a plain link, which carries no decision. @throws RequestFailure, ShapeError
 */
export async function addNext(way: HTMLElement, decidedId: string): Promise<void> {
  const next = await nextOf(decidedId)
  if (next === undefined) return
  const address = keepFilters(`/a/${encodeURIComponent(next.id)}`)
  // Appended last, so that the existing link stays under the finger.
  way.append(link(address, 'Next request', { class: 'button primary', 'aria-keyshortcuts': 'n' }))
  addEventListener('keydown', (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey
    const free = !(event.target instanceof Element && event.target.matches('input, textarea'))
    // The setting of the inbox: people who use speech input turn single keys off (WCAG 2.1.4).
    if (event.key === 'n' && plain && free && kept('localStorage', 'single-keys') !== 'off')
      location.assign(address)
  })
}

/** Looks for it page by page, in the order of the inbox. @throws RequestFailure, ShapeError */
async function nextOf(decidedId: string): Promise<PendingRequest | undefined> {
  const [order, isListed] = [inboxOrder(), inboxFilter()]
  let next: PendingRequest | undefined
  let cursor: string | null = ''
  while (cursor !== null) {
    const { data, next_cursor }: ReturnType<typeof pendingShape> = await get(
      `/me/pending${cursor}`,
      pendingShape,
    )
    for (const one of data) {
      const fits = one.id !== decidedId && one.may_decide && one.methods.length > 0 && isListed(one)
      if (fits && (next === undefined || order(one, next) < 0)) next = one
    }
    // The service lists what expires first, so that any other order needs all pages.
    if (next_cursor === null || (next !== undefined && order === byEnd)) return next
    cursor = `?cursor=${encodeURIComponent(next_cursor)}`
  }
  return next
}
