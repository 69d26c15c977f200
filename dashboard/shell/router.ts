import { visibleString } from '../../src/domain/text.ts'
import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { isRecord, nullable } from '../../webauthn-page/kit/api/shape.ts'
import { endSession, noteSignedIn, wasSignedIn } from '../../webauthn-page/kit/api/signed-in-before.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, freshId, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'
import { notice, sentenceOf, signInHref } from '../../webauthn-page/kit/dom/notice.ts'
import { keepNavigation, showScene } from '../../webauthn-page/kit/dom/stage.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { idleParts } from '../parts/section.ts'
import { type AccountView, accountsOf, currentSessionShape, isOwned } from './account-view.ts'
import { matchPath, pageHref, waysOf } from './addresses.ts'
import { isOpenTo, showNavigation } from './navigation.ts'
import type { PageEntry, PageView, Visit } from './page-entry.ts'
import { retryWhenOnline } from './retry-when-online.ts'
import { isShown, noteShown } from './shown-address.ts'

/** The way in which a page is opened; it decides the focus and the scroll position. */
interface Opening {
  message?: string | undefined
  /** Whether this is the first paint, which leaves the focus where the browser put it. */
  first?: boolean
  scroll?: number
  /** The parts of the page before, if this is the same page again: what is unsaved in them stays. */
  parts?: readonly HTMLElement[] | undefined
}

/** Shows the page of the current address, and of every later one from a link, a page or the browser's history. */
export class Router {
  readonly #pages: readonly PageEntry[]
  #visit = new AbortController()
  /** The number of failed page loads in a row. */
  #failed = 0

  constructor(pages: readonly PageEntry[]) {
    this.#pages = pages
  }

  /** Shows the first page and listens for the next ones. */
  start(): Promise<void> {
    keepNavigation(wasSignedIn())
    addEventListener('click', (event) => {
      const address = clickedAddress(event, (path) => this.#find(path) !== undefined)
      if (address !== undefined) void this.#go(address)
    })
    addEventListener('popstate', (event) => {
      // A jump within the page also fires this event.
      if (isShown()) return
      void this.#open({ scroll: scrollOf(event.state) })
    })
    // The browser would scroll before the page is shown. The page of a decision is a separate document: on the way back from
    // it, this document loads again.
    history.scrollRestoration = 'manual'
    addEventListener('pagehide', rememberScroll)
    // What a page before this document has done (`webauthn-page/enrol`).
    const message = kept('sessionStorage', 'news') ?? undefined
    keep('sessionStorage', 'news', null)
    return this.#open({ first: true, scroll: scrollOf(history.state), message })
  }

  #find(path: string): { entry: PageEntry; params: Record<string, string> } | undefined {
    for (const entry of this.#pages) {
      const params = matchPath(entry.path, path)
      if (params !== undefined) return { entry, params }
    }
    return undefined
  }

  #go(address: string, message?: string): Promise<void> {
    rememberScroll()
    history.pushState(null, '', address)
    return this.#open({ message })
  }

  async #open(opening: Opening): Promise<void> {
    this.#visit.abort()
    this.#visit = new AbortController()
    const { signal } = this.#visit
    const { parts } = opening
    const unsaved = parts && import('../parts/unsaved.ts').catch(() => undefined)
    noteShown()
    const main = document.querySelector('main')
    main?.setAttribute('aria-busy', 'true')
    const looked = this.#view(signal).then((view) => {
      this.#failed = 0
      return view
    })
    const view = await looked.catch((error: unknown) => {
      if (!(error instanceof RequestFailure && error.status === 401)) {
        this.#failed += 1
        return failureView(error, { failed: this.#failed - 1, again: () => this.#open({ parts }), signal })
      }
      location.replace(signInHref())
      return undefined
    })
    const kept = await unsaved
    // The person may have opened another page while this one was loading.
    if (signal.aborted || view === undefined) return
    main?.removeAttribute('aria-busy')
    const focused = document.activeElement
    kept?.carryOver(parts ?? [], view.scene)
    this.#show(view, opening)
    // In a part that was carried over: the person still types there.
    const field = parts?.some((part) => part.contains(focused)) && focused?.matches('input, textarea')
    if (!field || !(focused instanceof HTMLElement)) return
    focused.focus({ preventScroll: true })
    if (opening.message !== undefined) announce(opening.message)
  }

  /** @throws whatever the page throws */
  async #view(signal: AbortSignal): Promise<PageView | undefined> {
    const found = this.#find(location.pathname)
    const [session, open] = await Promise.all([loadSession(), found && loaded(found.entry)])
    const query = new URLSearchParams(location.search)
    const account = session && chosenAccount(session, query)
    if (signal.aborted) return undefined
    // An unknown address needs no sign-in: it gets the "no such page" view below.
    if (session === undefined && found !== undefined && found.entry.public !== true) {
      location.replace(signInHref())
      return undefined
    }
    this.#frame(session, account)
    if (found === undefined || open === undefined) return unknownView()
    const visit: Visit = {
      params: found.params,
      query,
      signal,
      done: (message) => this.#open({ message, parts: idleParts() }),
      go: (path, message) => this.#go(path, message),
    }
    const member = session && account && { ...visit, ...membership(session, account) }
    if ('public' in open) return open.public({ ...visit, member })
    if (member === undefined || session === undefined) return foreignView()
    if (!isOpenTo(found.entry.path, member.account.role))
      return closedView(member.account, ownAddress(session))
    const view = await open.private(member)
    // Few people ever have either.
    if (session.recovery ?? session.invitations[0])
      (await import('../inbox/next-steps.ts')).tellOffers(session, visit.done, headOf(view.scene))
    return view
  }

  /** Updates header and navigation, which stay while pages change. */
  #frame(session: Session | undefined, account: AccountView | undefined): void {
    const { pathname } = location
    // Without an account in its address, the inbox has the requests of all.
    const all = pathname === '/'
    const chosen = all && !location.search.includes('account=') ? undefined : account
    showSession(session, chosen, all, (other) => {
      if (all || !other) return void this.#go(other ? `/?account=${other.id}` : '/')
      const entry = this.#find(pathname)?.entry
      const stays = entry !== undefined && !entry.path.includes(':') && isOpenTo(entry.path, other.role)
      void this.#go(pageHref(stays ? pathname : '/', other, session?.accounts ?? []))
    })
    if (session === undefined) {
      keepNavigation(false)
      return
    }
    const looked = account ?? session.accounts[0]
    showNavigation(looked.role, pathname, waysOf(looked, session.accounts).href)
  }

  #show({ title, scene, wide = false }: PageView, { message, first = false, scroll = 0 }: Opening): void {
    const news = message === undefined ? undefined : notice('success', message)
    if (news !== undefined) {
      headOf(scene)?.after(news)
      takeAway(news, scene)
    }
    showScene(title, scene, { focus: !first, wide })
    if (!first) announce(title)
    // A first page already is at the top: scrolling there would cost another layout.
    if (!first || scroll > 0) window.scrollTo(0, scroll)
    news?.focus()
  }
}

/** The part of the context that only pages for signed-in people get. */
function membership({ user, accounts }: Session, account: AccountView) {
  return { user, account, accounts, ...waysOf(account, accounts) }
}

/** Removes the success notice at the next action: “Done” above a later failure would contradict it. */
function takeAway(news: HTMLElement, scene: HTMLElement): void {
  const old = ({ type, target }: Event): void => {
    if (type === 'submit' || (target instanceof Element && target.closest('button') !== null)) news.remove()
  }
  scene.addEventListener('submit', old)
  scene.addEventListener('click', old)
}

/** The child of the scene that holds its first heading. */
function headOf(scene: HTMLElement): Element | undefined {
  return [...scene.children].find((child) => child.matches('h1') || child.querySelector('h1') !== null)
}

/** This page's address for the person's own account. */
function ownAddress({ accounts }: Session): string | undefined {
  const own = accounts.find(isOwned)
  return own && pageHref(location.pathname, own, accounts)
}

type Loaded =
  | { public: Awaited<ReturnType<Extract<PageEntry, { public: true }>['load']>> }
  | { private: Awaited<ReturnType<Exclude<PageEntry, { public: true }>['load']>> }

/** @throws PageLoadError */
async function loaded(entry: PageEntry): Promise<Loaded> {
  try {
    return entry.public === true ? { public: await entry.load() } : { private: await entry.load() }
  } catch {
    throw new PageLoadError('Part of this page failed to load. Check your connection and try again.')
  }
}

/**
 * Returns the address within the dashboard to which a click leads, and prevents the browser's own navigation. Undefined for
 * everything that the browser must do itself: other sites and pages, new tabs, downloads, jumps within the page.
 */
function clickedAddress(event: MouseEvent, isPage: (path: string) => boolean): string | undefined {
  const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
  if (event.defaultPrevented || event.button !== 0 || modified) return undefined
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null || link.target !== '' || link.hasAttribute('download')) return undefined
  const { origin, pathname, search, hash } = link
  if (origin !== location.origin || hash !== '' || !isPage(pathname)) return undefined
  event.preventDefault()
  return `${pathname}${search}`
}

/** Notes the scroll position in the history. */
function rememberScroll(): void {
  history.replaceState({ scroll: window.scrollY }, '')
}

/** Reads the position that `rememberScroll` noted; 0 for an entry without one. */
function scrollOf(state: unknown): number {
  return isRecord(state) && typeof state.scroll === 'number' ? state.scroll : 0
}

/** A page's script could not be loaded: the service is away, or was updated and now has other files. */
class PageLoadError extends Error {
  override readonly name = 'PageLoadError'
}

/** The view for an error that a page or its calls threw. */
function failureView(
  error: unknown,
  { failed, again, signal }: { failed: number; again: () => Promise<void>; signal: AbortSignal },
): PageView {
  // A browser may cache a script's failure for the life of the page; a reload also learns the current file names.
  const retry = error instanceof PageLoadError ? () => location.reload() : again
  const away = error instanceof RequestFailure && error.code === 'network'
  return stopped(
    'This page could not be loaded',
    notice('failed', sentenceOf(error)),
    retryWhenOnline({ away, failed, retry: () => void retry(), signal }),
    button('Try again', 'primary', retry),
  )
}

/** The view for an unknown address. */
function unknownView(): PageView {
  return stopped('Page not found', p(link('/', 'Go to the start')))
}

/** The view for an account in the address that this person may not, or may no longer, look at. */
function foreignView(): PageView {
  return stopped(
    'Account not available',
    p('You do not have access to this account.'),
    p(link('/', 'Go to the start')),
  )
}

/** The view for a page that is not open to the person's role in the chosen account. */
function closedView(account: AccountView, own: string | undefined): PageView {
  return stopped(
    'You do not have access to this page',
    p('Your role in the account ', callerName(account.name), ' does not open it.'),
    own === undefined ? '' : p(link(own, 'See this page for your own account')),
  )
}

function stopped(title: string, ...parts: (HTMLElement | string)[]): PageView {
  return { title, scene: el('div', {}, el('h1', {}, title), ...parts) }
}

/** Shows the signed-in person, the choice of account, and "Sign out". `look` opens the dashboard of another account. */
function showSession(
  session: Session | undefined,
  account: AccountView | undefined,
  all: boolean,
  look: (account: AccountView | undefined) => void,
): void {
  const place = document.querySelector('#signed-in')
  if (place === null) return
  if (session === undefined) {
    place.replaceChildren(signInLink())
    return
  }
  const { user, accounts } = session
  place.replaceChildren(
    accounts.length > 1 ? accountSwitch(accounts, account, all, look) : '',
    el(
      'p',
      { class: 'signed-in-name' },
      el('span', { class: 'visually-hidden' }, 'Signed in as '),
      callerText(user.email),
    ),
    button('Sign out', 'quiet', signOut),
  )
}

/** The link to sign in, which leads back to this page, with the receipt that `/verify` names behind the `#`. */
function signInLink(): HTMLElement {
  const shown = link('/signin', 'Sign in')
  const leadBack = (): void => {
    const { pathname, search, hash } = location
    shown.setAttribute('href', `/signin?next=${encodeURIComponent(`${pathname}${search}${hash}`)}`)
  }
  // The address may change after the link is drawn; one of these events precedes every way to follow it.
  for (const event of ['pointerenter', 'focus']) shown.addEventListener(event, leadBack)
  return shown
}

function accountSwitch(
  accounts: readonly AccountView[],
  chosen: AccountView | undefined,
  all: boolean,
  look: (account: AccountView | undefined) => void,
): HTMLElement {
  const id = freshId('account')
  const select = el('select', { id, class: 'select' })
  if (all) select.append(el('option', {}, 'All accounts'))
  // An option cannot isolate the direction of its text: hidden characters are written out.
  for (const { id: value, name, own, role } of accounts) {
    const words = `${visibleString(name)} (${own ? 'yours' : role})`
    select.append(el('option', { value, selected: value === chosen?.id }, words))
  }
  select.addEventListener('change', () => {
    look(accounts.find((one) => one.id === select.value))
  })
  return el('p', { class: 'account-switch' }, el('label', { for: id }, 'Account'), ' ', select)
}

async function signOut(): Promise<void> {
  const failed = await endSession().catch(sentenceOf)
  if (failed === undefined) return location.replace('/signin')
  document.querySelector('main')?.prepend(notice('error', 'you are still signed in. ', failed))
  scrollTo(0, 0)
}

type Session = NonNullable<Awaited<ReturnType<typeof loadSession>>>

/** Loads the signed-in person and their accounts. Undefined when signed out. @throws RequestFailure, ShapeError */
async function loadSession() {
  const found = await get('/session?optional=true', nullable(currentSessionShape))
  noteSignedIn(found?.user.approver)
  if (found === null) return undefined
  return { ...found, accounts: accountsOf(found.user, found.accounts) }
}

/** The account that the address names, or else the first. Undefined for an account that this person may not look at. */
function chosenAccount({ accounts }: Session, query: URLSearchParams): AccountView | undefined {
  const wanted = query.get('account')
  return wanted === null ? accounts[0] : accounts.find(({ id }) => id === wanted)
}
