import type { SlackSettings } from '../../src/config/slack.ts'
import type { ChatInstallationStore, ChatPort } from '../../src/flow/chat-ports.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import { mountFixed, mountInstall } from './install.ts'
import { createSlackPort } from './port.ts'
import { createSlackReceiver } from './receiver.ts'
import { createWorkspaces } from './workspaces.ts'

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
