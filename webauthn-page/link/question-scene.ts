import type { ChatLink, User } from '../kit/api/contract.ts'
import { button } from '../kit/dom/button.ts'
import { type Child, el } from '../kit/dom/element.ts'
import { moment } from '../kit/dom/moment.ts'
import { type NoticeSlot, notice } from '../kit/dom/notice.ts'
import { showScene } from '../kit/dom/stage.ts'
import { channelOf, linkWarnings, whoInChat, whoIsHere } from '../kit/show/chat-names.ts'
import { typed, wordsOf } from '../kit/show/chat-words.ts'

/** What the person may do at a question. */
export interface Answers {
  slot: NoticeSlot
  agree(): Promise<void>
  /** "I did not ask for this." */
  decline(): void
  /** Sign in as somebody else, without losing the link. */
  change(): Promise<void>
}

/** Whom the link would join, in large words. Nothing happens before a fresh proof. */
export function showLinkQuestion(link: ChatLink, user: User, answers: Answers): void {
  showScene(
    'Link a chat account',
    question(
      link,
      ['Link ', ...whoInChat(link), ' to ', ...whoIsHere(user), '?'],
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago. Whoever holds this chat account will see what you are asked to approve. It can never approve anything.',
      ),
      answerButtons('Confirm and link', answers),
      signedInAs(user, answers),
    ),
  )
}

/** What the channel would be told, and of whose account. */
export function showChannelQuestion(link: ChatLink, user: User, answers: Answers): void {
  showScene(
    'Tell a channel',
    question(
      link,
      [
        'Tell the channel ',
        ...channelOf(link),
        ' of every request of the account of ',
        ...whoIsHere(user),
        '?',
      ],
      el('p', { class: 'lede' }, 'It is told action, requester and status, never the details.'),
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago. Everybody who is in this channel, now or later, reads what your account is asked to approve. Nobody can approve anything there.',
      ),
      answerButtons('Confirm and tell the channel', answers),
      signedInAs(user, answers),
    ),
  )
}

/** Needs nobody to be signed in: a browser that cannot sign in yet is what it is for. */
export function showBrowserQuestion(link: ChatLink, answers: Answers): void {
  showScene(
    'Make this browser known',
    question(
      link,
      ['Make this browser known for signing in with e-mail and code?'],
      el('p', { class: 'lede' }, 'Asked for by ', ...whoInChat(link), '.'),
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago, and only on a device of your own.',
      ),
      el(
        'p',
        {},
        'This signs nobody in: that still takes your e-mail address and a code. If somebody else signs in with codes on this browser, their codes stop working here.',
      ),
      answerButtons('Make this browser known', answers),
    ),
  )
}

function question(link: ChatLink, heading: Child[], ...parts: HTMLElement[]): HTMLElement {
  return el(
    'div',
    { class: 'question' },
    el('h1', {}, ...heading),
    ...linkWarnings(link),
    ...parts,
    el(
      'p',
      { class: 'hint' },
      `Framed names are what ${wordsOf(link.platform).name} tells; Countersign did not check them. This link works once, until `,
      moment(link.expires_at),
      '.',
    ),
  )
}

function answerButtons(yes: string, { slot, agree, decline }: Answers): HTMLElement {
  return el(
    'div',
    { class: 'answers' },
    slot.element,
    el(
      'div',
      { class: 'buttons' },
      button(yes, 'primary', agree),
      button('I did not ask for this', 'plain', decline),
    ),
  )
}

function signedInAs(user: User, { change }: Answers): HTMLElement {
  return el(
    'div',
    { class: 'signed-in-as' },
    el('p', {}, 'You are signed in as ', ...whoIsHere(user), '.'),
    button('Sign in as somebody else', 'quiet', change),
  )
}
