import type { ChatLink, User } from '../kit/api/contract.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { announce, type Child, el, hint, lede, link as linkTo, p } from '../kit/dom/element.ts'
import { moment } from '../kit/dom/moment.ts'
import { notice, sentenceOf } from '../kit/dom/notice.ts'
import { plainScene, showHalfLink, showPlain, showScene } from '../kit/dom/stage.ts'
import {
  channelOf,
  linkWarnings,
  typed,
  typedAnywhere,
  whoInChat,
  whoIsHere,
  wordsOf,
} from '../kit/show/chat.ts'
import { signInPanel } from '../sign-in/sign-in.ts'

export function showIncomplete(): void {
  showHalfLink(
    p('Open the link in the chat again: until it is used, it works for ten minutes.'),
    linkedAlready(),
  )
}

/** Says that the link no longer works. `link` holds what the page learnt about it while it did. */
export function showDeadLink(link?: ChatLink): void {
  showPlain(
    'This link no longer works',
    notice('error', 'the link has expired, was already used, or was replaced by a newer one.'),
    p(
      'Links from chat work once and for ten minutes. Type ',
      ...(link === undefined ? typedAnywhere('link') : typed(link)),
      ' again to get a new one.',
    ),
    linkedAlready(),
  )
}

function linkedAlready(): HTMLElement {
  return p(
    'Have you confirmed it already? ',
    linkTo('/account', 'Your account'),
    ' lists linked accounts, under “Chat”.',
  )
}

export function showFailure(error: unknown, again: () => Promise<void>): void {
  showPlain(
    'This page could not be loaded',
    notice('failed', sentenceOf(error)),
    p('The link was not used. Stay on this page: it still holds the link.'),
    buttonRow(button('Try again', 'primary', again)),
  )
}

/** Says that the chat account that asked for the link is linked to another person here. */
export function showNotYours(link: ChatLink, user: User, change: () => Promise<void>): void {
  showPlain(
    'Someone else asked for this link',
    notice('error', 'you are signed in as ', ...whoIsHere(user), '. The link belongs to another person.'),
    p(
      'The link was requested by ',
      ...whoInChat(link),
      '. Sign in as the person who linked that chat account, or type ',
      ...typed(link),
      ' yourself to get a link of your own.',
    ),
    ...linkWarnings(link),
    buttonRow(button('Sign in as someone else', 'primary', change)),
  )
}

/** The way out for a person to whom someone else sent the link. The link stays unused. */
export function showDeclined(link: ChatLink): void {
  showPlain(
    'Nothing was changed',
    lede('You can close this page. The link expires at ', moment(link.expires_at), '.'),
    p(
      'Did another person send you the link? Then tell the operator of this service: it can be an attempt to ',
      link.kind === 'browser' ? 'interfere with how you sign in.' : 'read your requests.',
    ),
    p(linkTo('/account', 'Your account')),
  )
}

/** Asks for sign-in. `url` is the complete link; `message` gives the reason when a session has just ended. */
export function showSignIn(
  link: ChatLink,
  url: string,
  signedIn: (user: User) => void,
  message?: string,
): void {
  const channel = link.kind === 'channel'
  const about = channel
    ? ['It is about ', ...channelOf(link), '.']
    : ['It is about ', ...whoInChat(link), '.']
  showScene(
    'Sign in',
    plainScene(
      channel ? 'Sign in to notify a channel' : 'Sign in to link your chat account',
      message !== undefined && notice('info', message),
      lede(...about, ' Signing in changes nothing; you confirm on the next page.'),
      ...linkWarnings(link),
      signInPanel(signedIn, url),
      hint('No account here yet? Ask the operator of this service for an invitation.'),
    ),
  )
}

const ACCOUNT = (): HTMLElement => p(linkTo('/account', 'Go to your account', { class: 'button primary' }))

/** Says that the chat account is linked, and what happens next, in chat and here. */
export function showLinked(link: ChatLink, user: User): void {
  const { command, name } = wordsOf(link.platform)
  showDone(
    'Your chat account is linked',
    notice('success', ...whoInChat(link), ' is linked to ', ...whoIsHere(user), '.'),
    el('h2', {}, 'Next steps'),
    el(
      'ul',
      { class: 'next-steps' },
      el('li', {}, `You get your requests in ${name}.`),
      el('li', {}, 'Their buttons lead here. You decide on this site, with your passkey or a code.'),
      el('li', {}, 'Type ', el('code', {}, command('pending')), ' there to see your pending requests.'),
      el(
        'li',
        {},
        'Type ',
        el('code', {}, command('unlink')),
        ' there, or unlink it on your account page, to end this.',
      ),
    ),
    p('You can close this page and go back to the chat.'),
    ACCOUNT(),
  )
}

export function showChannelAdded(link: ChatLink): void {
  showDone(
    'The channel will be notified',
    notice('success', ...channelOf(link), ' is notified of every request of your account.'),
    el('h2', {}, 'Next steps'),
    el(
      'ul',
      { class: 'next-steps' },
      el('li', {}, 'From the next request on, it sees action, caller and status, never the details.'),
      el('li', {}, ...nothingArrives(link.platform)),
      el('li', {}, 'The channel is listed under Integrations; remove it there to end this.'),
    ),
    p(linkTo('/integrations', 'Go to your integrations', { class: 'button primary' })),
  )
}

function nothingArrives(platform: ChatLink['platform']): Child[] {
  const said = 'If nothing arrives, add the Countersign app to the channel'
  return platform === 'slack'
    ? [`${said}: type `, el('code', {}, '/invite @Countersign'), ' in it.']
    : [`${said}.`]
}

/** Says that this browser is known. `user` is the person who is already signed in on it, if any. */
export function showBrowserKnown(user: User | undefined, signedIn: () => void): void {
  showDone(
    'This browser is trusted now',
    ...(user === undefined
      ? [
          lede(
            'Sign in with your e-mail address and a code from your authenticator app, or with a backup code.',
          ),
          // The link is used up, so the panel offers the service's own address.
          signInPanel(signedIn, `${location.origin}/`, true),
        ]
      : [
          lede('From now on you can also sign in here with codes.'),
          p('You are signed in as ', ...whoIsHere(user), '.'),
          ACCOUNT(),
        ]),
  )
}

function showDone(title: string, ...parts: Child[]): void {
  showPlain(title, ...parts)
  announce(title)
}
