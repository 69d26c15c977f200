import { z } from 'zod'
import { idField, okAnswer, pageOf, timeField } from '../../api/shared/fields.ts'

const platform = z.enum(['slack', 'teams'])
const person = z
  .string()
  .meta({ description: "The platform's name for them, when it was linked.", example: 'Ada' })
const workspace = z.string().meta({ description: "The workspace's name at that time.", example: 'Acme' })
const channelName = z.string().meta({ description: "The channel's name at that time.", example: 'approvals' })
const tenant = z.string().meta({ description: 'Slack `team_id`, Teams `tid`.', example: 'T024BE7LD' })

/** `POST /api/v1/chat-links/look`. */
export const chatLinkAnswer = z
  .strictObject({
    id: idField('cln').meta({ description: 'The `target` of the step-up that confirms using it.' }),
    kind: z.enum(['link', 'browser', 'channel']).meta({
      description:
        '`link`: link the identity to whoever is signed in. `browser`: make this browser a known one of the person it is linked to. `channel`: have a channel told of every request of the account.',
    }),
    platform,
    person: z
      .string()
      .meta({ description: 'Who asked for the link, as the platform names them.', example: 'Ada' }),
    workspace: z.string().meta({ example: 'Acme' }),
    channel: channelName.optional(),
    expires_at: timeField,
  })
  .meta({
    id: 'ChatLink',
    description: 'The names are the words of the platform and its users; they prove nothing.',
  })

const identityAnswer = z
  .strictObject({
    key: z.string().meta({ example: 'slack:T024BE7LD:U023BECGF' }),
    platform,
    tenant,
    person: person.optional(),
    workspace: workspace.optional(),
    linked_at: timeField,
  })
  .meta({ id: 'ChatIdentity', description: 'An identity on a chat platform that a person has linked.' })

/** `GET /api/v1/me/chat`. */
export const identitiesAnswer = z
  .strictObject({ identities: z.array(identityAnswer) })
  .meta({ id: 'ChatIdentities' })

const channelAnswer = z
  .strictObject({
    platform,
    tenant,
    channel: z.string().meta({ example: 'C024BE91L' }),
    name: channelName.optional(),
    workspace: workspace.optional(),
  })
  .meta({ id: 'ChatChannel', description: 'A channel that is told of every request of the account.' })

/** `GET /api/v1/account/channels`. */
export const channelListAnswer = pageOf(channelAnswer).meta({ id: 'ChatChannelList' })

/** `POST /api/v1/chat-links/use`, one for each kind of link. */
export const usedChatLinkAnswer = z
  .union([
    z.strictObject({ linked: identityAnswer }).meta({ id: 'LinkedChatIdentity' }),
    z.strictObject({ channel: channelAnswer }).meta({ id: 'AddedChatChannel' }),
    okAnswer,
  ])
  .meta({ id: 'UsedChatLink' })

/** `GET /api/v1/account/chat-apps`. */
export const chatAppsAnswer = z
  .strictObject({
    slack: z.strictObject({
      configured: z.boolean().meta({ description: 'Is Slack set up on this service?' }),
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
    }),
    teams: z.strictObject({
      configured: z.boolean().meta({ description: 'Is Microsoft Teams set up on this service?' }),
      tenants: z.array(z.string()).meta({ description: 'The organisation the operator connected.' }),
    }),
  })
  .meta({ id: 'ChatApps' })
