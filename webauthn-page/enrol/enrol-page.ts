import { type Invitation, invitationShape, okShape, type User } from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { type Child, el, lede, link, p } from '../kit/dom/element.ts'
import { notice, noticeSlot, sentenceOf } from '../kit/dom/notice.ts'
import { plainScene, showScene, showUser, takeToken } from '../kit/dom/stage.ts'
import { callerName, callerText } from '../kit/show/caller-text.ts'
import { signInPanel, whoIsSignedIn } from '../sign-in/sign-in.ts'
import { type Enrolment, factorChoice, personFields } from './factor-choice.ts'

/** `/setup#<token>` and `/enroll#<token>`. */
export async function enrolPage(): Promise<void> {
  const token = takeToken()
  if (token === '') showIncomplete()
  else await lookUp(token)
}

async function lookUp(token: string): Promise<void> {
  try {
    const invitation = await post('/enrollment/lookup', { token }, invitationShape)
    if (invitation.enrolled === true) await answerInvitation(token, invitation)
    else showEnrolment(token, invitation)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 410) return showDeadLink()
    // The address no longer holds the token: without this button a hiccup would cost the person their link.
    const again = button('Try again', 'primary', () => lookUp(token))
    showStopped('This page could not be loaded', notice('error', sentenceOf(error)), again)
  }
}

/** Also what a reload leads to, as the first visit took the secret part out of the address. */
function showIncomplete(): void {
  showStopped(
    'Open the complete link again',
    notice(
      'warning',
      'this address is only half of the link. The page removes the secret part at once to protect it, so reloading cannot bring it back.',
    ),
    p('Open the link you were given again, from where you got it.'),
    signUpDone(),
  )
}

function showDeadLink(): void {
  const setup = location.pathname === '/setup'
  showStopped(
    'This link does not work',
    notice('error', 'the link has expired or was already used.'),
    signUpDone(),
    setup
      ? p('Nobody signed up yet? Restart the service: it then prints a new link.')
      : p('Not enrolled yet? Ask the person who sent you the link for a new one.'),
  )
}

function signUpDone(): HTMLElement {
  const question = location.pathname === '/setup' ? 'Signed up already? ' : 'Enrolled already? '
  return p(question, link('/signin', 'Sign in'), '.')
}

function showStopped(title: string, ...parts: Child[]): void {
  showScene(title, plainScene(title, ...parts), { focus: false })
}

function showEnrolment(token: string, invitation: Invitation): void {
  const setup = invitation.kind === 'setup'
  const slot = noticeSlot()
  const about = setup ? personFields() : undefined
  const enrolment: Enrolment = {
    token,
    slot,
    person: () => (about === undefined ? {} : about.read()),
    fields: about?.fields ?? {},
    back: () => showScene(title, scene),
  }
  const title = setup ? 'Set up' : 'Enrol'
  const scene = plainScene(
    setup ? 'Set up Countersign' : headingOf(invitation),
    lede(setup ? 'You become the owner of the first account.' : greeting(invitation)),
    el('div', { class: 'card' }, about?.element, ...factorChoice(enrolment)),
  )
  showScene(title, scene, { focus: false })
}

function headingOf({ role }: Invitation): string {
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

/** What the invited person would be, and where. */
function joining({ account_name, role }: Invitation): HTMLElement | undefined {
  if (account_name === undefined || role === undefined) return undefined
  const may =
    role === 'auditor'
      ? 'you see its requests and its audit log, and decide nothing'
      : 'you decide requests that name you'
  return el('span', {}, 'You are asked to join ', callerName(account_name), ` as ${role}: ${may}. `)
}

/**
 * The link gives no factor: the invited person signs in, and accepts here, with the token that is nowhere but in this page.
 * @throws RequestFailure, ShapeError
 */
async function answerInvitation(token: string, invitation: Invitation): Promise<void> {
  const user = await whoIsSignedIn()
  if (user === undefined) return showSignIn(token, invitation)
  showUser(user)
  if (user.email === invitation.email) showQuestion(token, invitation)
  else showSomebodyElse(user, invitation)
}

function showSignIn(token: string, invitation: Invitation): void {
  show(
    invitation,
    p('The invitation is for ', whoIsMeant(invitation), '. Sign in as that person to answer it.'),
    signInPanel(() => void answerInvitation(token, invitation)),
    el(
      'p',
      { class: 'note' },
      'Not signed up yet? Somebody else invited you before: finish that invitation first, then open this link again.',
    ),
  )
}

function showQuestion(token: string, invitation: Invitation): void {
  const slot = noticeSlot()
  const account = encodeURIComponent(invitation.account_id ?? '')
  const answer = (word: 'accept' | 'decline', next: string) => (): Promise<void> =>
    slot.attempt(async () => {
      await post(`/me/invitations/${account}/${word}`, word === 'accept' ? { token } : {}, okShape)
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

function showSomebodyElse(user: User, invitation: Invitation): void {
  show(
    invitation,
    p(
      'The invitation is for ',
      whoIsMeant(invitation),
      ', and you are signed in as ',
      callerName(user.email),
      '. Sign out there first, then open the link again.',
    ),
    p(link('/', 'Go to your inbox')),
  )
}

function whoIsMeant({ email }: Invitation): HTMLElement {
  return callerName(email ?? '')
}

function show(invitation: Invitation, ...parts: Child[]): void {
  const scene = plainScene('You are invited', lede(joining(invitation)), ...parts)
  showScene('Invitation', scene, { focus: false })
}
