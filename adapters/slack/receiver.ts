import type { Receiver } from '@slack/bolt'
import type { SlackSettings } from '../../src/config/slack.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import { createAnswering } from './answering.ts'
import { mountEvents } from './http-events.ts'
import { listen } from './listeners.ts'
import { SlackApp } from './slack-app.ts'
import { createSocketConnection } from './socket-connection.ts'
import type { Workspaces } from './workspaces.ts'

/** Receives commands, clicks and events: at `POST /slack/events`, or over a connection that we open (Socket Mode). */
export function createSlackReceiver(
  { apiUrl, receive }: SlackSettings,
  workspaces: Pick<Workspaces, 'find' | 'forget'>,
  deps: FlowDeps,
): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> } {
  const { seen, settings, clock, log } = deps
  const answering = createAnswering({ seen, settings, clock, log, workspaces })
  const connect = (receiver: Receiver): SlackApp => {
    const app = new SlackApp(receiver, { answering, log })
    listen(app, deps, workspaces)
    return app
  }
  if (receive.kind === 'http') {
    return {
      mount: (app) => mountEvents(app, receive.signingSecret, deps, connect),
      start: async () => undefined,
      stop: () => answering.settled(),
    }
  }
  const socket = createSocketConnection({ apiUrl, appToken: receive.appToken }, log, connect)
  return {
    start: async () => socket.start(),
    async stop() {
      // Answers need the connection.
      await answering.settled()
      await socket.stop()
    },
  }
}
