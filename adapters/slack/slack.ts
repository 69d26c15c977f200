import type { Receiver } from '@slack/bolt'
import type { SlackSettings } from '../../src/config/slack.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatPort } from '../../src/flow/ports.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { ChatInstallationStore } from '../../src/store/chat-installations.ts'
import { mountEvents } from './http-events.ts'
import { mountFixed, mountInstall } from './install.ts'
import { listen } from './listeners.ts'
import { createSlackPort } from './port.ts'
import { createAnswering, SlackApp } from './slack-app.ts'
import { createSocketConnection } from './socket-connection.ts'
import { createWorkspaces, type Workspaces } from './workspaces.ts'

export interface SlackParts {
  installations: ChatInstallationStore
  vault: FlowDeps['vault']
  clock: FlowDeps['clock']
  log: FlowDeps['log']
  baseUrl: string
}

/** Slack: a port that sends, and a receiver that answers. Neither calls Slack before it is used. */
export function createSlack(
  settings: SlackSettings,
  parts: SlackParts,
): {
  port: ChatPort
  receive(deps: FlowDeps): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> }
} {
  const workspaces = createWorkspaces(settings, parts)
  return {
    port: createSlackPort(workspaces, parts),
    receive(deps) {
      const receiver = createSlackReceiver(settings, workspaces, deps)
      const mount: Mount = (app, edge) => {
        if (settings.workspaces.kind === 'one') mountFixed([app, edge])
        mountInstall([app, edge], settings, deps, (tenant) => workspaces.forget(tenant))
        receiver.mount?.(app, edge)
      }
      return { ...receiver, mount }
    },
  }
}

/** Receives commands, clicks and events: at `POST /slack/events`, or over a connection that we open (Socket Mode). */
function createSlackReceiver(
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
