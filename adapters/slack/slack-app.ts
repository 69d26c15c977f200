import { App, LogLevel, type Receiver, type ReceiverEvent } from '@slack/bolt'
import { z } from 'zod'
import type { Notice } from '../../src/flow/chat/chat-answer.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { createOpenWork } from '../shared/open-work.ts'
import { type Incoming, readIncoming } from './incoming.ts'
import {
  NOTICES,
  notConnected,
  type ReplyOnce,
  replyOnce,
  type TellParts,
  tellPerson,
  wentWrong,
} from './tell-person.ts'
import { createSlackLog } from './web-client.ts'

/**
 * Bolt, with `Answering` in front of it. Bolt alone would run repeated messages again, answer a message without a listener
 * with 404 after three seconds, and say nothing at all to people of an unknown workspace.
 */
export class SlackApp extends App {
  readonly #answering: Answering

  constructor(receiver: Receiver, { answering, log }: { answering: Answering } & Pick<FlowDeps, 'log'>) {
    super({
      receiver,
      logger: createSlackLog(log),
      logLevel: LogLevel.INFO,
      // `Answering` has decided already who may be answered; listeners get no token.
      authorize: async () => ({}),
      ignoreSelf: false,
      convoStore: false,
    })
    this.#answering = answering
    this.error(async (error) => {
      throw error.original ?? error
    })
  }

  override processEvent(event: ReceiverEvent): Promise<void> {
    return this.#answering.answer(event, (once) => super.processEvent(once))
  }
}

type AnsweringParts = TellParts & Pick<FlowDeps, 'seen' | 'settings'>

type Answering = ReturnType<typeof createAnswering>

/** Milliseconds to answer in: Slack gives up after three seconds and shows its own error. */
const DEADLINE_MS = 2_500

/** What the receivers add to a message besides its body. */
const deliverySchema = z.object({
  /** The signature, or the envelope's id; a message with a known one is a repeat (T36). */
  delivery: z.string().min(1),
  request_id: z.string(),
})

/** Stands between Slack and the listeners: each message runs once and is answered in time, whatever the listeners do. */
export function createAnswering(parts: AnsweringParts) {
  const { add, settled } = createOpenWork()
  return {
    /** @throws why an event failed before it was acknowledged: Slack then sends it again */
    answer(event: ReceiverEvent, run: (event: ReceiverEvent) => Promise<void>): Promise<void> {
      const work = answerOne(parts, event, run)
      add(work)
      return work
    },
    settled,
  }
}

async function answerOne(
  parts: AnsweringParts,
  event: ReceiverEvent,
  run: (event: ReceiverEvent) => Promise<void>,
): Promise<void> {
  const incoming = readIncoming(event.body)
  const { delivery, request_id } = deliverySchema.parse(event.customProperties)
  const { kind, name, tenant, user } = incoming
  const about = { request_id, kind, name, tenant, user, retry: event.retryNum }
  const reply = replyOnce(event.ack)
  const tell = (notice: Notice) => tellPerson(parts, incoming, reply, notice)
  const refuse = (notice: Notice) => {
    parts.log.warn({ ...about, said: notice.heading }, 'a message from Slack was refused')
    return tell(notice)
  }
  const late = setTimeout(() => {
    parts.log.warn(about, 'an answer to Slack takes too long')
    // An event is not acknowledged: it is better repeated by Slack than lost.
    if (kind !== 'event') void tell(NOTICES.slow)
  }, DEADLINE_MS)
  try {
    const refused = await findRefusal(parts, incoming, delivery, reply)
    if (refused === 'repeat') parts.log.info(about, 'Slack sent a message twice; the second is ignored')
    else if (refused !== undefined) await refuse(refused)
    else await runListeners(parts, { event, run, incoming, delivery, reply, about, refuse })
  } catch (error) {
    parts.log.error({ error, ...about }, 'handling a message from Slack failed')
    if (kind === 'event' && !reply.given()) throw error
    await tell(wentWrong(request_id))
  } finally {
    clearTimeout(late)
  }
}

/** Says why no listener may run. A repeat is acknowledged without a notice: its answer went out the first time. */
async function findRefusal(
  { seen, workspaces, settings }: AnsweringParts,
  { kind, tenant, eventId }: Incoming,
  delivery: string,
  reply: ReplyOnce,
): Promise<Notice | 'repeat' | undefined> {
  // An event counts as seen only once its handling has finished. Slack may repeat the same bytes within the same second.
  const repeat =
    kind === 'event'
      ? await seen.known(seenEvent(eventId ?? delivery))
      : !(await seen.first(`slack:${delivery}`))
  if (repeat) {
    await reply.give()
    return 'repeat'
  }
  // Events pass without this check: a workspace that removed the app reports so when it is no longer known.
  if (kind === 'event' || kind === 'other') return undefined
  const workspace = tenant === undefined ? 'not_installed' : await workspaces.find(tenant)
  if (workspace === 'not_known_yet') return NOTICES.notKnownYet
  return workspace === 'not_installed' ? notConnected(settings.baseUrl) : undefined
}

interface Run {
  event: ReceiverEvent
  run: (event: ReceiverEvent) => Promise<void>
  incoming: Incoming
  delivery: string
  reply: ReplyOnce
  about: Record<string, unknown>
  refuse: (notice: Notice) => Promise<void>
}

async function runListeners(parts: AnsweringParts, running: Run): Promise<void> {
  const { event, run, incoming, reply, about, refuse } = running
  if (incoming.kind === 'event') return runEvent(parts, running)
  const ack = async (body?: unknown) => {
    if (!(await reply.give(body))) parts.log.info(about, 'an answer to Slack came too late')
  }
  // Bolt fails on a payload that is not an object, such as “null”.
  if (typeof event.body === 'object' && event.body !== null) await run({ ...event, ack })
  if (!reply.given()) await refuse(unknownOf(incoming))
}

/** Handles an event, then acknowledges it. Bolt would acknowledge first: Slack would not repeat an event that then fails. */
async function runEvent(
  { seen, log }: AnsweringParts,
  { event, run, incoming, delivery, reply, about }: Run,
): Promise<void> {
  await run({ ...event, ack: async () => undefined })
  await seen.first(seenEvent(incoming.eventId ?? delivery))
  // If Slack gave up waiting, it sends the event again, which then counts as a repeat.
  await reply.give().catch(() => log.info(about, 'an answer to Slack came too late'))
}

function seenEvent(id: string): string {
  return `slack:event:${id}`
}

function unknownOf({ kind }: Incoming): Notice {
  if (kind === 'command') return NOTICES.unknownCommand
  return kind === 'action' ? NOTICES.unknownAction : NOTICES.unknownForm
}
