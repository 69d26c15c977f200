import type { User } from '../api/contract.ts'
import { whenSomeoneElse } from '../api/signed-in-before.ts'
import { keepFilters } from '../request/inbox-filter.ts'
import { callerText } from '../show/caller-text.ts'
import { type Child, el, link } from './element.ts'
import { notice } from './notice.ts'

interface SceneOptions {
  /** Whether the first heading takes the focus: after every step, but not on the first paint. */
  focus?: boolean
  wide?: boolean
}

/** Puts a whole page into `<main>`. Its `<h1>` takes the focus, so that keyboards and screen readers start there. */
export function showScene(
  title: string,
  scene: HTMLElement,
  { focus = true, wide = false }: SceneOptions = {},
): void {
  document.title = `${title} · Countersign`
  const main = document.querySelector('main')
  if (main === null) return
  main.className = wide ? 'wide' : 'narrow'
  main.replaceChildren(scene)
  const heading = main.querySelector('h1')
  if (heading === null || !focus) return
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
  window.scrollTo(0, 0)
}

/** A page that consists of a heading and the parts below it. */
export function plainScene(heading: Child, ...parts: Child[]): HTMLElement {
  return el('div', {}, el('h1', {}, heading), ...parts)
}

/** Shows a `plainScene` as the whole page, titled like its heading. */
export function showPlain(title: string, ...parts: Child[]): void {
  showScene(title, plainScene(title, ...parts))
}

/** Shows that the address lacks its secret part. A reload leads here too: `takeToken` removed that part on the first visit. */
export function showHalfLink(...parts: Child[]): void {
  showPlain(
    'Open the complete link again',
    notice(
      'info',
      'this address is only half of the link. The page removes the secret part at once to protect it, so reloading cannot bring it back.',
    ),
    ...parts,
  )
}

/** Keeps the room of the navigation, or none: a signed-out visitor has no pages to go to. @returns the bar */
export function keepNavigation(kept: boolean): HTMLElement | null {
  const bar = document.querySelector<HTMLElement>('#navigation')
  bar?.toggleAttribute('hidden', !kept)
  return bar
}

/** Shows in the header who is signed in: people who decide must see whose name they act in. */
export function showUser(user: User | undefined): void {
  const place = document.querySelector('#signed-in')
  if (place === null) return
  place.parentElement?.classList.toggle('has-user', user !== undefined)
  if (user === undefined) {
    place.replaceChildren()
    return
  }
  const name = el('span', { class: 'signed-in-name' }, callerText(user.email))
  place.replaceChildren(
    el('span', { class: 'visually-hidden' }, 'Signed in as '),
    name,
    link(keepFilters('/'), 'Inbox'),
    link('/account', 'Account'),
  )
}

/**
 * Hides the page when it is left, and reloads it when it is shown again or another tab signs out or in as someone else. Browsers
 * cache pages and show them again unchanged, even after a sign-out or to another person (T13).
 */
export function forgetWhenLeft(): void {
  addEventListener('pagehide', () => {
    document.body.hidden = true
  })
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
  whenSomeoneElse(() => location.reload())
}

const TOKEN = /^#[\w-]{43}$/

/**
 * Returns the fragment of a one-time link and removes it from the address: it must not stay in the history, a screenshot or a
 * Referer (T14). Call it once, before anything else.
 */
export function takeToken(): string {
  // A second link opened in this tab only changes the fragment: without a reload its token would stay in the address.
  addEventListener('hashchange', () => {
    if (TOKEN.test(location.hash)) location.reload()
  })
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}
