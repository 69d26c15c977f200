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
    parts.log.warn({ ...about, reason: troubleOf(error).code }, 'a person on Slack could not be answered')
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

/** In the place where it happened, seen by this person alone; as a message of the app where there is no such place. */
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

/** What the receiver itself has to say, when no verb answered. All of it is ours. */
export const NOTICES = {
  unknownCommand: problem(
    'Countersign does not know this command',
    'Nothing was done. Type /countersign help to see what there is.',
  ),
  unknownAction: problem(
    'Countersign does not know this button',
    'Nothing was done. It may belong to an older message; the approval page shows what is true now.',
  ),
  unknownForm: problem(
    'Countersign does not know this form or shortcut',
    'Nothing was done. Type /countersign help to see what there is.',
  ),
  notKnownYet: problem(
    'Countersign cannot reach Slack',
    'It has not learned yet which workspace it belongs to, so nothing was done. Try again in a moment.',
  ),
  slow: problem(
    'This takes longer than usual',
    'Countersign has no answer yet. It may still finish what you asked for; try again in a moment.',
  ),
} as const

/** A workspace whose installation is not (or no longer) ours: nothing is read or changed for it. */
export function notConnected(baseUrl: string): Notice {
  return problem(
    'This workspace is not connected',
    `This workspace is not connected to Countersign at ${baseUrl}. Ask its operator to install the app again.`,
  )
}

/** Something broke; what it was is in the log under this id. */
export function wentWrong(requestId: string): Notice {
  return problem(
    'Something went wrong on our side',
    `Your request could not be answered; try again in a moment. When you report it, quote ${requestId}.`,
  )
}

/** The one answer that Slack takes to what it sent. */
export type ReplyOnce = ReturnType<typeof replyOnce>

/** Wraps an `ack`: Bolt's throws at the second answer over HTTP and drops it in Socket Mode. */
export function replyOnce(ack: (body?: unknown) => Promise<void>) {
  let given = false
  return {
    given: () => given,
    /** @returns false when there was an answer already: this one is not sent */
    async give(body?: unknown): Promise<boolean> {
      if (given) return false
      given = true
      await ack(body)
      return true
    },
  }
}
