import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { SlackSettings } from '../../src/slack-config.ts'
import type { Workspaces } from './workspaces.ts'

export function createSlackReceiver(
  _settings: SlackSettings,
  _workspaces: Workspaces,
  _deps: FlowDeps,
): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> } {
  return { start: async () => undefined, stop: async () => undefined }
}
