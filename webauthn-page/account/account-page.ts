import {
  type ApiKeyEntry,
  type Factors,
  factorsShape,
  okShape,
  sessionShape,
  type User,
} from '../api/contract.ts'
import { get, RequestFailure, remove } from '../api/request.ts'
import { button } from '../dom/button.ts'
import { el } from '../dom/element.ts'
import { facts } from '../dom/facts.ts'
import { notice, sentenceOf } from '../dom/notice.ts'
import { showScene, showUser } from '../dom/stage.ts'
import { callerText } from '../show/caller-text.ts'
import { apiKeysSection, loadApiKeys } from './api-keys.ts'
import { type Chat, chatSection, loadChat } from './chat.ts'
import { codesSection } from './codes.ts'
import { consentsSection, loadConsents } from './consents-section.ts'
import { passkeysSection } from './passkeys.ts'
import { loadPending, type Pending } from './waiting-list.ts'
import { waitingSection } from './waiting-section.ts'

interface Account {
  user: User
  pending: Pending
  factors: Factors
  keys: ApiKeyEntry[] | undefined
  chat: Chat
  consents: Parameters<typeof consentsSection>[0]
}

/** `/account`: what waits for the person, own factors, chat and, for owners, API keys. `message` says what just changed. */
export async function accountPage(message?: string): Promise<void> {
  try {
    const { user } = await get('/session', sessionShape)
    const [pending, factors, keys, chat, consents] = await Promise.all([
      loadPending(),
      get('/me/factors', factorsShape),
      loadApiKeys(),
      loadChat(),
      loadConsents(),
    ])
    showUser(user)
    showAccount({ user, pending, factors, keys, chat, consents }, message)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 401)
      return location.replace('/signin?next=/account')
    const scene = el(
      'div',
      {},
      el('h1', {}, 'Your account'),
      notice('error', sentenceOf(error)),
      button('Try again', 'primary', () => accountPage()),
    )
    showScene('Account', scene, { focus: false })
  }
}

function showAccount({ user, pending, factors, keys, chat, consents }: Account, message?: string): void {
  const done = (said?: string): Promise<void> => accountPage(said)
  const news = message === undefined ? undefined : notice('success', message)
  const keyPart = keys === undefined ? undefined : apiKeysSection(keys, done)
  const factorParts = [passkeysSection(factors, done), codesSection(factors, done), chatSection(chat, done)]
  const scene = el(
    'div',
    { class: 'account' },
    el('div', { class: 'account-head' }, el('h1', {}, 'Your account'), button('Sign out', 'quiet', signOut)),
    news,
    waitingSection(pending),
    consentsSection(consents),
    facts(
      ['Name', callerText(user.name)],
      ['E-mail', callerText(user.email)],
      [
        'Approver reference',
        el('span', { class: 'mono' }, user.approver),
        el('span', { class: 'kind' }, ' stands for you in receipts'),
      ],
    ),
    // Whoever has just set the service up came for a key; whoever has keys came for something else.
    ...(keys?.length === 0 ? [keyPart, ...factorParts] : [...factorParts, keyPart]),
  )
  showScene('Account', scene, { focus: message !== undefined })
  news?.focus()
}

async function signOut(): Promise<void> {
  await remove('/session', okShape).catch(() => {})
  location.replace('/signin')
}
