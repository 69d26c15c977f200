import { DecidePage } from './decide/decide-page.ts'
import { wasSignedIn } from './kit/api/signed-in-before.ts'
import { forgetWhenLeft, keepNavigation, plainScene, showScene } from './kit/dom/stage.ts'
import { signInPage } from './sign-in/sign-in.ts'

/** Opens the page for the path. Pages other than a decision are in separate files, so that they do not slow down a decision. */
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
  showScene('Not found', plainScene('Page not found'), { focus: false })
}

/** Reads which button was pressed on a chat card. That button then stands out here; the parameter never decides. */
function wantedOutcome(search: string): 'approved' | 'rejected' | undefined {
  const wanted = new URLSearchParams(search).get('d')
  if (wanted === 'approve') return 'approved'
  return wanted === 'reject' ? 'rejected' : undefined
}

if (/^\/[ab]\//.test(location.pathname)) forgetWhenLeft()
// Its room is kept from the start: what is decided on must not move when it is filled.
if (/^\/a\//.test(location.pathname) && wasSignedIn()) keepNavigation(true)
void route()
