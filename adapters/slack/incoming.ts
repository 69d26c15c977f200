import { z } from 'zod'

/** The fields of a message from Slack, received by HTTP or WebSocket, that all our handlers need. */
export interface Incoming {
  kind: 'command' | 'action' | 'shortcut' | 'view' | 'options' | 'event' | 'other'
  /** Command, action id, callback id or event type: for the log. */
  name: string
  /** The id under which the app's token is kept: the workspace, or the organisation for an organisation-wide installation. */
  tenant: string | undefined
  user: string | undefined
  /** The channel where it happened; absent in places where no message can be shown to one person alone. */
  channel: string | undefined
  /** Events only: Slack repeats an event under the same id. */
  eventId: string | undefined
}

const text = z.string().max(255).optional().catch(undefined)
const named = z.object({ id: text, team_id: text, enterprise_id: text }).nullish().catch(undefined)
const organisationWide = z.union([z.boolean(), z.literal('true').transform(() => true)]).catch(false)

/** The fields of all kinds of messages together; a field with another shape counts as missing. */
const bodySchema = z.object({
  type: text,
  command: text,
  callback_id: text,
  action_id: text,
  event_id: text,
  team_id: text,
  enterprise_id: text,
  user_id: text,
  channel_id: text,
  is_enterprise_install: organisationWide,
  team: named,
  enterprise: named,
  user: named,
  channel: named,
  actions: z
    .array(z.object({ action_id: text }))
    .optional()
    .catch(undefined),
  view: z.object({ callback_id: text }).optional().catch(undefined),
  event: z.object({ type: text }).optional().catch(undefined),
  authorizations: z
    .array(z.object({ team_id: text, enterprise_id: text, is_enterprise_install: organisationWide }))
    .optional()
    .catch(undefined),
})
type Body = z.output<typeof bodySchema>

/** Reads a body that Slack has signed (or sent over our own connection); pure, never throws. */
export function readIncoming(input: unknown): Incoming {
  const body = bodySchema.safeParse(input).data
  if (body === undefined) return { ...unknownSender, kind: 'other', name: '' }
  const { kind, name } = kindOf(body)
  return {
    kind,
    name,
    tenant: tenantOf(body),
    user: body.user_id ?? body.user?.id,
    channel: body.channel_id ?? body.channel?.id,
    eventId: kind === 'event' ? body.event_id : undefined,
  }
}

const unknownSender = { tenant: undefined, user: undefined, channel: undefined, eventId: undefined }

function kindOf(body: Body): Pick<Incoming, 'kind' | 'name'> {
  if (body.event !== undefined) return { kind: 'event', name: body.event.type ?? '' }
  if (body.command !== undefined) return { kind: 'command', name: body.command }
  switch (body.type) {
    case 'block_actions':
    case 'interactive_message':
      return { kind: 'action', name: body.actions?.[0]?.action_id ?? body.callback_id ?? '' }
    case 'shortcut':
    case 'message_action':
      return { kind: 'shortcut', name: body.callback_id ?? '' }
    case 'view_submission':
      return { kind: 'view', name: body.view?.callback_id ?? '' }
    case 'block_suggestion':
      return { kind: 'options', name: body.action_id ?? '' }
    default:
      return { kind: 'other', name: body.type ?? '' }
  }
}

/** Finds the tenant. For an organisation-wide installation it is the organisation, whichever workspace the message is from. */
function tenantOf(body: Body): string | undefined {
  const [authorized] = body.authorizations ?? []
  const enterprise = authorized?.enterprise_id ?? body.enterprise_id ?? body.enterprise?.id
  const wide = authorized?.is_enterprise_install ?? body.is_enterprise_install
  if (wide && enterprise !== undefined) return enterprise
  return authorized?.team_id ?? body.team_id ?? body.team?.id ?? body.user?.team_id
}
