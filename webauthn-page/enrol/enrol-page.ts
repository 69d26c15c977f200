import { type Invitation, invitationShape } from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { button } from '../kit/dom/button.ts'
import { type Child, el, link } from '../kit/dom/element.ts'
import { notice, noticeSlot, sentenceOf } from '../kit/dom/notice.ts'
import { showScene } from '../kit/dom/stage.ts'
import { takeToken } from '../kit/dom/take-token.ts'
import { callerText } from '../kit/show/caller-text.ts'
import { answerInvitation } from './answer-invitation.ts'
import { type Enrolment, factorChoice } from './factor-choice.ts'
import { joining } from './joining.ts'
import { personFields } from './person-fields.ts'

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
    el('p', {}, 'Open the link you were given again, from where you got it.'),
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
      ? el('p', {}, 'Nobody signed up yet? Restart the service: it then prints a new link.')
      : el('p', {}, 'Not enrolled yet? Ask the person who sent you the link for a new one.'),
  )
}

function signUpDone(): HTMLElement {
  const question = location.pathname === '/setup' ? 'Signed up already? ' : 'Enrolled already? '
  return el('p', {}, question, link('/signin', 'Sign in'), '.')
}

function showStopped(title: string, ...parts: Child[]): void {
  showScene(title, el('div', {}, el('h1', {}, title), ...parts), { focus: false })
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
  const scene = el(
    'div',
    {},
    el('h1', {}, setup ? 'Set up Countersign' : headingOf(invitation)),
    el('p', { class: 'lede' }, setup ? 'You become the owner of the first account.' : greeting(invitation)),
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
    email !== null && el('span', {}, 'You enrol as ', el('strong', {}, callerText(email)), '.'),
  )
}
