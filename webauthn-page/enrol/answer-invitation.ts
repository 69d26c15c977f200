import { type Invitation, okShape, sessionShape, type User } from '../kit/api/contract.ts'
import { get, post, RequestFailure } from '../kit/api/request.ts'
import { button } from '../kit/dom/button.ts'
import { type Child, el, link } from '../kit/dom/element.ts'
import { noticeSlot } from '../kit/dom/notice.ts'
import { showScene, showUser } from '../kit/dom/stage.ts'
import { callerText } from '../kit/show/caller-text.ts'
import { signInPanel } from '../sign-in/sign-in-panel.ts'
import { joining } from './joining.ts'

/**
 * The link gives no factor: whoever it is for signs in, and accepts here, with the token that is nowhere but in this page.
 * @throws RequestFailure, ShapeError
 */
export async function answerInvitation(token: string, invitation: Invitation): Promise<void> {
  const user = await whoIsSignedIn()
  if (user === undefined) return showSignIn(token, invitation)
  showUser(user)
  if (user.email === invitation.email) showQuestion(token, invitation)
  else showSomebodyElse(user, invitation)
}

async function whoIsSignedIn(): Promise<User | undefined> {
  try {
    return (await get('/session', sessionShape)).user
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 401) return undefined
    throw error
  }
}

function showSignIn(token: string, invitation: Invitation): void {
  show(
    invitation,
    el('p', {}, 'The invitation is for ', whoIsMeant(invitation), '. Sign in as that person to answer it.'),
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
  const answer = (word: 'accept' | 'decline', next: string) => async (): Promise<void> => {
    slot.clear()
    try {
      await post(`/me/invitations/${account}/${word}`, word === 'accept' ? { token } : {}, okShape)
      location.replace(next)
    } catch (error) {
      slot.fail(error)
    }
  }
  show(
    invitation,
    el('p', {}, 'You can leave again at any time.'),
    slot.element,
    el(
      'div',
      { class: 'buttons' },
      button('Accept', 'primary', answer('accept', `/?account=${account}`)),
      button('Decline', 'plain', answer('decline', '/')),
    ),
  )
}

function showSomebodyElse(user: User, invitation: Invitation): void {
  show(
    invitation,
    el(
      'p',
      {},
      'The invitation is for ',
      whoIsMeant(invitation),
      ', and you are signed in as ',
      el('strong', {}, callerText(user.email)),
      '. Sign out there first, then open the link again.',
    ),
    el('p', {}, link('/', 'Go to your inbox')),
  )
}

function whoIsMeant({ email }: Invitation): HTMLElement {
  return el('strong', {}, callerText(email ?? ''))
}

function show(invitation: Invitation, ...parts: Child[]): void {
  const lede = el('p', { class: 'lede' }, joining(invitation))
  showScene('Invitation', el('div', {}, el('h1', {}, 'You are invited'), lede, ...parts), { focus: false })
}
