import { z } from 'zod'
import type { BotEvent, BotSource } from './bot-port.ts'

const text = z.string().nullish()
const account = z.object({ id: text, name: text, aadObjectId: text, tenantId: text })

/** The fields we read of an activity (Bot Framework "Activity", Teams `channelData`); Teams sends null for absent fields. */
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

/** Reads a body as an activity. @returns undefined when it is not an activity */
export function readActivity(body: unknown): Activity | undefined {
  const read = activitySchema.safeParse(body)
  return read.success ? read.data : undefined
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The value of an invoke for `Action.Execute`; below, the value of a message for `Action.Submit`. */
const executeSchema = z.object({
  action: z.object({ verb: z.string().max(200), data: z.unknown().optional() }),
})
const submitSchema = z.object({ verb: z.string().max(200) })

/** Reads the meaning of an activity; pure. */
export function eventOf(activity: Activity): BotEvent {
  const source = sourceOf(activity)
  if (source === undefined) return { kind: activity.type === 'invoke' ? 'unknown_invoke' : 'nothing' }
  switch (activity.type) {
    case 'invoke':
      return invokeOf(activity, source)
    case 'message':
      return messageOf(activity, source)
    case 'installationUpdate':
      return presenceOf(source, activity, installed(activity))
    case 'conversationUpdate':
      return presenceOf(source, activity, membership(activity))
    default:
      return { kind: 'nothing' }
  }
}

function invokeOf(activity: Activity, source: BotSource): BotEvent {
  const read = executeSchema.safeParse(activity.value)
  if (activity.name !== 'adaptiveCard/action' || !read.success) return { kind: 'unknown_invoke' }
  const { verb, data } = read.data.action
  return { kind: 'click', click: { ...source, verb, data, fallback: false } }
}

function messageOf(activity: Activity, source: BotSource): BotEvent {
  const submitted = submitSchema.safeParse(activity.value)
  if (submitted.success) {
    const { value: data } = activity
    return { kind: 'click', click: { ...source, verb: submitted.data.verb, data, fallback: true } }
  }
  // Even if the app may read all messages, it reacts only to those addressed to it.
  if (source.conversation.kind !== 'person' && !isAddressed(activity)) return { kind: 'nothing' }
  return { kind: 'command', command: { ...source, text: readCommand(activity) } }
}

function presenceOf(source: BotSource, activity: Activity, here: boolean | undefined): BotEvent {
  if (here === undefined) return { kind: 'nothing' }
  const new_to_person = activity.action === 'add' && source.conversation.kind === 'person'
  const of_channel_alone = whatHappened(activity).startsWith('channel')
  return { kind: 'presence', presence: { ...source, here, of_channel_alone, new_to_person } }
}

/** Says whether the app is installed now. An upgrade is reported only if it adds the bot to the app or removes it. */
function installed({ action }: Activity): boolean | undefined {
  if (action?.startsWith('add')) return true
  return action?.startsWith('remove') ? false : undefined
}

const GONE: ReadonlySet<string> = new Set(['channeldeleted', 'teamdeleted', 'teamharddeleted'])
const BACK: ReadonlySet<string> = new Set(['channelrestored', 'teamrestored', 'teamunarchived'])

/** Returns the event of a team or channel in lower case: Microsoft writes the names in different ways. */
function whatHappened({ channelData }: Activity): string {
  return channelData?.eventType?.toLowerCase() ?? ''
}

/** Says whether the bot was added or removed, with its conversation or alone; undefined when this does not concern the bot. */
function membership(activity: Activity): boolean | undefined {
  const { recipient, from, membersAdded, membersRemoved } = activity
  const bot = recipient?.id
  if (!bot) return undefined
  const event = whatHappened(activity)
  if (GONE.has(event) || BACK.has(event)) return BACK.has(event)
  if (membersAdded?.some(({ id }) => id === bot)) return true
  // A person who is permanently deleted from the tenant is removed from their own chat.
  const person = activity.conversation?.conversationType === 'personal' ? from?.id : undefined
  return membersRemoved?.some(({ id }) => id === bot || (id && id === person)) ? false : undefined
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
  // The id of a thread in a channel is `<channel>;messageid=<root>`.
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

/** Any conversation that is not clearly one person's own counts as read by others. */
function kindOf({
  conversationType,
  isGroup,
}: NonNullable<Activity['conversation']>): 'person' | 'group' | 'channel' {
  if (conversationType === 'channel') return 'channel'
  return conversationType === 'personal' && isGroup !== true ? 'person' : 'group'
}

/** The HTML entities that Teams writes into messages; pasted receipts must get their original characters back. */
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ', amp: '&' }

type Written = Pick<Activity, 'text' | 'recipient' | 'entities'>

/** Stands for the message that a reply quotes. */
const QUOTED = /<quoted messageId="[^"]*"\s*\/>/g

/**
 * Reads the command that a person typed: removes mentions of the bot and quotations (only those that the activity declares, so
 * that a typed `<at>` is not taken for one) and the slash of a slash command, and decodes entities.
 */
export function readCommand(written: Written): string {
  const quotes = written.entities?.some(({ type }) => type === 'quotedReply') ?? false
  let left = quotes ? (written.text ?? '').replace(QUOTED, ' ') : (written.text ?? '')
  for (const mention of mentionsOfBot(written)) left = left.replaceAll(mention, ' ')
  const typed = left
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll('\u00a0', ' ')
    .trim()
  return typed.replace(/^\/(countersign\b\s*)?/i, '')
}

/** Checks whether the message mentions the bot, or is a command that only the bot and the speaker see. */
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
