import type { User } from '../api/contract.ts'
import { whenSomeoneElse } from '../api/signed-in-before.ts'
import { callerText } from '../show/caller-text.ts'
import { type Child, el, link } from './element.ts'
import { notice } from './notice.ts'

interface SceneOptions {
  /** Moves the focus to the first heading: after every step but not on the first paint. */
  focus?: boolean
  wide?: boolean
}

/** Puts a whole page into `<main>`. Its `<h1>` takes the focus so that keyboard and screen reader start there. */
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

/** A page of a heading and what stands below it. */
export function plainScene(heading: Child, ...parts: Child[]): HTMLElement {
  return el('div', {}, el('h1', {}, heading), ...parts)
}

/** The same as a whole page, which the heading names. */
export function showPlain(title: string, ...parts: Child[]): void {
  showScene(title, plainScene(title, ...parts))
}

/** For an address without its secret part: also what a reload leads to, as `takeToken` took it away on the first visit. */
export function showHalfLink(...parts: Child[]): void {
  showPlain(
    'Open the complete link again',
    notice(
      'warning',
      'this address is only half of the link. The page removes the secret part at once to protect it, so reloading cannot bring it back.',
    ),
    ...parts,
  )
}

/** Shows in the header who is signed in: a person who decides must see as whom. */
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
    link('/', 'Inbox'),
    link('/account', 'Account'),
  )
}

/**
 * Browsers keep pages that one leaves, and show them again as they were, also to who is signed out meanwhile or is another
 * person (T13). A page for signed-in people is covered before, and loaded again; also when another tab signs out.
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
 * The fragment of a one-time link, taken out of the address at once: it must not stay in the history, a screenshot or a
 * Referer (T14). To be called once, before anything else.
 */
export function takeToken(): string {
  // A second link opened in this tab only changes the fragment: without a fresh start its token would stay in the address.
  addEventListener('hashchange', () => {
    if (TOKEN.test(location.hash)) location.reload()
  })
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}
