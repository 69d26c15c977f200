import { okShape, sessionShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { get, RequestFailure, remove } from '../../webauthn-page/kit/api/request.ts'
import type { Shape } from '../../webauthn-page/kit/api/shape.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el, freshId, link } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type AccountInvitation, type AccountView, accountsOf, accountsShape } from './account-view.ts'
import { pageHref } from './addresses.ts'

/** Shows who is signed in, what they look at, and the way out. `look` opens the dashboard of another account. */
export function showSession(
  session: Session | undefined,
  account: AccountView | undefined,
  look: (account: AccountView) => void,
): void {
  const place = document.querySelector('#signed-in')
  if (place === null) return
  if (session === undefined) {
    place.replaceChildren(link('/signin', 'Sign in'))
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

function accountSwitch(
  accounts: readonly AccountView[],
  chosen: AccountView | undefined,
  look: (account: AccountView) => void,
): HTMLElement {
  const id = freshId('account')
  const select = el(
    'select',
    { id, class: 'select' },
    ...accounts.map((account) =>
      el(
        'option',
        { value: account.id, selected: account.id === chosen?.id },
        `${account.name} (${account.own ? 'yours' : account.role})`,
      ),
    ),
  )
  select.addEventListener('change', () => {
    const account = accounts.find((one) => one.id === select.value)
    if (account !== undefined) look(account)
  })
  return el('p', { class: 'account-switch' }, el('label', { for: id }, 'Account'), ' ', select)
}

async function signOut(): Promise<void> {
  await remove('/session', okShape).catch(() => {})
  location.replace('/signin')
}

/** Fills the bar of pages; `current` is the path of the page that is shown. */
export function showNavigation(
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
  bar.replaceChildren(el('ul', {}, ...items))
  bar.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
}

function isBelow(path: string, parent: string): boolean {
  return parent !== '/' && path.startsWith(`${parent}/`)
}

/** Signed out there are no pages to go to. */
export function hideNavigation(): void {
  const bar = document.querySelector<HTMLElement>('#navigation')
  if (bar !== null) bar.hidden = true
}

/** Who is signed in and where they may look. */
export interface Session {
  user: User
  accounts: [AccountView, ...AccountView[]]
  invitations: readonly AccountInvitation[]
}

const shape: Shape<Session> = (value, path) => {
  const { user } = sessionShape(value, path)
  const { accounts, invitations = [] } = accountsShape(value, path)
  return { user, accounts: accountsOf(user, accounts), invitations }
}

/** Undefined when signed out. @throws RequestFailure, ShapeError */
export async function loadSession(): Promise<Session | undefined> {
  try {
    return await get('/session', shape)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 401) return undefined
    throw error
  }
}

/** The account the address names; the first one when it names none. Undefined for one this person may not look at. */
export function chosenAccount({ accounts }: Session, query: URLSearchParams): AccountView | undefined {
  const wanted = query.get('account')
  return wanted === null ? accounts[0] : accounts.find(({ id }) => id === wanted)
}
