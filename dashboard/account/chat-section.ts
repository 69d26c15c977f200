import { visibleString } from '../../src/domain/text.ts'
import { type ChatIdentity, identitiesShape, okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { chatName, nameWarnings, typedAnywhere, wordsOf } from '../../webauthn-page/kit/show/chat.ts'
import { chatEntry } from '../parts/rows.ts'
import { type OrFailure, orFailure, type Section, section, showFailure } from '../parts/section.ts'
import type { Done } from '../shell/page-entry.ts'

interface Chat {
  identities: ChatIdentity[]
}

/** @throws RequestFailure 401 */
export function loadChat(): Promise<OrFailure<Chat>> {
  return orFailure(get('/me/chat', identitiesShape))
}

export function chatSection(chat: OrFailure<Chat>, done: Done): HTMLElement {
  const part = section(
    'Chat',
    'Chat accounts of yours that requests come to. Nothing can be approved in chat.',
  )
  if ('failure' in chat) return showFailure(part, chat.failure, () => done())
  const { identities } = chat
  part.body.append(
    identities.length > 0
      ? el('ul', { class: 'entries' }, ...identities.map((identity) => identityRow(part, identity, done)))
      : howToLink(),
  )
  return part.element
}

function howToLink(): HTMLElement {
  return p(
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
    const sure = await askFirst(
      'Unlink this chat account?',
      'Unlink',
      chatName(person),
      ' gets no more requests of yours. You can link it again.',
    )
    if (!sure) return
    await post('/me/chat/remove', { key }, okShape)
    await done('The chat account is unlinked.')
  }
  return chatEntry(
    [chatName(person)],
    [
      hint(`${wordsOf(platform).workspace} `, chatName(workspace), ' · linked ', day(identity.linked_at)),
      ...nameWarnings(person, workspace),
    ],
    button('Unlink', 'quiet', () => part.slot.attempt(unlink), {
      'aria-label': `Unlink ${visibleString(person)}`,
    }),
  )
}
