import type { types } from '@slack/bolt'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { renderAnswer } from './answer-blocks.ts'
import type { Incoming } from './incoming.ts'
import type { ReplyOnce } from './reply-once.ts'
import { plain, type SlackMessage } from './rich-text.ts'
import type { Notice } from './words.ts'
import type { Workspaces } from './workspaces.ts'

export interface TellParts extends Pick<FlowDeps, 'log' | 'clock'> {
  workspaces: Pick<Workspaces, 'find'>
}

/**
 * Acknowledges, and says the notice to the person alone: in the acknowledgement where Slack shows that, else by a message.
 * Never by `response_url`: that is an address out of the request (T38). Never throws: what could not be said is logged.
 */
export async function tellPerson(
  parts: TellParts,
  incoming: Incoming,
  reply: ReplyOnce,
  notice: Notice,
): Promise<void> {
  const message = renderAnswer(notice, { now: parts.clock.now() })
  const about = { kind: incoming.kind, tenant: incoming.tenant, user: incoming.user, said: notice.heading }
  try {
    const told = await reply.give(acknowledgement(incoming, message))
    if (incoming.kind === 'action' || incoming.kind === 'shortcut') await whisper(parts, incoming, message)
    else if (!told) parts.log.info(about, 'slack had its answer already')
  } catch (error) {
    parts.log.warn({ ...about, reason: codeOf(error) }, 'a person on Slack could not be told')
  }
}

/** What of it Slack shows by itself. An acknowledged click with a body would replace the message under the button. */
function acknowledgement({ kind }: Incoming, message: SlackMessage): object | undefined {
  switch (kind) {
    case 'command':
      return { response_type: 'ephemeral', ...message }
    case 'view':
      return { response_action: 'update', view: modal(message) }
    case 'options':
      return { options: [] }
    default:
      return undefined
  }
}

function modal({ blocks }: SlackMessage): types.ModalView {
  return { type: 'modal', title: plain('Countersign'), close: plain('Close'), blocks }
}

/** In the place where it happened, seen by nobody else; as a message of the app where there is no such place. */
async function whisper(
  { workspaces }: TellParts,
  { tenant, user, channel }: Incoming,
  message: SlackMessage,
): Promise<void> {
  const workspace = tenant === undefined ? undefined : await workspaces.find(tenant)
  if (user === undefined || typeof workspace !== 'object') return
  const { client } = workspace
  if (channel === undefined) await client.chat.postMessage({ channel: user, ...message })
  else await client.chat.postEphemeral({ channel, user, ...message })
}

/** Slack's own word for it; the rest of such an error may repeat the call. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const data: unknown = Reflect.get(error, 'data')
  const code: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'error') : undefined
  return typeof code === 'string' ? code : error.message
}
