import { okAnswer } from '../api/shared/fields.ts'
import { operations, PROOF_REFUSALS, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
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

const ownPage = { by: 'own page' } as const

export const chatOperations = operations('Chat', {
  'post /api/v1/chat-links/look': {
    id: 'lookAtChatLink',
    summary: 'Look at a one-time link from chat',
    description: 'The token comes from the fragment of the link. Looking changes nothing.',
    access: ownPage,
    limited: true,
    body: { schema: lookAtChatLinkBody, required: 'token', invalid: ['token', 'must be a text'] },
    answers: { '200': { schema: chatLinkAnswer, description: 'What the link is for.' } },
    refusals: ['chat_link_invalid'],
  },
  'post /api/v1/chat-links/use': {
    id: 'useChatLink',
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
  },
  'get /api/v1/me/chat': {
    id: 'listChatIdentities',
    summary: 'My linked identities',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: identitiesAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/chat/remove': {
    id: 'removeChatIdentity',
    summary: 'Unlink an identity',
    description: 'Needs no proof: it lowers nothing. Cards no longer go there.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: removeIdentityBody, required: 'key', invalid: ['key', 'must be a text'] },
    answers: { '200': { schema: okAnswer, description: 'Unlinked.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/channels': {
    id: 'listChatChannels',
    summary: 'Channels told of every request',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: channelListAnswer, description: 'All of the account, at most 5.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/channels/remove': {
    id: 'removeChatChannel',
    summary: 'Tell a channel nothing more',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: removeChannelBody,
      required: 'channel',
      invalid: ['platform', 'must be slack or teams'],
    },
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/chat-apps': {
    id: 'readChatApps',
    summary: 'How chat is set up for the account',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: chatAppsAnswer, description: 'Both platforms.' } },
  },
  'post /api/v1/account/chat-apps/remove': {
    id: 'removeChatApp',
    summary: 'Send no more cards to a workspace',
    description:
      'For workspaces that owners install the app in: its people get no more cards of this account. When no account has it any more, its tokens are deleted here; the app itself stays in the workspace until somebody there removes it.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: removeChatAppBody, required: 'tenant', invalid: ['platform', 'must be slack'] },
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
})
