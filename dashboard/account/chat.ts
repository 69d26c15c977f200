import { visibleString } from '../../src/domain/text.ts'
import {
  type ChatChannel,
  type ChatIdentity,
  channelsShape,
  identitiesShape,
  okShape,
} from '../../webauthn-page/api/contract.ts'
import { get, post, RequestFailure } from '../../webauthn-page/api/request.ts'
import { button } from '../../webauthn-page/dom/button.ts'
import { type Child, el } from '../../webauthn-page/dom/element.ts'
import { day } from '../../webauthn-page/dom/moment.ts'
import { sentenceOf } from '../../webauthn-page/dom/notice.ts'
import { channelName, chatName, nameWarnings } from '../../webauthn-page/link/chat-names.ts'
import { typedAnywhere, wordsOf } from '../../webauthn-page/link/chat-words.ts'
import { askFirst } from '../parts/ask-first.ts'
import { type Section, section } from '../parts/section.ts'

type Done = (message?: string) => Promise<void>

/** What is linked, or why that could not be read: the rest of the account page does not wait for it. */
export type Chat = { identities: ChatIdentity[]; channels: ChatChannel[] } | { failure: unknown }

/** Never throws, except that nobody is signed in. @throws RequestFailure 401 */
export async function loadChat(): Promise<Chat> {
  try {
    const [{ identities }, channels] = await Promise.all([get('/me/chat', identitiesShape), loadChannels()])
    return { identities, channels }
  } catch (failure) {
    if (failure instanceof RequestFailure && failure.status === 401) throw failure
    return { failure }
  }
}

/** Of the account that this person owns; empty for whoever owns none. */
async function loadChannels(): Promise<ChatChannel[]> {
  try {
    return (await get('/account/channels', channelsShape)).data
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 404) return []
    throw error
  }
}

export function chatSection(chat: Chat, done: Done): HTMLElement {
  const part = section(
    'Chat',
    'Chat accounts of yours that requests come to, and channels that are told of them. Nothing can be approved in chat.',
  )
  if ('failure' in chat) {
    part.slot.show('error', sentenceOf(chat.failure))
    part.body.append(button('Try again', 'plain', () => done()))
    return part.element
  }
  const { identities, channels } = chat
  part.body.append(
    identities.length > 0
      ? el('ul', { class: 'entries' }, ...identities.map((identity) => identityRow(part, identity, done)))
      : howToLink(),
  )
  if (channels.length > 0) {
    part.body.append(
      el('h3', {}, 'Channels told of every request'),
      el('p', { class: 'hint' }, 'They read action, requester and status, never the details.'),
      el('ul', { class: 'entries' }, ...channels.map((channel) => channelRow(part, channel, done))),
    )
  }
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
  const ask = async (): Promise<boolean> =>
    askFirst(
      'Unlink this chat account?',
      'Unlink',
      chatName(person),
      ' gets no more requests of yours. You can link it again.',
    )
  return row(part, {
    name: person,
    facts: [`${wordsOf(platform).workspace} `, chatName(workspace), ' · linked ', day(identity.linked_at)],
    texts: [person, workspace],
    verb: 'Unlink',
    ask,
    work: async () => {
      await post('/me/chat/remove', { key }, okShape)
      await done('The chat account is unlinked.')
    },
  })
}

function channelRow(
  part: Section,
  { platform, tenant, channel, ...shown }: ChatChannel,
  done: Done,
): HTMLElement {
  const name = channelName(platform, shown.name ?? channel)
  const workspace = shown.workspace ?? tenant
  return row(part, {
    name,
    facts: [`${wordsOf(platform).workspace} `, chatName(workspace)],
    texts: [name, workspace],
    verb: 'Remove',
    ask: () =>
      askFirst(
        'Remove this channel?',
        'Remove',
        chatName(name),
        ' is told of no more requests of your account.',
      ),
    work: async () => {
      await post('/account/channels/remove', { platform, tenant, channel }, okShape)
      await done('The channel is removed.')
    },
  })
}

interface Row {
  name: string
  facts: Child[]
  /** What the platform wrote. */
  texts: string[]
  verb: string
  ask(): Promise<boolean>
  work(): Promise<void>
}

function row(part: Section, { name, facts, texts, verb, ask, work }: Row): HTMLElement {
  const press = async (): Promise<void> => {
    part.slot.clear()
    if (!(await ask())) return
    try {
      await work()
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
      el('p', { class: 'entry-name' }, chatName(name)),
      el('p', { class: 'hint' }, ...facts),
      ...nameWarnings(...texts),
    ),
    button(verb, 'quiet', press, { 'aria-label': `${verb} ${visibleString(name)}` }),
  )
}
