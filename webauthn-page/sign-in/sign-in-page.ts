import { sessionShape } from '../kit/api/contract.ts'
import { get } from '../kit/api/request.ts'
import { el, link } from '../kit/dom/element.ts'
import { showScene } from '../kit/dom/stage.ts'
import { nextPath } from './next-path.ts'
import { signInPanel } from './sign-in-panel.ts'

/** `/signin?next=<path>`: whoever is signed in already goes on at once. */
export async function signInPage(): Promise<void> {
  const goOn = (): void => location.replace(nextPath(location.search, location.origin))
  const signedIn = await get('/session', sessionShape).then(
    () => true,
    () => false,
  )
  if (signedIn) return goOn()
  const scene = el(
    'div',
    {},
    el('h1', {}, 'Sign in'),
    el(
      'p',
      { class: 'lede' },
      'With the passkey you created when you enrolled: your fingerprint, face, screen lock or security key.',
    ),
    signInPanel(goOn),
    el(
      'p',
      { class: 'note' },
      'Only a receipt to check? ',
      link('/verify', 'Verify it without signing in'),
      '.',
    ),
  )
  showScene('Sign in', scene, { focus: false })
}
