import { z } from 'zod'

const text = z.string().nullish()
const account = z.object({ id: text, name: text, aadObjectId: text, tenantId: text })

/** What we read of an activity (Bot Framework "Activity", Teams `channelData`); Teams sends null for what is not there. */
const activitySchema = z.object({
  type: z.string().min(1).max(64),
  id: text,
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
