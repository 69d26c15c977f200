import type { ZodOpenApiPathsObject } from 'zod-openapi'
import {
  lookAtChatLinkBody,
  removeChannelBody,
  removeChatAppBody,
  removeIdentityBody,
  useChatLinkBody,
} from '../schemas/chat.ts'
import {
  channelListAnswer,
  chatAppsAnswer,
  chatLinkAnswer,
  identitiesAnswer,
  usedChatLinkAnswer,
} from '../schemas/responses/chat.ts'
import { okAnswer } from '../schemas/responses/fields.ts'
import { PROOF_REFUSALS } from './factor-paths.ts'
import { operation } from './operation.ts'

const tag = 'Chat'
const ownPage = { by: 'own page' } as const
const reader = { by: 'session', changes: false } as const
const person = { by: 'session', changes: true } as const

const look = operation({
  id: 'lookAtChatLink',
  tag,
  summary: 'Look at a one-time link from chat',
  description: 'The token comes from the fragment of the link. Looking changes nothing.',
  access: ownPage,
  limited: true,
  body: { schema: lookAtChatLinkBody, required: 'token', invalid: ['token', 'must be a text'] },
  answers: { '200': { schema: chatLinkAnswer, description: 'What the link is for.' } },
  refusals: ['chat_link_invalid'],
})

const use = operation({
  id: 'useChatLink',
  tag,
  summary: 'Use a one-time link from chat',
  description:
    'Links of kind `link` and `channel` need a session and a fresh proof (step-up operations `chat.link` and `chat.channel`, the `target` is the id of the link); `channel` only that of the person who asked for it. A link of kind `browser` needs neither: it sets the cookie of a known browser, where its person then signs in with a code. The link is used up when everything else has passed.',
  access: ownPage,
  limited: true,
  body: {
    schema: useChatLinkBody,
    required: 'token',
    invalid: ['proof', 'must hold exactly one of passkey and totp'],
  },
  answers: {
    '200': { schema: usedChatLinkAnswer, description: 'Done, by kind of link.', headers: ['Set-Cookie'] },
  },
  refusals: [
    'not_signed_in',
    ...PROOF_REFUSALS,
    'chat_link_not_yours',
    'chat_link_invalid',
    'identity_taken',
    'identity_limit',
    'channel_limit',
  ],
})

const identities = operation({
  id: 'listChatIdentities',
  tag,
  summary: 'My linked identities',
  access: reader,
  limited: true,
  answers: { '200': { schema: identitiesAnswer, description: 'All of them.' } },
})

const removeIdentity = operation({
  id: 'removeChatIdentity',
  tag,
  summary: 'Unlink an identity',
  description: 'Needs no proof: it lowers nothing. Cards no longer go there.',
  access: person,
  limited: true,
  body: { schema: removeIdentityBody, required: 'key', invalid: ['key', 'must be a text'] },
  answers: { '200': { schema: okAnswer, description: 'Unlinked.' } },
  refusals: ['not_found'],
})

const channels = operation({
  id: 'listChatChannels',
  tag,
  summary: 'Channels told of every request',
  access: reader,
  limited: true,
  answers: { '200': { schema: channelListAnswer, description: 'All of the account, at most 5.' } },
  refusals: ['not_found'],
})

const removeChannel = operation({
  id: 'removeChatChannel',
  tag,
  summary: 'Tell a channel nothing more',
  access: person,
  limited: true,
  body: { schema: removeChannelBody, required: 'channel', invalid: ['platform', 'must be slack or teams'] },
  answers: { '200': { schema: okAnswer, description: 'Removed.' } },
  refusals: ['not_found'],
})

const apps = operation({
  id: 'readChatApps',
  tag,
  summary: 'How chat is set up for the account',
  access: reader,
  limited: true,
  answers: { '200': { schema: chatAppsAnswer, description: 'Both platforms.' } },
})

const removeApp = operation({
  id: 'removeChatApp',
  tag,
  summary: 'Send no more cards to a workspace',
  description:
    'For workspaces that owners install the app in: its people get no more cards of this account. When no account has it any more, its tokens are deleted here; the app itself stays in the workspace until somebody there removes it.',
  access: person,
  limited: true,
  body: { schema: removeChatAppBody, required: 'tenant', invalid: ['platform', 'must be slack'] },
  answers: { '200': { schema: okAnswer, description: 'Removed.' } },
  refusals: ['not_found'],
})

export const chatPaths: ZodOpenApiPathsObject = {
  '/api/v1/chat-links/look': { post: look },
  '/api/v1/chat-links/use': { post: use },
  '/api/v1/me/chat': { get: identities },
  '/api/v1/me/chat/remove': { post: removeIdentity },
  '/api/v1/account/channels': { get: channels },
  '/api/v1/account/channels/remove': { post: removeChannel },
  '/api/v1/account/chat-apps': { get: apps },
  '/api/v1/account/chat-apps/remove': { post: removeApp },
}
