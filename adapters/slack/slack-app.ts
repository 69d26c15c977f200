import { App, LogLevel, type Receiver, type ReceiverEvent } from '@slack/bolt'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Answering } from './answering.ts'
import { createSlackLog } from './slack-log.ts'

/**
 * Bolt, with `Answering` in front of everything: Bolt itself runs a repeat again, answers what nobody listens to with 404
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
