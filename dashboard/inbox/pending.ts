import { type Principal, pendingShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, getTimed } from '../../webauthn-page/kit/api/request.ts'
import { el, hint, mono } from '../../webauthn-page/kit/dom/element.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'
import { readOn } from '../parts/read-on.ts'

/** What the service says is waiting: what ends first before all others. */
export type Pending = Awaited<ReturnType<typeof loadPending>>

/** So many of it are listed: four times what one account may have before a person. */
export const LISTED = 1000

/** Page by page, until there is no more. @throws RequestFailure, ShapeError */
export async function loadPending() {
  const { value, clock } = await getTimed('/me/pending', pendingShape)
  const load = (cursor: string) => get(`/me/pending?cursor=${encodeURIComponent(cursor)}`, pendingShape)
  return { ...(await readOn(value, load, LISTED)), clock }
}

/** Says whose vote it would be when the person is a delegate; undefined when it is their own. */
export function forWhom(principal: Principal | null | undefined): HTMLElement | undefined {
  if (principal === null || principal === undefined) return undefined
  return hint(
    'You decide it for ',
    callerName(principal.name),
    ' (',
    mono(principal.approver),
    '), for whom you stand in.',
  )
}

/** Says once for a whole list whose the tinted words in it are (T44). */
export function callersLegend(id?: string): HTMLElement {
  const sample = el('span', { class: 'inbox-action' }, 'Tinted')
  return el(
    'p',
    { class: 'inbox-legend', id },
    sample,
    ' words are the caller’s, not checked',
    el('span', { class: 'not-on-phones' }, ' by Countersign'),
    el('span', { class: 'visually-hidden' }, ': the action, and the name of who asks'),
    '.',
  )
}

interface Ends {
  expires_at: string
  created_at: string
}

/** What ends first comes first; of two that end together, the older one. */
export function byEnd(a: Ends, b: Ends): number {
  return (
    Date.parse(a.expires_at) - Date.parse(b.expires_at) || Date.parse(a.created_at) - Date.parse(b.created_at)
  )
}

/** For signing many at once: high impact is never below what can wait (T18), then what ends first. */
export function inOrder<T extends Ends & { high_impact: boolean }>(requests: readonly T[]): T[] {
  return [...requests].sort((a, b) => Number(b.high_impact) - Number(a.high_impact) || byEnd(a, b))
}

/** Without the stream, or before it is open. */
const POLL_MS = 5000
/** With the stream: in case it lost something. */
const SELDOM_MS = 60_000

/**
 * Runs `look` whenever what waits for the person may have changed: as the service's stream tells, every few seconds where
 * there is none or the last look failed, and when the network goes or comes. Only while `element` is on the page and seen;
 * it ends when `look` answers `over`.
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
  /** The browser connects again by itself after an interruption, but not after a refusal. */
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
    // A browser opens only few connections to a service: pages out of sight must not hold one each.
    if (document.visibilityState !== 'visible') stream?.close()
    else now()
  }
  document.addEventListener('visibilitychange', seen, { signal })
  addEventListener('offline', now, { signal })
  addEventListener('online', now, { signal })
  signal.addEventListener('abort', close)
  open()
}
