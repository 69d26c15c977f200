import type { types } from '@slack/bolt'
import { type Notice, problem } from '../../src/flow/chat/chat-answer.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { renderAnswer } from './answers.ts'
import type { Incoming } from './incoming.ts'
import { plain, type SlackMessage } from './rich-text.ts'
import { troubleOf } from './web-client.ts'
import type { Workspaces } from './workspaces.ts'

export interface TellParts extends Pick<FlowDeps, 'log' | 'clock'> {
  workspaces: Pick<Workspaces, 'find'>
}

/**
 * Acknowledges, and shows the notice to the person alone: in the acknowledgement where Slack shows that, else by a message.
 * Never uses `response_url`, an address taken from the request (T38). Never throws: failures to answer are logged.
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
    const ephemeral = incoming.kind === 'action' || incoming.kind === 'shortcut'
    if (ephemeral && reply.tells()) await postEphemeral(parts, incoming, message)
    else if (ephemeral || !told) parts.log.info(about, 'an answer to Slack was already sent')
  } catch (error) {
    logUnanswered(parts.log, error, about)
  }
}

/** Logs by Slack's code, since the rest of such an error may repeat the call; an error that is not Slack's is logged whole. */
export function logUnanswered(log: FlowDeps['log'], error: unknown, about = {}): void {
  const { code: reason } = troubleOf(error)
  const cause = reason === 'unexpected' ? { error } : { reason }
  log.warn({ ...about, ...cause }, 'answering a person in Slack failed')
}

/** Draws the acknowledgement, where Slack shows one. For a click it stays empty: a body would replace the clicked message. */
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

/** Posts the message in the channel of the click, visible to this person alone; without a channel, as a direct message. */
async function postEphemeral(
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

/** Notices from the receiver itself, for when no verb answered. All their words are ours. */
export const NOTICES = {
  unknownCommand: problem(
    'Countersign does not know this command',
    'Nothing was done. Type /countersign help to see the commands.',
  ),
  unknownAction: problem(
    'Countersign does not know this button',
    'Nothing was done. It may belong to an older message; the approval page shows the current state.',
  ),
  unknownForm: problem(
    'Countersign does not know this form or shortcut',
    'Nothing was done. Type /countersign help to see the commands.',
  ),
  file: problem(
    'Countersign cannot read files',
    'Nothing was done. Paste the receipt as text, from { to }, type verify with its id, or use the page Verify.',
  ),
  notKnownYet: problem(
    'Countersign cannot reach Slack',
    'It does not know its workspace yet, so nothing was done. Try again in a moment.',
  ),
  slow: problem(
    'This takes longer than usual',
    'Countersign has no answer yet. It may still finish what you asked for; try again in a moment.',
  ),
} as const

/** Returns the notice for a workspace that is not (or no longer) installed: nothing is read or changed for it. */
export function notConnected(baseUrl: string): Notice {
  return problem(
    'This workspace is not connected',
    `This workspace is not connected to Countersign at ${baseUrl}. Ask its operator to install the app again.`,
  )
}

/** Returns the notice for an internal error, which the log holds under this id. */
export function wentWrong(requestId: string): Notice {
  return problem(
    'Something went wrong on our side',
    `Countersign could not answer; try again in a moment. When you report it, quote ${requestId}.`,
  )
}

/** The single answer that Slack accepts to each message. */
export type ReplyOnce = ReturnType<typeof replyOnce>

/** Wraps an `ack`, because a second call of Bolt's own throws over HTTP and is dropped in Socket Mode. */
export function replyOnce(ack: (body?: unknown) => Promise<void>) {
  let given = false
  let told = false
  return {
    given: () => given,
    /** @returns false when the person was told something already: one press gets one message */
    tells(): boolean {
      const first = !told
      told = true
      return first
    },
    /** @returns false when an answer was given already, so this one is not sent */
    async give(body?: unknown): Promise<boolean> {
      if (given) return false
      given = true
      await ack(body)
      return true
    },
  }
}
