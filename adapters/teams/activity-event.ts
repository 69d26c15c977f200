import { z } from 'zod'
import type { BotClick, BotCommand, BotPresence, BotSource } from './bot-port.ts'
import { isAddressed, readCommand } from './command-text.ts'
import type { Activity } from './read-activity.ts'

/** What an activity means to us. */
export type ActivityEvent =
  | { kind: 'click'; click: BotClick }
  | { kind: 'command'; command: BotCommand }
  | { kind: 'presence'; presence: BotPresence }
  /** An invoke that we do not know: it must be told so. */
  | { kind: 'unknown_invoke' }
  | { kind: 'nothing' }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** `Action.Execute` as Teams invokes it, `Action.Submit` as the value of a message. */
const executeSchema = z.object({
  action: z.object({ verb: z.string().max(200), data: z.unknown().optional() }),
})
const submitSchema = z.object({ verb: z.string().max(200) })

/** Reads what an activity means; a function of its argument alone. */
export function eventOf(activity: Activity): ActivityEvent {
  const source = sourceOf(activity)
  if (source === undefined) return { kind: activity.type === 'invoke' ? 'unknown_invoke' : 'nothing' }
  switch (activity.type) {
    case 'invoke':
      return invokeOf(activity, source)
    case 'message':
      return messageOf(activity, source)
    case 'installationUpdate':
      return presenceOf(source, installed(activity), activity.action === 'add')
    case 'conversationUpdate':
      return presenceOf(source, membership(activity), false)
    default:
      return { kind: 'nothing' }
  }
}

function invokeOf(activity: Activity, source: BotSource): ActivityEvent {
  const read = executeSchema.safeParse(activity.value)
  if (activity.name !== 'adaptiveCard/action' || !read.success) return { kind: 'unknown_invoke' }
  const { verb, data } = read.data.action
  return { kind: 'click', click: { ...source, verb, data, fallback: false } }
}

function messageOf(activity: Activity, source: BotSource): ActivityEvent {
  const submitted = submitSchema.safeParse(activity.value)
  if (submitted.success) {
    const { value: data } = activity
    return { kind: 'click', click: { ...source, verb: submitted.data.verb, data, fallback: true } }
  }
  // An app that may read along is still told only what is meant for it.
  if (source.place.kind !== 'person' && !isAddressed(activity)) return { kind: 'nothing' }
  return { kind: 'command', command: { ...source, text: readCommand(activity) } }
}

function presenceOf(source: BotSource, here: boolean | undefined, added: boolean): ActivityEvent {
  if (here === undefined) return { kind: 'nothing' }
  const new_to_person = added && source.place.kind === 'person'
  return { kind: 'presence', presence: { ...source, here, new_to_person } }
}

/** An upgrade says that it removes before it says that it adds. */
function installed({ action }: Activity): boolean | undefined {
  if (action?.startsWith('add')) return true
  return action?.startsWith('remove') ? false : undefined
}

/** Is the bot itself among those who came or went? */
function membership({ recipient, membersAdded, membersRemoved, channelData }: Activity): boolean | undefined {
  const bot = recipient?.id
  if (!bot) return undefined
  if (channelData?.eventType === 'channelDeleted' || channelData?.eventType === 'teamDeleted') return false
  if (membersAdded?.some(({ id }) => id === bot)) return true
  return membersRemoved?.some(({ id }) => id === bot) ? false : undefined
}

function sourceOf({ id, conversation, serviceUrl, from, channelData }: Activity): BotSource | undefined {
  if (!conversation?.id || !serviceUrl) return undefined
  const user = from?.aadObjectId?.toLowerCase()
  const kind = kindOf(conversation)
  // A thread of a channel is `<channel>;messageid=<root>`.
  const channel = channelData?.channel?.id ?? conversation.id.split(';')[0] ?? conversation.id
  const name = [channelData?.team?.name, channelData?.channel?.name].filter(Boolean).join(' / ')
  return {
    place: { kind, service_url: serviceUrl, conversation_id: conversation.id },
    activity_id: id ?? '',
    ...(user !== undefined && UUID.test(user) ? { user } : {}),
    ...(from?.id ? { member: from.id } : {}),
    ...(from?.name ? { user_name: from.name } : {}),
    ...(kind === 'person' ? {} : { channel }),
    ...(kind === 'person' || name === '' ? {} : { channel_name: name }),
  }
}

/** Whatever is not plainly one person's own conversation counts as read by others. */
function kindOf({
  conversationType,
  isGroup,
}: NonNullable<Activity['conversation']>): 'person' | 'group' | 'channel' {
  if (conversationType === 'channel') return 'channel'
  return conversationType === 'personal' && isGroup !== true ? 'person' : 'group'
}
