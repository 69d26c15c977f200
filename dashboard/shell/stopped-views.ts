import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { notice, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { AccountView } from './account-view.ts'
import type { PageView } from './page-entry.ts'

/** The script of a page did not come: the service is away, or was updated and has other files now. */
export class PageLoadError extends Error {
  override readonly name = 'PageLoadError'
}

/** For what a page or its calls threw. */
export function failureView(error: unknown, again: () => Promise<void>): PageView {
  // A browser may remember for good that a script could not be loaded; a fresh page knows the names of today.
  const retry = error instanceof PageLoadError ? () => location.reload() : again
  return stopped(
    'This page could not be loaded',
    notice('error', sentenceOf(error)),
    button('Try again', 'primary', retry),
  )
}

/** For an address that leads nowhere. */
export function unknownView(): PageView {
  return stopped('There is no such page', el('p', {}, link('/', 'Go to the start')))
}

/** For an account in the address that this person may not look at, or not any more. */
export function foreignView(): PageView {
  return stopped(
    'No such account for you',
    el('p', {}, 'You may not look at the account in this address, or not any more.'),
    el('p', {}, link('/', 'Go to your own')),
  )
}

/** For a page that the role in the chosen account does not open. */
export function closedView(account: AccountView, own: string | undefined): PageView {
  return stopped(
    'This page is not open to you',
    el(
      'p',
      {},
      'In the account ',
      el('strong', {}, callerText(account.name)),
      ` you are ${account.role}; only its owner sees this page.`,
    ),
    own === undefined ? '' : el('p', {}, link(own, 'See this page for your own account')),
  )
}

function stopped(title: string, ...parts: (HTMLElement | string)[]): PageView {
  return { title, scene: el('div', {}, el('h1', {}, title), ...parts) }
}
