import { DecidePage } from './decide/decide-page.ts'
import { plainScene, showScene } from './kit/dom/stage.ts'
import { signInPage } from './sign-in/sign-in.ts'

/** One shell for every page: the path decides. What is no decision comes in files of its own, not on the way to one. */
async function route(): Promise<void> {
  const { pathname, search } = location
  const request = /^\/a\/([\w-]+)$/.exec(pathname)?.[1]
  if (request !== undefined) return new DecidePage(request, wantedOutcome(search)).open()
  const consent = /^\/b\/([\w-]+)$/.exec(pathname)?.[1]
  if (consent !== undefined) {
    const { ConsentPage } = await import('./consent/consent-page.ts')
    return new ConsentPage(consent).open()
  }
  if (pathname === '/setup' || pathname === '/enroll')
    return (await import('./enrol/enrol-page.ts')).enrolPage()
  if (pathname === '/signin') return signInPage()
  if (pathname === '/link') return (await import('./link/link-page.ts')).linkPage()
  showScene('Not found', plainScene('There is no such page'), { focus: false })
}

/** The button a chat card was pressed on. It only makes that button stand out; it never decides. */
function wantedOutcome(search: string): 'approved' | 'rejected' | undefined {
  const wanted = new URLSearchParams(search).get('d')
  if (wanted === 'approve') return 'approved'
  return wanted === 'reject' ? 'rejected' : undefined
}

/**
 * Browsers keep pages that one leaves, and show them again as they were, also to who is signed out meanwhile or is another
 * person (T13). What is shown only to a signed-in person is covered before, and loaded anew.
 */
function forgetWhenLeft(): void {
  if (!/^\/[ab]\//.test(location.pathname)) return
  addEventListener('pagehide', () => {
    document.body.hidden = true
  })
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
}

forgetWhenLeft()
void route()
