import { visibleString } from '../../src/domain/text.ts'
import {
  creationOptionsShape,
  type Invitation,
  invitationShape,
  okShape,
  sessionShape,
  sessionWithCodesShape,
  totpSecretShape,
  type User,
} from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { deviceName } from '../kit/device-name.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { type Child, div, el, lede, link, note, p } from '../kit/dom/element.ts'
import { emailField, type Field, nameField, readEmail } from '../kit/dom/form.ts'
import { keep } from '../kit/dom/kept.ts'
import { moment } from '../kit/dom/moment.ts'
import { type NoticeSlot, notice, noticeSlot, sentenceOf } from '../kit/dom/notice.ts'
import { plainScene, showHalfLink, showPlain, showScene, showUser, takeToken } from '../kit/dom/stage.ts'
import {
  completeLink,
  copyLink,
  createPasskey,
  type PasskeyHints,
  passkeyPlaces,
  passkeysWork,
  stopPrompt,
} from '../kit/passkey/ceremony.ts'
import { readName } from '../kit/passkey/read-name.ts'
import { callerName, callerText } from '../kit/show/caller-text.ts'
import { signInPanel, whoIsSignedIn } from '../sign-in/sign-in.ts'

/** Opens `/setup#<token>` or `/enroll#<token>`. */
export async function enrolPage(): Promise<void> {
  const token = takeToken()
  if (token !== '') return lookUp(token)
  const user = await whoIsSignedIn().catch(() => undefined)
  if (user !== undefined) return showEnrolled(user)
  showHalfLink(p('Open the link again from the message in which you got it.'), signUpDone())
}

/** Leads on who reloaded the page, and lost the token or the backup codes with that. */
function showEnrolled(user: User): void {
  showUser(user)
  showPlain(
    'You are enrolled',
    p('You are enrolled and signed in as ', callerName(user.email), '.'),
    p('Backup codes not saved? Renew them under ', link('/account', 'Account'), '.'),
    p('Invited to another account? Open that link again.'),
    p(link('/', 'Go to your inbox')),
  )
}

async function lookUp(token: string): Promise<void> {
  try {
    const invitation = await post('/enrollment/lookup', { token }, invitationShape)
    if (invitation.enrolled === true) await answerInvitation(token, invitation)
    else if (invitation.opens_at !== undefined && Date.parse(invitation.opens_at) > Date.now())
      showEarly(token, invitation.opens_at)
    else showEnrolment(token, invitation)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 410) return showDeadLink()
    // The address no longer holds the token: without this button, one failed call would cost the person their link.
    const again = button('Try again', 'primary', () => lookUp(token))
    showPlain('This page could not be loaded', notice('failed', sentenceOf(error)), again)
  }
}

function showDeadLink(): void {
  const setup = location.pathname === '/setup'
  showPlain(
    'This link does not work',
    notice('error', 'the link has expired or was already used.'),
    signUpDone(),
    setup
      ? p(
          'Not signed up yet? On the server, “countersign user owner-link” prints a new link. If a command invited you, use the link it printed.',
        )
      : p('Not enrolled yet? Ask the person who sent you the link for a new one.'),
  )
}

function signUpDone(): HTMLElement {
  const question = location.pathname === '/setup' ? 'Signed up already? ' : 'Enrolled already? '
  return p(question, link('/signin', 'Sign in'), '.')
}

function showEnrolment(token: string, invitation: Invitation): void {
  const setup = invitation.kind === 'setup'
  const slot = noticeSlot()
  const about = setup ? personFields() : undefined
  const enrolment: Enrolment = {
    token,
    invitation,
    slot,
    person: () => (about === undefined ? {} : about.read()),
    fields: about?.fields ?? {},
    back: () => showScene(title, scene),
  }
  const title = setup ? 'Set up' : 'Enrol'
  const scene = plainScene(
    setup ? 'Set up Countersign' : headingOf(invitation),
    lede(setup ? 'You become the owner of the first account.' : greeting(invitation)),
    div('card', about?.element, ...factorChoice(enrolment)),
  )
  showScene(title, scene, { focus: false })
}

/** Says from when on the link works. The address no longer holds the token, so the page offers the whole link. */
function showEarly(token: string, opensAt: string): void {
  showPlain(
    'This link does not work yet',
    p(
      'You can set up your sign-in anew from ',
      moment(opensAt),
      ' on. Keep this link and open it again then: ',
      copyLink(completeLink(token)),
    ),
    p(
      'Did you not ask for this, or can you still sign in? ',
      link('/account', 'Open your account'),
      ' and cancel it.',
    ),
  )
}

/** Returns the heading. A link without a role is from the operator: for an own account, or a renewed link for any role. */
function headingOf({ role, opens_at }: Invitation): string {
  if (opens_at !== undefined) return 'Set up your sign-in anew'
  if (role === undefined) return 'Set up how you sign in'
  return role === 'auditor' ? 'Enrol as an auditor' : 'Enrol as an approver'
}

function greeting(invitation: Invitation): HTMLElement {
  const { name, email } = invitation
  return el(
    'span',
    {},
    joining(invitation),
    'Welcome',
    name !== null && name !== '' && el('span', {}, ', ', callerText(name)),
    '. ',
    email !== null && el('span', {}, 'You enrol as ', callerName(email), '.'),
  )
}

/** Says which account the invited person would join, and in which role. */
function joining({ account_name, role, opens_at }: Invitation): HTMLElement | undefined {
  if (opens_at !== undefined)
    return el('span', {}, 'When you are done, your earlier passkeys, codes and sessions end. ')
  if (account_name === undefined || role === undefined) return undefined
  const may =
    role === 'auditor'
      ? 'you see its requests and its audit log, and decide nothing'
      : 'you decide requests that name you'
  return el('span', {}, 'You are asked to join ', callerName(account_name), ` as ${role}: ${may}. `)
}

/**
 * Lets an enrolled person answer an invitation. The link adds no factor: the person signs in and accepts here, with the token
 * that exists only in this page.
 * @throws RequestFailure, ShapeError
 */
async function answerInvitation(token: string, invitation: Invitation): Promise<void> {
  const user = await whoIsSignedIn()
  if (user === undefined) return showSignIn(token, invitation)
  showUser(user)
  if (user.email === invitation.email) showQuestion(token, invitation)
  else showOtherUser(user, invitation)
}

function showSignIn(token: string, invitation: Invitation): void {
  show(
    invitation,
    p('The invitation is for ', inviteeOf(invitation), '. Sign in as that person to answer it.'),
    signInPanel(() => void answerInvitation(token, invitation), completeLink(token)),
    note(
      'Not signed up yet? You have an earlier invitation from another owner: finish that one first, then open this link again.',
    ),
  )
}

function showQuestion(token: string, invitation: Invitation): void {
  const slot = noticeSlot()
  const account = encodeURIComponent(invitation.account_id ?? '')
  const answer = (word: 'accept' | 'decline', next: string) => (): Promise<void> =>
    slot.attempt(async () => {
      await post(`/me/invitations/${account}/${word}`, word === 'accept' ? { token } : {}, okShape)
      if (word === 'accept') noteJoined(invitation)
      location.replace(next)
    })
  show(
    invitation,
    p('You can leave again at any time.'),
    slot.element,
    buttonRow(
      button('Accept', 'primary', answer('accept', `/?account=${account}`)),
      button('Decline', 'plain', answer('decline', '/')),
    ),
  )
}

function showOtherUser(user: User, invitation: Invitation): void {
  show(
    invitation,
    p(
      'The invitation is for ',
      inviteeOf(invitation),
      ', and you are signed in as ',
      callerName(user.email),
      '. Sign out there first, then open the link again.',
    ),
    p(link('/', 'Go to your inbox')),
  )
}

function inviteeOf({ email }: Invitation): HTMLElement {
  return callerName(email ?? '')
}

function show(invitation: Invitation, ...parts: Child[]): void {
  const scene = plainScene('You are invited', lede(joining(invitation)), ...parts)
  showScene('Invitation', scene, { focus: false })
}

interface Enrolment {
  token: string
  invitation: Invitation
  slot: NoticeSlot
  /** Reads e-mail and name of the first owner; empty for an invited person; undefined while the fields are invalid. */
  person(): Person | Record<string, never> | undefined
  fields: Record<string, Field>
  /** Shows this choice again, with the typed text. */
  back(): void
}

/** The choice of a factor: passkeys first, codes as the alternative. */
function factorChoice(enrolment: Enrolment): HTMLElement[] {
  const works = passkeysWork()
  const passkeyName = nameField('Name of this passkey', 'So that you can tell your devices apart.', {
    name: 'passkey_name',
    value: deviceName(),
  })
  const passkey = el(
    'section',
    { class: 'choice', 'aria-label': 'Passkey' },
    el('h2', {}, 'Passkey'),
    p(
      'Biometric: your fingerprint, face or PIN on this device, or a security key. A passkey works only at this address, so you cannot be tricked into giving it away. Recommended.',
    ),
    passkeyName.row,
    passkeyPlaces((hints) => enrolPasskey(enrolment, passkeyName, hints)),
  )
  const totp = el(
    'section',
    { class: 'choice', 'aria-label': 'Authenticator app' },
    el('h2', {}, works ? 'No passkey on this device?' : 'Authenticator app'),
    p(
      'Codes from an app work too, but only in browsers where you signed up before. A fake site could steal a code, and high-impact requests may require a passkey.',
    ),
    button('Use an authenticator app', 'plain', () => {
      stopPrompt()
      return enrolTotp(enrolment)
    }),
  )
  const missing = notice(
    'info',
    'this browser cannot create passkeys here. Copy the link and open it in Safari or Chrome, or use an authenticator app. ',
    copyLink(completeLink(enrolment.token)),
  )
  return [works ? passkey : missing, enrolment.slot.element, totp]
}

/** The page that opens next says it once. */
function noteJoined({ account_name, role, opens_at }: Invitation): void {
  if (account_name === undefined || role === undefined || opens_at !== undefined) return
  const asked = role === 'approver' ? ' Requests that name you appear in your inbox.' : ''
  keep('sessionStorage', 'news', `you joined “${visibleString(account_name)}”.${asked}`)
}

function goIn(invitation: Invitation): void {
  noteJoined(invitation)
  location.replace('/')
}

async function enrolPasskey(
  { token, invitation, slot, person, fields }: Enrolment,
  name: Field,
  hints: PasskeyHints,
): Promise<void> {
  const work = async (): Promise<void> => {
    const who = person()
    const passkeyName = who && readName(name, 'Give the passkey a name.')
    if (passkeyName === undefined) return
    const { options } = await post('/enrollment/passkey/options', { token, ...who }, creationOptionsShape)
    const credential = await createPasskey({ ...options, hints }, slot)
    await post('/enrollment/passkey', { token, passkey_name: passkeyName, credential }, sessionShape)
    goIn(invitation)
  }
  await slot.attempt(work, { ...fields, passkey_name: name })
}

interface Person {
  email: string
  name: string
  account_name?: string
}

/** The fields for the first owner. If a field is invalid, `read` marks it and returns undefined. */
function personFields() {
  const email = emailField(
    'E-mail',
    'email',
    'Colleagues know you by it. You also enter it when you sign in with a code of an authenticator app.',
  )
  const name = nameField('Your name', undefined, { autocomplete: 'name', required: true })
  const organisation = nameField(
    'Organisation (optional)',
    'Approvers read it on requests, and people are asked to join it. Otherwise your name stands there.',
    {
      name: 'account_name',
      autocomplete: 'organization',
    },
  )
  const read = (): Person | undefined => {
    const called = readName(name, 'Enter your name.')
    const address = readEmail(email, 'Enter your e-mail address, such as ana@example.com.')
    const account_name = organisation.input.value.trim() && readName(organisation, '')
    if (called === undefined || address === undefined || account_name === undefined) return undefined
    return { email: address, name: called, ...(account_name && { account_name }) }
  }
  return {
    element: div('person-fields', email.row, name.row, organisation.row),
    fields: { email, name, account_name: organisation },
    read,
  }
}

/** Enrols without a passkey: secret, first code, backup codes. */
async function enrolTotp({ token, invitation, slot, person, fields, back }: Enrolment): Promise<void> {
  const work = async (): Promise<void> => {
    const who = person()
    if (who === undefined) return
    const { backupCodes, totpSetup } = await import('../kit/passkey/authenticator-app.ts')
    const secret = await post('/enrollment/totp/options', { token, ...who }, totpSecretShape)
    const setup = totpSetup(secret, async (code) => {
      const { backup_codes } = await post('/enrollment/totp', { token, code }, sessionWithCodesShape)
      const saved = backupCodes(backup_codes, () => goIn(invitation))
      showScene('Backup codes', plainScene('Save your backup codes', saved))
    })
    const scene = plainScene(
      'Set up your authenticator app',
      beforeYouFinish(),
      div('card', setup),
      buttonRow(button(passkeysWork() ? 'Back: use a passkey instead' : 'Back', 'plain', back)),
    )
    showScene('Authenticator app', scene)
  }
  await slot.attempt(work, fields)
}

/** Warns now that a person with codes alone cannot sign in on a second device (T15), rather than let them find out then. */
function beforeYouFinish(): HTMLElement {
  return notice(
    'warning',
    'codes and backup codes sign you in only in browsers where you signed up or set up the app before. On a new device, or after you clear this browser’s data, use a passkey.',
  )
}
