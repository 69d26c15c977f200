import { type ChatLink, chatLinkShape, okShape, type User } from '../kit/api/contract.ts'
import { post, RequestFailure } from '../kit/api/request.ts'
import { endSession } from '../kit/api/signed-in-before.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { type Child, div, el, hint, lede, p } from '../kit/dom/element.ts'
import { moment } from '../kit/dom/moment.ts'
import { type NoticeSlot, notice, noticeSlot } from '../kit/dom/notice.ts'
import { showScene, showUser, takeToken } from '../kit/dom/stage.ts'
import { completeLink } from '../kit/passkey/ceremony.ts'
import { confirmed, type Operation, type Proof } from '../kit/passkey/step-up.ts'
import { channelOf, linkWarnings, typed, whoInChat, whoIsHere, wordsOf } from '../kit/show/chat.ts'
import { whoIsSignedIn } from '../sign-in/sign-in.ts'
import {
  showBrowserKnown,
  showChannelAdded,
  showDeadLink,
  showDeclined,
  showFailure,
  showIncomplete,
  showLinked,
  showNotYours,
  showSignIn,
} from './link-outcome.ts'

const TOKEN = /^[\w-]{43}$/

/** Opens `/link#<token>`, a one-time link that a person asked for in chat. */
export async function linkPage(): Promise<void> {
  const token = takeToken()
  if (TOKEN.test(token)) await new LinkPage(token).open()
  else showIncomplete()
}

/**
 * Holds the token in this object alone. Sign-in happens inside the page, so the token need not outlive it. In sessionStorage
 * it would: in a duplicated tab, and in a session restored after a crash. A reload costs one click in the chat.
 */
class LinkPage {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  /** Looks the link up, which changes nothing, and shows its question. */
  async open(): Promise<void> {
    try {
      const [link, user] = await Promise.all([
        post('/chat-links/look', { token: this.#token }, chatLinkShape),
        whoIsSignedIn(),
      ])
      showUser(user)
      if (link.kind === 'browser') this.#askBrowser(link)
      else if (user === undefined) this.#askWho(link)
      else this.#ask(link, user)
    } catch (error) {
      if (codeOf(error) === 'chat_link_invalid') showDeadLink()
      else showFailure(error, () => this.open())
    }
  }

  /** Asks for sign-in. `message` gives the reason when a session has just ended. */
  #askWho(link: ChatLink, message?: string): void {
    showUser(undefined)
    showSignIn(link, completeLink(this.#token), (user) => this.#ask(link, user), message)
  }

  #ask(link: ChatLink, user: User, message?: string): void {
    const answers = this.#answers(link, () => this.#confirm(link, user, answers))
    showUser(user)
    if (link.kind === 'channel') showChannelQuestion(link, user, answers)
    else showLinkQuestion(link, user, answers)
    if (message !== undefined) answers.slot.show('info', message)
  }

  #askBrowser(link: ChatLink): void {
    const answers = this.#answers(link, async () => {
      answers.slot.clear()
      try {
        await post('/chat-links/use', { token: this.#token }, okShape)
        const user = await whoIsSignedIn().catch(() => undefined)
        showBrowserKnown(user, () => location.replace('/'))
      } catch (error) {
        this.#fail(error, link, answers)
      }
    })
    showBrowserQuestion(link, answers)
  }

  #answers(link: ChatLink, agree: () => Promise<void>): Answers {
    const slot = noticeSlot()
    return {
      slot,
      agree,
      decline: () => showDeclined(link),
      change: () =>
        slot.attempt(async () => {
          await endSession()
          this.#askWho(link, 'you are signed out. The link still works.')
        }),
    }
  }

  async #confirm(link: ChatLink, user: User, answers: Answers): Promise<void> {
    answers.slot.clear()
    try {
      // Another tab may have signed in someone else meanwhile: the person confirmed must be the person shown.
      const now = await whoIsSignedIn()
      if (now === undefined) return this.#askWho(link, SESSION_ENDED)
      if (now.id !== user.id) return this.#ask(link, now, OTHER_PERSON)
      const { operation, purpose } = purposeOf(link)
      const use = (proof?: Proof) => post('/chat-links/use', { token: this.#token, proof }, okShape)
      if ((await confirmed(purpose, use, operation, link.id, completeLink(this.#token))) === undefined) return
      if (link.kind === 'channel') showChannelAdded(link)
      else showLinked(link, user)
    } catch (error) {
      if (codeOf(error) === 'chat_link_not_yours') return showNotYours(link, user, answers.change)
      this.#fail(error, link, answers)
    }
  }

  #fail(error: unknown, link: ChatLink, { slot }: Answers): void {
    const code = codeOf(error)
    if (code === 'chat_link_invalid') showDeadLink(link)
    else if (code === 'not_signed_in') this.#askWho(link, SESSION_ENDED)
    else slot.fail(error)
  }
}

const SESSION_ENDED = 'your session has ended. Sign in again; the link still works.'
const OTHER_PERSON = 'someone else is now signed in in this browser. Check again who will be linked.'

function purposeOf(link: ChatLink): { operation: Operation; purpose: Child[] } {
  return link.kind === 'channel'
    ? {
        operation: 'chat.channel',
        purpose: ['Confirm that ', ...channelOf(link), ' will be notified of every request of your account.'],
      }
    : {
        operation: 'chat.link',
        purpose: ['Confirm that ', ...whoInChat(link), ' will be linked to you.'],
      }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof RequestFailure ? error.code : undefined
}

/** The ways to answer a question, and the place for its messages. */
interface Answers {
  slot: NoticeSlot
  agree(): Promise<void>
  /** "I did not ask for this." */
  decline(): void
  /** Signs out, to sign in as another person without losing the link. */
  change(): Promise<void>
}

/** Asks whether to link, with both accounts in large print. Nothing happens before a fresh proof. */
function showLinkQuestion(link: ChatLink, user: User, answers: Answers): void {
  showScene(
    'Link a chat account',
    question(
      link,
      ['Link ', ...whoInChat(link), ' to ', ...whoIsHere(user), '?'],
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago. The holder of this chat account will see your requests, but can never approve anything.',
      ),
      answerButtons('Confirm and link', answers),
      signedInAs(user, answers),
    ),
  )
}

/** Asks whether to notify the channel, and says what it would see, and of whose account. */
function showChannelQuestion(link: ChatLink, user: User, answers: Answers): void {
  showScene(
    'Notify a channel',
    question(
      link,
      ['Notify ', ...channelOf(link), ' of every request of the account of ', ...whoIsHere(user), '?'],
      lede('It sees action, caller and status, never the details.'),
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago. Everyone in this channel, now or later, sees the requests of your account. Nothing can be approved there.',
      ),
      answerButtons('Confirm and notify the channel', answers),
      signedInAs(user, answers),
    ),
  )
}

/** Asks whether to make this browser known. Works signed out, since such a browser cannot sign in with codes yet. */
function showBrowserQuestion(link: ChatLink, answers: Answers): void {
  showScene(
    'Trust this browser',
    question(
      link,
      ['Trust this browser for signing in with e-mail and code?'],
      lede('Requested by ', ...whoInChat(link), '.'),
      notice(
        'warning',
        'continue only if you typed ',
        ...typed(link),
        ' yourself a moment ago, and only on your own device.',
      ),
      p(
        'This does not sign you in: you still need your e-mail address and a code. If another person signs in with codes in this browser, their codes stop working here.',
      ),
      answerButtons('Trust this browser', answers),
    ),
  )
}

function question(link: ChatLink, heading: Child[], ...parts: HTMLElement[]): HTMLElement {
  return div(
    'question',
    el('h1', {}, ...heading),
    ...linkWarnings(link),
    ...parts,
    hint(
      `Framed names come from ${wordsOf(link.platform).name}; Countersign did not check them. This link works once, until `,
      moment(link.expires_at),
      '.',
    ),
  )
}

function answerButtons(yes: string, { slot, agree, decline }: Answers): HTMLElement {
  return div(
    'answers',
    slot.element,
    buttonRow(button(yes, 'primary', agree), button('I did not ask for this', 'plain', decline)),
  )
}

function signedInAs(user: User, { change }: Answers): HTMLElement {
  return div(
    'signed-in-as',
    p('You are signed in as ', ...whoIsHere(user), '.'),
    button('Sign in as someone else', 'quiet', change),
  )
}
