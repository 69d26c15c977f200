import { requestOptionsShape, sessionShape, type User } from '../kit/api/contract.ts'
import { get, post, RequestFailure } from '../kit/api/request.ts'
import { nullable } from '../kit/api/shape.ts'
import { noteSignedIn } from '../kit/api/signed-in-before.ts'
import { button, submitButton } from '../kit/dom/button.ts'
import { div, el, lede, link, note } from '../kit/dom/element.ts'
import { emailField, field, form, readEmail, wrong } from '../kit/dom/form.ts'
import { type NoticeSlot, notice, noticeSlot } from '../kit/dom/notice.ts'
import { plainScene, showScene } from '../kit/dom/stage.ts'
import {
  copyLink,
  insteadOfPrompt,
  openElsewhere,
  passkeysWork,
  usePasskey,
} from '../kit/passkey/ceremony.ts'
import { NEW_LINK } from '../kit/passkey/no-factor.ts'
import { nextPath } from './next-path.ts'

/** `/signin?next=<path>`: leads a signed-in person on at once, unless the parameter `again` asks for a new proof of identity. */
export async function signInPage(): Promise<void> {
  const goOn = async (): Promise<void> => {
    const path = nextPath(location.search, location.origin)
    if (path !== '/') return location.replace(path)
    const first = import('./first-page.ts').then(({ firstPage }) => firstPage())
    location.replace(await first.catch(() => path))
  }
  const again = new URLSearchParams(location.search).has('again')
  if (!again && (await whoIsSignedIn().catch(() => undefined)) !== undefined) return goOn()
  const scene = plainScene(
    again ? 'Sign in again' : 'Sign in',
    lede(
      again
        ? 'The next step needs a passkey or a code from the last 15 minutes.'
        : 'With your passkey: your fingerprint, face, screen lock or security key.',
    ),
    signInPanel(goOn),
    note('Lost your device? Ask the owner of your account, or the operator, for a new link.'),
    note(
      'New service? On the server, “countersign user owner-link” prints a sign-in link for the first owner.',
    ),
    note('Do you only want to check a receipt? ', link('/verify', 'Verify it without signing in'), '.'),
  )
  showScene('Sign in', scene, { focus: false })
}

/** Returns the person signed in on this browser; undefined for nobody. @throws RequestFailure, ShapeError */
export async function whoIsSignedIn(): Promise<User | undefined> {
  return (await get('/session?optional=true', nullable(sessionShape)))?.user
}

/** Sign-in by passkey or code. A browser without passkeys offers `url` to copy. `codesOpen` shows the form for codes at once. */
export function signInPanel(
  then: (user: User) => void | Promise<void>,
  url?: string,
  codesOpen = false,
): HTMLElement {
  const signedIn = async (user: User): Promise<void> => {
    noteSignedIn(user.approver)
    await then(user)
  }
  const slot = noticeSlot()
  const passkey = button('Sign in with a passkey', 'primary', async () => {
    passkey.after(slot.element)
    slot.clear()
    try {
      const { options } = await post('/session/passkey/options', {}, requestOptionsShape)
      const credential = await usePasskey(options, slot)
      const { user } = await post('/session/passkey', { credential }, sessionShape)
      await signedIn(user)
    } catch (error) {
      if (error instanceof RequestFailure && error.code === 'sign_in_failed') slot.show('error', NOT_THIS_ONE)
      else slot.fail(error)
    }
  })
  const works = passkeysWork()
  const codes = el(
    'details',
    { class: 'alternative', open: codesOpen || !works },
    el('summary', {}, 'Use a code instead'),
    codeForm(slot, signedIn),
  )
  insteadOfPrompt(codes)
  return div(
    'card',
    !navigator.cookieEnabled && notice('info', NO_COOKIES, copyLink(url)),
    works ? passkey : openElsewhere(url),
    slot.element,
    codes,
  )
}

const NO_COOKIES =
  'this browser blocks the cookies of this page, so you cannot stay signed in. Allow them in its settings, or open the link in another browser. '

/** Names every possible reason: of a passkey that it cannot verify the service says no more. */
const NOT_THIS_ONE = `this passkey does not sign you in. It was removed, or it belongs to another service. Use another passkey or a code. If you have none left: ${NEW_LINK}`

/** When the form is sent, messages move from the passkey's button to its own. */
function codeForm(slot: NoticeSlot, signedIn: (user: User) => Promise<void>): HTMLElement {
  const email = emailField('E-mail', 'username')
  const code = field({
    label: 'Code',
    name: 'code',
    hint: '6 digits from your authenticator app, or a backup code such as ABCDE-12345. Codes work only in browsers where you signed up before.',
    attributes: {
      autocomplete: 'one-time-code',
      autocapitalize: 'characters',
      maxlength: 16,
      class: 'input code-input',
    },
  })
  const send = async (): Promise<void> => {
    code.row.after(slot.element)
    const path = codePath(code.input.value)
    const address = readEmail(email, 'Enter your e-mail address.')
    if (address === undefined) return
    if (path === undefined) return wrong(code, 'Enter 6 digits, or a backup code of 10 letters and digits.')
    const body = { email: address, code: code.input.value.replaceAll(' ', '') }
    const { user } = await post(path, body, sessionShape)
    await signedIn(user)
  }
  return form(
    {},
    () => slot.attempt(send, { email, code }),
    email.row,
    code.row,
    submitButton('Sign in with the code', 'plain'),
  )
}

/** Returns the path for a code: six digits come from the app, ten characters are a backup code; undefined for neither. */
function codePath(text: string): string | undefined {
  const code = text.replaceAll(' ', '')
  if (/^[0-9]{6}$/.test(code)) return '/session/totp'
  return /^[0-9A-Za-z]{5}-?[0-9A-Za-z]{5}$/.test(code) ? '/session/backup-code' : undefined
}
