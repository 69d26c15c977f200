import { type Invitation, invitationShape } from '../api/contract.ts'
import { post, RequestFailure } from '../api/request.ts'
import { button } from '../dom/button.ts'
import { el } from '../dom/element.ts'
import { notice, noticeSlot, sentenceOf } from '../dom/notice.ts'
import { showScene } from '../dom/stage.ts'
import { callerText } from '../show/caller-text.ts'
import { type Enrolment, factorChoice } from './factor-choice.ts'
import { personFields } from './person-fields.ts'

/** Takes the one-time token out of the address at once: it must not stay in the history, a screenshot or a Referer (T14). */
function takeToken(): string {
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}

/** `/setup#<token>` and `/enroll#<token>`. */
export async function enrolPage(): Promise<void> {
  const token = takeToken()
  if (token === '') showDeadLink('This address is incomplete. Open the whole link you were given, once more.')
  else await lookUp(token)
}

async function lookUp(token: string): Promise<void> {
  try {
    showEnrolment(token, await post('/enrollment/lookup', { token }, invitationShape))
  } catch (error) {
    const dead = error instanceof RequestFailure && error.status === 410
    // The address no longer holds the token: without this button a hiccup would cost the person their link.
    showDeadLink(sentenceOf(error), dead ? undefined : button('Try again', 'primary', () => lookUp(token)))
  }
}

function showDeadLink(sentence: string, again?: HTMLElement): void {
  const title = again === undefined ? 'This link does not work' : 'This page could not be loaded'
  const scene = el('div', {}, el('h1', {}, title), notice('error', sentence), again)
  showScene(title, scene, { focus: false })
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
  }
  const scene = el(
    'div',
    {},
    el('h1', {}, setup ? 'Set up Countersign' : 'Enrol as an approver'),
    el('p', { class: 'lede' }, setup ? 'You become the owner of the first account.' : greeting(invitation)),
    el('div', { class: 'card' }, about?.element, ...factorChoice(enrolment)),
  )
  showScene(setup ? 'Set up' : 'Enrol', scene, { focus: false })
}

function greeting({ name, email }: Invitation): HTMLElement {
  return el(
    'span',
    {},
    'Welcome',
    name !== null && name !== '' && el('span', {}, ', ', callerText(name)),
    '. ',
    email !== null && el('span', {}, 'You enrol as ', el('strong', {}, callerText(email)), '.'),
  )
}
