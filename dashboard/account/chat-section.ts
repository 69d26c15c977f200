import { visibleString } from '../../src/domain/text.ts'
import { type ChatIdentity, identitiesShape, okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, post, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { chatName, nameWarnings, typedAnywhere, wordsOf } from '../../webauthn-page/kit/show/chat.ts'
import { askFirst } from '../parts/ask-first.ts'
import { type Section, section } from '../parts/section.ts'

type Done = (message?: string) => Promise<void>

/** What is linked, or why that could not be read: the rest of the account page does not wait for it. */
export type Chat = { identities: ChatIdentity[] } | { failure: unknown }

/** Never throws, except that nobody is signed in. @throws RequestFailure 401 */
export async function loadChat(): Promise<Chat> {
  try {
    return await get('/me/chat', identitiesShape)
  } catch (failure) {
    if (failure instanceof RequestFailure && failure.status === 401) throw failure
    return { failure }
  }
}

export function chatSection(chat: Chat, done: Done): HTMLElement {
  const part = section(
    'Chat',
    'Chat accounts of yours that requests come to. Nothing can be approved in chat.',
  )
  if ('failure' in chat) {
    part.slot.show('error', sentenceOf(chat.failure))
    part.body.append(button('Try again', 'plain', () => done()))
    return part.element
  }
  const { identities } = chat
  part.body.append(
    identities.length > 0
      ? el('ul', { class: 'entries' }, ...identities.map((identity) => identityRow(part, identity, done)))
      : howToLink(),
  )
  return part.element
}

function howToLink(): HTMLElement {
  return el(
    'p',
    {},
    'No chat account is linked. To link yours, type ',
    ...typedAnywhere('link'),
    ', and open the link you get on this browser.',
  )
}

function identityRow(part: Section, identity: ChatIdentity, done: Done): HTMLElement {
  const { platform, tenant, key } = identity
  // Where the platform does not answer there is no name: the key still tells two accounts apart.
  const person = identity.person ?? key
  const workspace = identity.workspace ?? tenant
  const unlink = async (): Promise<void> => {
    part.slot.clear()
    const sure = await askFirst(
      'Unlink this chat account?',
      'Unlink',
      chatName(person),
      ' gets no more requests of yours. You can link it again.',
    )
    if (!sure) return
    try {
      await post('/me/chat/remove', { key }, okShape)
      await done('The chat account is unlinked.')
    } catch (error) {
      part.slot.fail(error)
    }
  }
  return el(
    'li',
    { class: 'entry chat-entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, chatName(person)),
      el(
        'p',
        { class: 'hint' },
        `${wordsOf(platform).workspace} `,
        chatName(workspace),
        ' · linked ',
        day(identity.linked_at),
      ),
      ...nameWarnings(person, workspace),
    ),
    button('Unlink', 'quiet', unlink, { 'aria-label': `Unlink ${visibleString(person)}` }),
  )
}
