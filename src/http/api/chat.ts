import { z } from 'zod'
import type { AccountChannel } from '../../domain/account.ts'
import { type ChatLink, identityKey, type LinkedIdentity, UNKNOWN_TENANT } from '../../domain/chat.ts'
import { type ChatTrouble, isTroubleOf, troubleAdvice } from '../../domain/chat-trouble.ts'
import type { ChatApps } from '../../domain/views.ts'
import { type Answer, idField, okAnswer, pageOf, present, timeField } from './shared/fields.ts'
import { text } from './shared/input.ts'
import { OWN_PAGE, operations, PROOF_REFUSALS } from './shared/operation.ts'
import { proofSchema } from './shared/proofs.ts'

const token = text.max(128, 'is too long')

const platform = z.enum(['slack', 'teams'], { error: 'must be slack or teams' })

/** An id on a platform; the limit is longer than the ids of any platform. */
const platformId = text.max(256, 'is too long')

export const lookAtChatLinkBody = z.object({ token }).meta({ id: 'LookAtChatLink' })

/** `POST /api/v1/chat-links/use`. A missing proof is answered 403, not 400: it concerns who asks, not the form. */
export const useChatLinkBody = z.object({ token, proof: proofSchema }).meta({ id: 'UseChatLink' })

export const removeIdentityBody = z
  .object({ key: text.max(600, 'is too long').meta({ example: 'slack:T024BE7LD:U023BECGF' }) })
  .meta({ id: 'RemoveChatIdentity' })

export const removeChannelBody = z
  .object({ platform, tenant: platformId, channel: platformId })
  .meta({ id: 'RemoveChatChannel' })

export const removeChatAppBody = z
  .object({ platform: z.literal('slack', { error: 'must be slack' }), tenant: platformId })
  .meta({ id: 'RemoveChatApp' })

const platformField = z.enum(['slack', 'teams'])

const person = z
  .string()
  .meta({ description: "The platform's name for them, when it was linked.", example: 'Ada' })

const workspace = z.string().meta({ description: "The workspace's name at that time.", example: 'Acme' })

const channelName = z.string().meta({ description: "The channel's name at that time.", example: 'approvals' })

const tenant = z.string().meta({ description: 'Slack `team_id`, Teams `tid`.', example: 'T024BE7LD' })

export const chatLinkAnswer = z
  .strictObject({
    id: idField('cln').meta({ description: 'The `target` of the step-up that confirms using it.' }),
    kind: z.enum(['link', 'browser', 'channel']).meta({
      description:
        '`link`: link the identity to the person who is signed in. `browser`: trust this browser for the person it is linked to. `channel`: have a channel notified of every request of the account.',
    }),
    platform: platformField,
    person: z.string().meta({
      description: 'The person who asked for the link, as the platform names them.',
      example: 'Ada',
    }),
    workspace: z.string().meta({ example: 'Acme' }),
    channel: channelName.optional(),
    expires_at: timeField,
  })
  .meta({
    id: 'ChatLink',
    description: 'The names come from the platform and its users; they prove nothing.',
  })

const identityAnswer = z
  .strictObject({
    key: z.string().meta({ example: 'slack:T024BE7LD:U023BECGF' }),
    platform: platformField,
    tenant,
    person: person.optional(),
    workspace: workspace.optional(),
    linked_at: timeField,
  })
  .meta({ id: 'ChatIdentity', description: 'An identity on a chat platform that a person has linked.' })

export const identitiesAnswer = z
  .strictObject({ identities: z.array(identityAnswer) })
  .meta({ id: 'ChatIdentities' })

const troubleFields = {
  since: timeField,
  reason: z.string().meta({ description: "The platform's code.", example: 'token_revoked' }),
  advice: z.string().meta({ description: 'What to do, in a sentence or two.' }),
}

const channelAnswer = z
  .strictObject({
    platform: platformField,
    tenant,
    channel: z.string().meta({ example: 'C024BE91L' }),
    name: channelName.optional(),
    workspace: workspace.optional(),
    unavailable: z
      .strictObject(troubleFields)
      .optional()
      .meta({ description: 'It refuses cards now, for example because the app was removed from it.' }),
  })
  .meta({ id: 'ChatChannel', description: 'A channel that is notified of every request of the account.' })

export const channelListAnswer = pageOf(channelAnswer).meta({ id: 'ChatChannelList' })

/** `POST /api/v1/chat-links/use`: one form of answer for each kind of link. */
export const usedChatLinkAnswer = z
  .union([
    z.strictObject({ linked: identityAnswer }).meta({ id: 'LinkedChatIdentity' }),
    z.strictObject({ channel: channelAnswer }).meta({ id: 'AddedChatChannel' }),
    okAnswer,
  ])
  .meta({ id: 'UsedChatLink' })

const unavailable = z
  .array(
    z.strictObject({
      tenant: tenant.nullable().meta({ description: 'Null until the platform names it.' }),
      ...troubleFields,
    }),
  )
  .meta({ id: 'ChatTroubles', description: 'Workspaces that refuse cards of the account now.' })

export const chatAppsAnswer = z
  .strictObject({
    slack: z.strictObject({
      configured: z.boolean().meta({ description: 'True: Slack is set up on this service.' }),
      mode: z.enum(['one', 'many']).nullable().meta({
        description:
          '`one`: the operator connected one workspace, for all accounts. `many`: owners install the app at `/slack/install`.',
      }),
      installations: z
        .array(
          z.strictObject({
            tenant,
            name: z.string().nullable().meta({ example: 'Acme' }),
            installed_at: timeField.nullable().meta({ description: 'In the mode `many`.' }),
          }),
        )
        .meta({
          description:
            'Workspaces whose people get cards of this account; none while Slack has not said which it is.',
        }),
      unavailable: unavailable.optional(),
    }),
    teams: z.strictObject({
      configured: z.boolean().meta({ description: 'True: Microsoft Teams is set up on this service.' }),
      tenants: z.array(z.string()).meta({ description: 'The organisation the operator connected.' }),
      name: z.string().optional().meta({ description: 'Its name, as set by the operator.', example: 'Acme' }),
      unavailable: unavailable.optional(),
    }),
  })
  .meta({ id: 'ChatApps' })

/** Presents what a one-time link is for, without its token and the ids of the people behind it. */
export function presentChatLink(
  link: Pick<ChatLink, 'id' | 'kind' | 'identity' | 'shown_as' | 'expires_at'>,
): Answer<typeof chatLinkAnswer> {
  const { person, workspace, channel } = link.shown_as
  return present(chatLinkAnswer, link, {
    platform: link.identity.platform,
    person,
    workspace,
    channel: link.kind === 'channel' ? channel : undefined,
  })
}

/** Presents a linked identity to its person. */
export function presentIdentity(identity: LinkedIdentity): Answer<typeof identityAnswer> {
  const { person, workspace } = identity.shown_as ?? {}
  return present(identityAnswer, identity, { key: identityKey(identity), person, workspace })
}

/** Presents a channel to the account's owner. */
export function presentChannel(
  shown: AccountChannel,
  troubles: readonly ChatTrouble[] = [],
): Answer<typeof channelAnswer> {
  const trouble = troubles.find((one) => isTroubleOf(one, shown))
  return present(channelAnswer, shown, { unavailable: trouble && presentTrouble(trouble) })
}

/** Presents how chat is set up for an account; never a token. A platform that is not set up on this service is undefined. */
export function presentChatApps({ slack, teams, troubles }: ChatApps): Answer<typeof chatAppsAnswer> {
  const unavailableOn = (platform: 'slack' | 'teams') => {
    const found = troubles.filter((one) => one.platform === platform)
    if (found.length === 0) return undefined
    return found.map((one) => ({
      tenant: one.tenant === UNKNOWN_TENANT ? null : one.tenant,
      ...presentTrouble(one),
    }))
  }
  return {
    slack: {
      configured: slack !== undefined,
      mode: slack?.mode ?? null,
      installations: (slack?.workspaces ?? []).map(({ tenant, name, installed_at }) => ({
        tenant,
        name: name ?? null,
        installed_at: installed_at?.toISOString() ?? null,
      })),
      unavailable: unavailableOn('slack'),
    },
    teams: {
      configured: teams !== undefined,
      tenants: (teams?.workspaces ?? []).map(({ tenant }) => tenant),
      name: teams?.workspaces[0]?.name,
      unavailable: unavailableOn('teams'),
    },
  }
}

function presentTrouble(trouble: ChatTrouble) {
  const { since, reason } = trouble
  return { since: since.toISOString(), reason, advice: troubleAdvice(trouble) }
}

export const chatOperations = operations('Chat', {
  'post /api/v1/chat-links/look': {
    id: 'lookAtChatLink',
    summary: 'Inspect a one-time link from chat',
    description: 'The token comes from the fragment of the link. Inspecting changes nothing.',
    access: OWN_PAGE,
    body: { schema: lookAtChatLinkBody },
    answers: { '200': { schema: chatLinkAnswer, description: 'The purpose of the link.' } },
    refusals: ['chat_link_invalid'],
  },
  'post /api/v1/chat-links/use': {
    id: 'useChatLink',
    summary: 'Use a one-time link from chat',
    description:
      'Links of kind `link` and `channel` need a session and a fresh proof (step-up operations `chat.link` and `chat.channel`, the `target` is the id of the link); `channel` only those of the person who asked for it. A link of kind `browser` needs neither: it sets the cookie of a trusted browser, where its person can then sign in with a code. The link is used up when everything else has passed.',
    access: OWN_PAGE,
    body: {
      schema: useChatLinkBody,
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
      'channel_unreachable',
    ],
  },
  'get /api/v1/me/chat': {
    id: 'listChatIdentities',
    summary: 'My linked identities',
    answers: { '200': { schema: identitiesAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/chat/remove': {
    id: 'removeChatIdentity',
    summary: 'Unlink an identity',
    description: 'Needs no proof, because it weakens nothing. Cards no longer go there.',
    body: { schema: removeIdentityBody },
    answers: { '200': { schema: okAnswer, description: 'Unlinked.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/channels': {
    id: 'listChatChannels',
    summary: 'Channels notified of every request',
    answers: { '200': { schema: channelListAnswer, description: 'All of the account, at most 5.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/channels/remove': {
    id: 'removeChatChannel',
    summary: 'Stop notifying a channel',
    body: {
      schema: removeChannelBody,
    },
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/chat-apps': {
    id: 'readChatApps',
    summary: 'Get the chat setup of the account',
    answers: { '200': { schema: chatAppsAnswer, description: 'Both platforms.' } },
  },
  'post /api/v1/account/chat-apps/remove': {
    id: 'removeChatApp',
    summary: 'Stop sending cards to a workspace',
    description:
      'For workspaces in which owners install the app: its people no longer get cards of this account. When no account uses it any more, its tokens are deleted here; the app itself stays in the workspace until it is removed there. For a workspace that removed the app, this ends the warning that it refuses cards.',
    body: { schema: removeChatAppBody },
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
})
