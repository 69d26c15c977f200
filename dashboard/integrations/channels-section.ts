import { visibleString } from '../../src/domain/text.ts'
import { type ChatChannel, okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import {
  channelName,
  chatName,
  nameWarnings,
  typedAnywhere,
  wordsOf,
} from '../../webauthn-page/kit/show/chat.ts'
import { askFirst } from '../parts/ask-first.ts'
import { rowPanel } from '../parts/row-panel.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'

/** Channels that read action, requester and status of every request of the account. */
export function channelsSection(channels: readonly ChatChannel[], context: PageContext): HTMLElement {
  const part = section(
    'Channels told of every request',
    'Whoever is in them reads action, requester and status, never the details.',
  )
  part.body.append(
    channels.length > 0
      ? el('ul', { class: 'entries' }, ...channels.map((channel) => channelEntry(channel, context)))
      : el('p', {}, 'No channel is told.'),
    el(
      'p',
      { class: 'hint' },
      'To add one, link yourself, type ',
      ...typedAnywhere('channel'),
      ' in that channel, and open the link you get on this browser. An account has at most 5.',
    ),
  )
  return part.element
}

function channelEntry(
  { platform, tenant, channel, ...shown }: ChatChannel,
  context: PageContext,
): HTMLElement {
  const panel = rowPanel()
  const name = channelName(platform, shown.name ?? channel)
  const workspace = shown.workspace ?? tenant
  const remove = async (): Promise<void> => {
    const sure = await askFirst(
      'Remove this channel?',
      'Remove',
      chatName(name),
      ' is told of no more requests of your account.',
    )
    if (!sure) return
    await post('/account/channels/remove', { platform, tenant, channel }, okShape)
    await context.done('The channel is removed.')
  }
  return el(
    'li',
    { class: 'entry chat-entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, chatName(name)),
      el('p', { class: 'hint' }, `${wordsOf(platform).workspace} `, chatName(workspace)),
      ...nameWarnings(name, workspace),
    ),
    panel.opener('Remove', { 'aria-label': `Remove ${visibleString(name)}` }, remove),
    panel.element,
  )
}
