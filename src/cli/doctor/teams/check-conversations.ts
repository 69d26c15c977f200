import { redact } from '../../../compose/log.ts'
import { hasStore } from '../../../compose/open-store.ts'
import type { Config } from '../../../config/config.ts'
import { type Check, fail, ok, warn } from '../check.ts'

const NAME = 'Conversations'

const NOBODY = warn(
  NAME,
  'nobody has the app yet, as far as Teams has told',
  [
    'Upload what this writes, and install it for people: npx countersign teams package',
    'If some have it: in Azure, the bot’s type must be Single Tenant, its messaging endpoint BASE_URL/api/messages,',
    'and the channel Microsoft Teams must be on. Then have one of them write “help” to the app.',
  ].join('\n'),
)

/** Whom can we write to? Teams tells when the app is installed and when somebody writes to it. */
export async function checkConversations(config: Config, tenantId: string): Promise<Check> {
  if (!hasStore(config)) return NOBODY
  try {
    // The store's libraries come along, which the other checks do not need.
    const { inspectConversations } = await import('../../../compose/inspect-store.ts')
    const { people, channels } = await inspectConversations(config, tenantId)
    if (people + channels === 0) return NOBODY
    return ok(NAME, `${counted(people, 'person', 'people')}, ${counted(channels, 'channel', 'channels')}`)
  } catch (error) {
    const reason = String(redact(error instanceof Error ? error.message : String(error)))
    return fail(NAME, reason, 'Run: npx countersign doctor')
  }
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
