import type { ChatLink, User } from '../kit/api/contract.ts'
import { announce } from '../kit/dom/announce.ts'
import { type Child, el, link as linkTo } from '../kit/dom/element.ts'
import { notice } from '../kit/dom/notice.ts'
import { showScene } from '../kit/dom/stage.ts'
import { channelOf, whoInChat, whoIsHere } from '../kit/show/chat-names.ts'
import { wordsOf } from '../kit/show/chat-words.ts'
import { signInPanel } from '../sign-in/sign-in-panel.ts'

const ACCOUNT = (): HTMLElement =>
  el('p', {}, linkTo('/account', 'Go to your account', { class: 'button primary' }))

/** What happens next, in chat and here. */
export function showLinked(link: ChatLink, user: User): void {
  const { command, name } = wordsOf(link.platform)
  showDone(
    'Your chat account is linked',
    notice('success', ...whoInChat(link), ' is linked to ', ...whoIsHere(user), '.'),
    el('h2', {}, 'What happens next'),
    el(
      'ul',
      { class: 'next-steps' },
      el('li', {}, `Requests for your approval come to you in ${name}.`),
      el('li', {}, 'Their buttons lead here. You decide on this site, with your passkey or a code.'),
      el('li', {}, 'Type ', el('code', {}, command('pending')), ' there to see what waits for you.'),
      el(
        'li',
        {},
        'Type ',
        el('code', {}, command('unlink')),
        ' there, or unlink it on your account page, to end this.',
      ),
    ),
    el('p', {}, 'You can close this page and go back to the chat.'),
    ACCOUNT(),
  )
}

export function showChannelAdded(link: ChatLink): void {
  showDone(
    'The channel will be told',
    notice('success', 'the channel ', ...channelOf(link), ' is told of every request of your account.'),
    el('h2', {}, 'What happens next'),
    el(
      'ul',
      { class: 'next-steps' },
      el('li', {}, 'From the next request on, it reads action, requester and status, never the details.'),
      el('li', {}, ...nothingArrives(link.platform)),
      el('li', {}, 'Your page of integrations shows the channel; remove it there to end this.'),
    ),
    el('p', {}, linkTo('/integrations', 'Go to your integrations', { class: 'button primary' })),
  )
}

function nothingArrives(platform: ChatLink['platform']): Child[] {
  const said = 'Nothing arrives? Then add the Countersign app to the channel'
  return platform === 'slack'
    ? [`${said}: type `, el('code', {}, '/invite @Countersign'), ' in it.']
    : [`${said}.`]
}

/** `user` is whoever is signed in on this browser already. */
export function showBrowserKnown(user: User | undefined, signedIn: () => void): void {
  showDone(
    'This browser is known now',
    ...(user === undefined
      ? [
          el(
            'p',
            { class: 'lede' },
            'Sign in with your e-mail address and a code from your authenticator app, or with a backup code.',
          ),
          signInPanel(signedIn, true),
        ]
      : [
          el('p', { class: 'lede' }, 'From now on codes sign in here too.'),
          el('p', {}, 'You are signed in as ', ...whoIsHere(user), '.'),
          ACCOUNT(),
        ]),
  )
}

function showDone(title: string, ...parts: Child[]): void {
  showScene(title, el('div', {}, el('h1', {}, title), ...parts))
  announce(title)
}
