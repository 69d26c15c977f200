import { isRecord } from '../../webauthn-page/kit/api/shape.ts'

/**
 * Where a click leads within the dashboard, and takes the click from the browser. Undefined for everything the browser
 * must do itself: other sites and pages, new tabs, downloads, jumps within the page.
 */
export function clickedAddress(event: MouseEvent, isPage: (path: string) => boolean): string | undefined {
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
export function rememberScroll(): void {
  history.replaceState({ scroll: window.scrollY }, '')
}

/** What `rememberScroll` noted; 0 for an entry without a note. */
export function scrollOf(state: unknown): number {
  return isRecord(state) && typeof state.scroll === 'number' ? state.scroll : 0
}
