import { visibleString } from '../../src/domain/text.ts'
import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { isRecord, nullable } from '../../webauthn-page/kit/api/shape.ts'
import { endSession, noteSignedIn, wasSignedIn } from '../../webauthn-page/kit/api/signed-in-before.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, freshId, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { notice, sentenceOf, signInHref } from '../../webauthn-page/kit/dom/notice.ts'
import { showScene } from '../../webauthn-page/kit/dom/stage.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type AccountView, accountsOf, currentSessionShape, isOwned } from './account-view.ts'
import { matchPath, ofAccount, pageHref } from './addresses.ts'
import { isOpenTo, type PageEntry, type PageView, type Visit } from './page-entry.ts'
import { isShown, noteShown } from './shown-address.ts'
import { retryWhenBack } from './when-back.ts'

/** How a page came to be opened: it decides where focus and scrolling go. */
interface Opening {
  message?: string | undefined
  /** The first paint leaves the focus where the browser put it. */
  first?: boolean
  scroll?: number
}

/** Shows the page of the address, and of each address that a link, a page or the browser's history leads to. */
export class Router {
  readonly #pages: readonly PageEntry[]
  #visit = new AbortController()
  /** How often in a row a page could not be loaded. */
  #failed = 0

  constructor(pages: readonly PageEntry[]) {
    this.#pages = pages
  }

  /** Shows the first page and listens for the next ones. */
  start(): Promise<void> {
    if (!wasSignedIn()) hideNavigation()
    addEventListener('click', (event) => {
      const address = clickedAddress(event, (path) => this.#find(path) !== undefined)
      if (address !== undefined) void this.#go(address)
    })
    addEventListener('popstate', (event) => {
      // A jump within the page is a step in the history, too.
      if (isShown()) return
      void this.#open({ scroll: scrollOf(event.state) })
    })
    // The browser would scroll before the page is there. A page of a request is a document of its own: on the way back from
    // it, this one loads again.
    history.scrollRestoration = 'manual'
    addEventListener('pagehide', rememberScroll)
    return this.#open({ first: true, scroll: scrollOf(history.state) })
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
        return failureView(error, { failed: this.#failed - 1, again: () => this.#open({}), signal })
      }
      location.replace(signInHref())
      return undefined
    })
    // The person may have gone on while this page was loading.
    if (signal.aborted || view === undefined) return
    main?.removeAttribute('aria-busy')
    this.#show(view, opening)
  }

  /** @throws whatever the page throws */
  async #view(signal: AbortSignal): Promise<PageView | undefined> {
    const found = this.#find(location.pathname)
    const [session, open] = await Promise.all([loadSession(), found && loaded(found.entry)])
    const query = new URLSearchParams(location.search)
    const account = session && chosenAccount(session, query)
    if (signal.aborted) return undefined
    // It takes no sign-in to learn that an address leads nowhere.
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
      done: (message) => this.#open({ message }),
      go: (path, message) => this.#go(path, message),
    }
    const member = session && account && { ...visit, ...membership(session, account) }
    if ('public' in open) return open.public({ ...visit, member })
    if (member === undefined || session === undefined) return foreignView()
    if (!isOpenTo(found.entry, member.account.role)) return closedView(member.account, ownAddress(session))
    return open.private(member)
  }

  /** Header and navigation, which stay while pages come and go. */
  #frame(session: Session | undefined, account: AccountView | undefined): void {
    const { pathname } = location
    showSession(session, account, (other) => {
      const entry = this.#find(pathname)?.entry
      const stays = entry !== undefined && !entry.path.includes(':') && isOpenTo(entry, other.role)
      void this.#go(pageHref(stays ? pathname : '/', other, session?.accounts ?? []))
    })
    if (session === undefined) {
      hideNavigation()
      return
    }
    const looked = account ?? session.accounts[0]
    const entries = this.#pages.flatMap((entry) =>
      entry.nav !== undefined && isOpenTo(entry, looked.role) ? [{ path: entry.path, nav: entry.nav }] : [],
    )
    showNavigation(entries, pathname, looked, session.accounts)
  }

  #show({ title, scene, wide = false }: PageView, { message, first = false, scroll = 0 }: Opening): void {
    const news = message === undefined ? undefined : notice('success', message)
    if (news !== undefined) {
      headOf(scene)?.after(news)
      takeAway(news, scene)
    }
    showScene(title, scene, { focus: !first, wide })
    if (!first) announce(title)
    // At the top it stands already; to be told so would have the browser lay the page out once more.
    if (!first || scroll > 0) window.scrollTo(0, scroll)
    news?.focus()
  }
}

/** What pages for signed-in people get besides the visit. */
function membership({ user, accounts, invitations }: Session, account: AccountView) {
  return {
    user,
    account,
    accounts,
    invitations,
    ofAccount: (path: string) => ofAccount(path, account),
    href: (path: string) => pageHref(path, account, accounts),
  }
}

/** The next action takes the news of the last one away: “Done” above a “Not done” would deny it. */
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
    throw new PageLoadError('A part of this page did not arrive. Check your connection and try again.')
  }
}

/**
 * Where a click leads within the dashboard, and takes the click from the browser. Undefined for everything the browser
 * must do itself: other sites and pages, new tabs, downloads, jumps within the page.
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

/** Notes in the history how far down the page was read. */
function rememberScroll(): void {
  history.replaceState({ scroll: window.scrollY }, '')
}

/** What `rememberScroll` noted; 0 for an entry without a note. */
function scrollOf(state: unknown): number {
  return isRecord(state) && typeof state.scroll === 'number' ? state.scroll : 0
}

/** The script of a page did not come: the service is away, or was updated and has other files now. */
class PageLoadError extends Error {
  override readonly name = 'PageLoadError'
}

/** For what a page or its calls threw. */
function failureView(
  error: unknown,
  { failed, again, signal }: { failed: number; again: () => Promise<void>; signal: AbortSignal },
): PageView {
  // A browser may remember for good that a script could not be loaded; a fresh page knows the names of today.
  const retry = error instanceof PageLoadError ? () => location.reload() : again
  const away = error instanceof RequestFailure && error.code === 'network'
  return stopped(
    'This page could not be loaded',
    notice('failed', sentenceOf(error)),
    retryWhenBack({ away, failed, retry: () => void retry(), signal }),
    button('Try again', 'primary', retry),
  )
}

/** For an address that leads nowhere. */
function unknownView(): PageView {
  return stopped('There is no such page', p(link('/', 'Go to the start')))
}

/** For an account in the address that this person may not look at, or not any more. */
function foreignView(): PageView {
  return stopped(
    'No such account for you',
    p('You may not look at the account in this address, or not any more.'),
    p(link('/', 'Go to your own')),
  )
}

/** For a page that the role in the chosen account does not open. */
function closedView(account: AccountView, own: string | undefined): PageView {
  return stopped(
    'This page is not open to you',
    p(
      'In the account ',
      callerName(account.name),
      ` you are ${account.role}; only its owner sees this page.`,
    ),
    own === undefined ? '' : p(link(own, 'See this page for your own account')),
  )
}

function stopped(title: string, ...parts: (HTMLElement | string)[]): PageView {
  return { title, scene: el('div', {}, el('h1', {}, title), ...parts) }
}

/** Shows who is signed in, what they look at, and the way out. `look` opens the dashboard of another account. */
function showSession(
  session: Session | undefined,
  account: AccountView | undefined,
  look: (account: AccountView) => void,
): void {
  const place = document.querySelector('#signed-in')
  if (place === null) return
  if (session === undefined) {
    place.replaceChildren(signInLink())
    return
  }
  const { user, accounts } = session
  place.replaceChildren(
    accounts.length > 1 ? accountSwitch(accounts, account, look) : '',
    el(
      'p',
      { class: 'signed-in-name' },
      el('span', { class: 'visually-hidden' }, 'Signed in as '),
      callerText(user.email),
    ),
    button('Sign out', 'quiet', signOut),
  )
}

/** Leads back to where it was taken, with the receipt that `/verify` names behind the `#`. */
function signInLink(): HTMLElement {
  const shown = link('/signin', 'Sign in')
  const leadBack = (): void => {
    const { pathname, search, hash } = location
    shown.setAttribute('href', `/signin?next=${encodeURIComponent(`${pathname}${search}${hash}`)}`)
  }
  // The address may change after this was drawn; either event comes before any way to follow a link.
  for (const event of ['pointerenter', 'focus']) shown.addEventListener(event, leadBack)
  return shown
}

function accountSwitch(
  accounts: readonly AccountView[],
  chosen: AccountView | undefined,
  look: (account: AccountView) => void,
): HTMLElement {
  const id = freshId('account')
  const select = el('select', { id, class: 'select' })
  // An option cannot isolate the direction of its text: hidden characters are written out.
  for (const { id: value, name, own, role } of accounts) {
    const words = `${visibleString(name)} (${own ? 'yours' : role})`
    select.append(el('option', { value, selected: value === chosen?.id }, words))
  }
  select.addEventListener('change', () => {
    const account = accounts.find((one) => one.id === select.value)
    if (account !== undefined) look(account)
  })
  return el('p', { class: 'account-switch' }, el('label', { for: id }, 'Account'), ' ', select)
}

async function signOut(): Promise<void> {
  const failed = await endSession().catch(sentenceOf)
  if (failed === undefined) return location.replace('/signin')
  document.querySelector('main')?.prepend(notice('error', 'you are still signed in. ', failed))
  scrollTo(0, 0)
}

/** Fills the bar of pages; `current` is the path of the page that is shown. */
function showNavigation(
  entries: readonly { path: string; nav: string }[],
  current: string,
  account: AccountView,
  accounts: readonly AccountView[],
): void {
  const bar = document.querySelector<HTMLElement>('#navigation')
  if (bar === null) return
  bar.hidden = false
  const items = entries.map(({ path, nav }) => {
    const here = path === current ? 'page' : isBelow(current, path) ? 'true' : undefined
    return el('li', {}, link(pageHref(path, account, accounts), nav, { 'aria-current': here }))
  })
  const list = el('ul', {}, ...items)
  bar.replaceChildren(list)
  // Not now: it would have the browser lay out a page that is about to be filled.
  requestAnimationFrame(() => {
    const here = list.querySelector('[aria-current]')?.getBoundingClientRect()
    const bounds = list.getBoundingClientRect()
    if (here !== undefined) list.scrollLeft += here.left - bounds.left + (here.width - bounds.width) / 2
    // Cut, the first entry would cover the arrow that says so.
    if (list.scrollLeft < (items[0]?.offsetWidth ?? 0)) list.scrollLeft = 0
  })
}

function isBelow(path: string, parent: string): boolean {
  return parent !== '/' && path.startsWith(`${parent}/`)
}

/** Signed out there are no pages to go to. */
function hideNavigation(): void {
  const bar = document.querySelector<HTMLElement>('#navigation')
  if (bar !== null) bar.hidden = true
}

type Session = NonNullable<Awaited<ReturnType<typeof loadSession>>>

/** Who is signed in and where they may look. Undefined when signed out. @throws RequestFailure, ShapeError */
async function loadSession() {
  const found = await get('/session?optional=true', nullable(currentSessionShape))
  noteSignedIn(found?.user.approver)
  if (found === null) return undefined
  const { user, accounts, invitations } = found
  return { user, accounts: accountsOf(user, accounts), invitations }
}

/** The account the address names; the first one when it names none. Undefined for one this person may not look at. */
function chosenAccount({ accounts }: Session, query: URLSearchParams): AccountView | undefined {
  const wanted = query.get('account')
  return wanted === null ? accounts[0] : accounts.find(({ id }) => id === wanted)
}
