import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { keepNavigation } from '../../webauthn-page/kit/dom/stage.ts'
import { keepFilters } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { accountsOf, type CurrentSession, type Role } from './account-view.ts'
import { waysOf } from './addresses.ts'

const OWNER: readonly Role[] = ['owner']
/** All but `none`: whom an owner removed, or who declined. */
const IN_ACCOUNT: readonly Role[] = ['owner', 'approver', 'auditor']

/**
 * Every page of the navigation, in its order, and the roles in the account that is shown that may see it and the pages below its
 * path; without them, all may.
 */
const ENTRIES: readonly (readonly [path: string, name: string, roles?: readonly Role[]])[] = [
  ['/overview', 'Overview', ['owner', 'auditor']],
  ['/', 'Inbox'],
  ['/requests', 'Requests', IN_ACCOUNT],
  ['/keys', 'API keys', OWNER],
  ['/integrations', 'Integrations', OWNER],
  ['/members', 'Members', OWNER],
  ['/settings', 'Settings', OWNER],
  ['/audit', 'Audit', IN_ACCOUNT],
  ['/account', 'Account'],
]

/** Checks whether a person with this role in the account may open the page. */
export function isOpenTo(path: string, role: Role): boolean {
  const entry = ENTRIES.find(([one]) => path === one || isBelow(path, one))
  return entry?.[2]?.includes(role) !== false
}

/** Fills the navigation bar; `current` is the path of the page that is shown. */
export function showNavigation(role: Role, current: string, href: (path: string) => string): void {
  const bar = keepNavigation(true)
  const items = ENTRIES.filter(([path]) => isOpenTo(path, role)).map(([path, name]) => {
    const here = path === current ? 'page' : isBelow(current, path) ? 'true' : undefined
    return el('li', {}, link(href(path), name, { 'aria-current': here }))
  })
  const list = el('ul', {}, ...items)
  bar?.replaceChildren(list)
  // Deferred: measuring now would force a layout of a page that is about to be filled.
  requestAnimationFrame(() => {
    const here = list.querySelector('[aria-current]')?.getBoundingClientRect()
    const bounds = list.getBoundingClientRect()
    if (here !== undefined) list.scrollLeft += here.left - bounds.left + (here.width - bounds.width) / 2
    // A partly hidden first entry would cover the arrow that shows that the list can be scrolled.
    if (list.scrollLeft < (items[0]?.offsetWidth ?? 0)) list.scrollLeft = 0
  })
}

function isBelow(path: string, parent: string): boolean {
  return parent !== '/' && path.startsWith(`${parent}/`)
}

/** Fills the bar above a request for the account that asked; for somebody who is not in it, for the one that opens first. */
export function showNavigationOf(accountId: string, { user, accounts: all }: CurrentSession): void {
  const accounts = accountsOf(user, all)
  const account = accounts.find(({ id }) => id === accountId) ?? accounts[0]
  const { href } = waysOf(account, accounts)
  showNavigation(account.role, location.pathname, (path) => (path === '/' ? keepFilters(path) : href(path)))
  document.querySelector('.site-header')?.classList.add('has-navigation')
}
