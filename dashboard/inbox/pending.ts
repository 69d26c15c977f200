import { type PendingRequest, type Principal, pendingShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, getTimed } from '../../webauthn-page/kit/api/request.ts'
import { el, hint, mono } from '../../webauthn-page/kit/dom/element.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { byEnd } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'

/** The waiting requests as the service lists them, in the order in which they end. */
export interface Pending {
  data: readonly PendingRequest[]
  /** Whether those that end last are missing. */
  cut: boolean
  /** As in `secondsUntil`. */
  clock: number
  /** Loads the next page: resolves to these requests and those of that page. Undefined when no page is to come. */
  more?: () => Promise<Pending>
}

/** The most requests that are listed: twenty times as many as one account may have waiting for a person. */
export const LISTED = 5000

/** Loads the first page of the waiting requests. @throws RequestFailure, ShapeError */
export async function firstPending(): Promise<Pending> {
  const { value, clock } = await getTimed('/me/pending', pendingShape)
  return withMore(value.data, value.next_cursor, clock)
}

function withMore(data: Pending['data'], cursor: string | null, clock: number): Pending {
  const cut = cursor !== null
  if (!cut || data.length >= LISTED) return { data, cut, clock }
  const more = async (): Promise<Pending> => {
    const page = await get(`/me/pending?cursor=${encodeURIComponent(cursor)}`, pendingShape)
    return withMore([...data, ...page.data], page.next_cursor, clock)
  }
  return { data, cut, clock, more }
}

/** Loads the waiting requests page by page, up to `LISTED`. @throws RequestFailure, ShapeError */
export async function loadPending(): Promise<Pending> {
  let pending = await firstPending()
  while (pending.more !== undefined) pending = await pending.more()
  return pending
}

/** States for whom the person would vote as a delegate; undefined when the vote is their own. */
export function forWhom(principal: Principal | null | undefined): HTMLElement | undefined {
  if (principal === null || principal === undefined) return undefined
  return hint(
    'You decide it for ',
    callerName(principal.name),
    ' (',
    mono(principal.approver),
    '), as their delegate.',
  )
}

/** States once for a whole list that its tinted words are the caller's (T44). */
export function callersLegend(id?: string): HTMLElement {
  const sample = el('span', { class: 'inbox-action' }, 'Tinted')
  return el(
    'p',
    { class: 'inbox-legend', id },
    sample,
    ' words are the caller’s, not checked',
    el('span', { class: 'not-on-phones' }, ' by Countersign'),
    el('span', { class: 'visually-hidden' }, ': the action, and the name of the caller'),
    '.',
  )
}

interface Ends {
  expires_at: string
  created_at: string
}

/** Sorts for signing many at once: high impact is never below less important requests (T18); then by the end. */
export function inOrder<T extends Ends & { high_impact: boolean }>(requests: readonly T[]): T[] {
  return [...requests].sort((a, b) => Number(b.high_impact) - Number(a.high_impact) || byEnd(a, b))
}

/** Milliseconds between two looks without the stream, or before it is open. */
const POLL_MS = 5000
/** Milliseconds between two looks with the stream, in case it lost an event. */
const SELDOM_MS = 60_000

/**
 * Runs `look` whenever the person's waiting requests may have changed: when the service's stream says so, every few seconds
 * while there is no stream or the last look failed, and when the network goes or comes. Runs only while `element` is on the
 * page and visible; ends when `look` answers `over`.
 */
export function followInbox(
  element: HTMLElement,
  signal: AbortSignal,
  look: () => Promise<'seen' | 'failed' | 'over'>,
): void {
  let stream: EventSource | undefined
  let over = false
  let looked = performance.now()
  let told = false
  const now = (): void => {
    told = true
    lookNow()
  }
  /** Opens the stream. The browser reconnects by itself after an interruption, but not after a refusal. */
  const open = (): void => {
    const alive = stream !== undefined && stream.readyState !== EventSource.CLOSED
    if (over || alive || document.visibilityState !== 'visible') return
    stream = new EventSource('/api/v1/me/pending/events')
    stream.addEventListener('changed', now)
  }
  const close = (): void => {
    over = true
    stream?.close()
  }
  const lookNow = whileVisible(element, POLL_MS, async () => {
    const fresh = performance.now() - looked < SELDOM_MS
    if (stream?.readyState === EventSource.OPEN && fresh && !told) return true
    told = false
    looked = performance.now()
    const came = await look()
    if (came === 'failed') told = true
    if (came === 'over') close()
    else open()
    return came !== 'over'
  })
  const seen = (): void => {
    // A browser opens only few connections to a service: hidden pages must not hold one each.
    if (document.visibilityState !== 'visible') stream?.close()
    else now()
  }
  document.addEventListener('visibilitychange', seen, { signal })
  addEventListener('offline', now, { signal })
  addEventListener('online', now, { signal })
  signal.addEventListener('abort', close)
  open()
}
