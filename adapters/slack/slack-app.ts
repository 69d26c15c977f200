import { App, LogLevel, type Receiver, type ReceiverEvent } from '@slack/bolt'
import { z } from 'zod'
import type { Notice } from '../../src/flow/chat/chat-answer.ts'
import { createOpenWork } from '../../src/flow/chat/open-work.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
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
 * Bolt, with `Answering` in front of everything: Bolt itself runs a repeat again, answers what has no listener with 404
 * after three seconds, and says nothing at all to people of an unknown workspace.
 */
export class SlackApp extends App {
  readonly #answering: Answering

  constructor(receiver: Receiver, { answering, log }: { answering: Answering } & Pick<FlowDeps, 'log'>) {
    super({
      receiver,
      logger: createSlackLog(log),
      logLevel: LogLevel.INFO,
      // Who may be answered is decided in front; no token is handed to listeners.
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

/** Slack gives up after three seconds and shows an error of its own. */
const DEADLINE_MS = 2_500

/** What the receivers say about a message beside its body. */
const deliverySchema = z.object({
  /** The signature, or the envelope's id: the same twice is a repeat (T36). */
  delivery: z.string().min(1),
  request_id: z.string(),
})

/** Stands between Slack and the listeners: every message runs once and is answered in time, whatever happens behind. */
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
    parts.log.warn({ ...about, said: notice.heading }, 'a message of slack was refused')
    return tell(notice)
  }
  const late = setTimeout(() => {
    parts.log.warn(about, 'slack waited too long for an answer')
    // An event is better sent again than lost.
    if (kind !== 'event') void tell(NOTICES.slow)
  }, DEADLINE_MS)
  try {
    const refused = await findRefusal(parts, incoming, delivery, reply)
    if (refused === 'repeat') parts.log.info(about, 'slack said this before')
    else if (refused !== undefined) await refuse(refused)
    else await runListeners(parts, { event, run, incoming, delivery, reply, about, refuse })
  } catch (error) {
    parts.log.error({ error, ...about }, 'a message of slack could not be handled')
    if (kind === 'event' && !reply.given()) throw error
    await tell(wentWrong(request_id))
  } finally {
    clearTimeout(late)
  }
}

/** Why nothing runs for it. A repeat is acknowledged and not answered: its answer went out the first time. */
async function findRefusal(
  { seen, workspaces, settings }: AnsweringParts,
  { kind, tenant, eventId }: Incoming,
  delivery: string,
  reply: ReplyOnce,
): Promise<Notice | 'repeat' | undefined> {
  // Of an event only what came to its end counts. Slack may send the same bytes again within the same second.
  const repeat =
    kind === 'event'
      ? await seen.known(seenEvent(eventId ?? delivery))
      : !(await seen.first(`slack:${delivery}`))
  if (repeat) {
    await reply.give()
    return 'repeat'
  }
  // That a workspace removed the app is said when it is not known any more.
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
    if (!(await reply.give(body))) parts.log.info(about, 'the answer to slack came too late')
  }
  // Bolt breaks on what is no object, such as the payload “null”.
  if (typeof event.body === 'object' && event.body !== null) await run({ ...event, ack })
  if (!reply.given()) await refuse(unknownOf(incoming))
}

/** Bolt would acknowledge it before anything is done: what then fails would be lost, as Slack does not send it again. */
async function runEvent(
  { seen, log }: AnsweringParts,
  { event, run, incoming, delivery, reply, about }: Run,
): Promise<void> {
  await run({ ...event, ack: async () => undefined })
  await seen.first(seenEvent(incoming.eventId ?? delivery))
  // Who gave up waiting sends it again, and it is a repeat.
  await reply.give().catch(() => log.info(about, 'the answer to slack came too late'))
}

function seenEvent(id: string): string {
  return `slack:event:${id}`
}

function unknownOf({ kind }: Incoming): Notice {
  if (kind === 'command') return NOTICES.unknownCommand
  return kind === 'action' ? NOTICES.unknownAction : NOTICES.unknownForm
}
