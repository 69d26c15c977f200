import { z } from 'zod'
import type { BotClick, BotCommand, BotPresence, BotSource } from './bot-port.ts'

const text = z.string().nullish()
const account = z.object({ id: text, name: text, aadObjectId: text, tenantId: text })

/** What we read of an activity (Bot Framework "Activity", Teams `channelData`); Teams sends null for what is not there. */
const activitySchema = z.object({
  type: z.string().min(1).max(64),
  id: text,
  replyToId: text,
  channelId: text,
  serviceUrl: text,
  name: text,
  action: text,
  text,
  value: z.unknown().optional(),
  from: account.nullish(),
  recipient: account.extend({ isTargeted: z.boolean().nullish() }).nullish(),
  conversation: z
    .object({ id: text, conversationType: text, tenantId: text, isGroup: z.boolean().nullish() })
    .nullish(),
  channelData: z
    .object({
      tenant: z.object({ id: text }).nullish(),
      team: z.object({ id: text, name: text }).nullish(),
      channel: z.object({ id: text, name: text }).nullish(),
      eventType: text,
    })
    .nullish(),
  membersAdded: z.array(account).max(1000).nullish(),
  membersRemoved: z.array(account).max(1000).nullish(),
  entities: z
    .array(z.object({ type: text, text, mentioned: z.object({ id: text }).nullish() }).catch({}))
    .max(1000)
    .nullish(),
})

export type Activity = z.infer<typeof activitySchema>

/** Reads a body as an activity. @returns undefined when it is none */
export function readActivity(body: unknown): Activity | undefined {
  const read = activitySchema.safeParse(body)
  return read.success ? read.data : undefined
}

/** What an activity means to us. */
type ActivityEvent =
  | { kind: 'click'; click: BotClick }
  | { kind: 'command'; command: BotCommand }
  | { kind: 'presence'; presence: BotPresence }
  /** An invoke that we do not know: the answer must say so. */
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
      return presenceOf(withinTeam(source, activity), membership(activity), false)
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
  // An app that may read along still reacts only to what is meant for it.
  if (source.conversation.kind !== 'person' && !isAddressed(activity)) return { kind: 'nothing' }
  return { kind: 'command', command: { ...source, text: readCommand(activity) } }
}

function presenceOf(source: BotSource, here: boolean | undefined, added: boolean): ActivityEvent {
  if (here === undefined) return { kind: 'nothing' }
  const new_to_person = added && source.conversation.kind === 'person'
  return { kind: 'presence', presence: { ...source, here, new_to_person } }
}

/** An upgrade says that it removes before it says that it adds. */
function installed({ action }: Activity): boolean | undefined {
  if (action?.startsWith('add')) return true
  return action?.startsWith('remove') ? false : undefined
}

/** The end of one channel says nothing of its team. */
function withinTeam(source: BotSource, { channelData }: Activity): BotSource {
  if (channelData?.eventType !== 'channelDeleted') return source
  const { team: _, ...conversation } = source.conversation
  return { ...source, conversation }
}

/** Is the bot itself among those who came or went? */
function membership({ recipient, membersAdded, membersRemoved, channelData }: Activity): boolean | undefined {
  const bot = recipient?.id
  if (!bot) return undefined
  if (channelData?.eventType === 'channelDeleted' || channelData?.eventType === 'teamDeleted') return false
  if (membersAdded?.some(({ id }) => id === bot)) return true
  return membersRemoved?.some(({ id }) => id === bot) ? false : undefined
}

function sourceOf({
  id,
  replyToId,
  conversation,
  serviceUrl,
  from,
  channelData,
}: Activity): BotSource | undefined {
  if (!conversation?.id || !serviceUrl) return undefined
  const user = from?.aadObjectId?.toLowerCase()
  const kind = kindOf(conversation)
  // A thread of a channel is `<channel>;messageid=<root>`.
  const channel = channelData?.channel?.id ?? conversation.id.split(';')[0] ?? conversation.id
  const name = [channelData?.team?.name, channelData?.channel?.name].filter(Boolean).join(' / ')
  return {
    conversation: {
      kind,
      service_url: serviceUrl,
      conversation_id: conversation.id,
      ...(channelData?.team?.id ? { team: channelData.team.id } : {}),
    },
    activity_id: id ?? '',
    ...(replyToId ? { message_id: replyToId } : {}),
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

/** Teams writes messages as a little HTML; pasted receipts must be whole again. */
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ', amp: '&' }

type Written = Pick<Activity, 'text' | 'recipient' | 'entities'>

/**
 * What a person typed, as they meant it: without mentions of the bot (those that the activity itself declares, so that
 * no typed `<at>` is taken for one), without the slash of a slash command, entities read as letters.
 */
export function readCommand(written: Written): string {
  let left = written.text ?? ''
  for (const mention of mentionsOfBot(written)) left = left.replaceAll(mention, ' ')
  const typed = left
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll('\u00a0', ' ')
    .trim()
  return typed.replace(/^\/(countersign\b\s*)?/i, '')
}

/** Is the bot mentioned, or told by a command that only it and the speaker see? */
export function isAddressed(written: Written): boolean {
  return written.recipient?.isTargeted === true || mentionsOfBot(written).length > 0
}

function mentionsOfBot({ recipient, entities }: Written): string[] {
  const bot = recipient?.id
  if (!bot) return []
  return (entities ?? [])
    .filter(({ type, mentioned }) => type === 'mention' && mentioned?.id === bot)
    .flatMap(({ text }) => text || [])
}
