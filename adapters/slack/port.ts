import type { ChatPort } from '../../src/flow/chat-ports.ts'
import type { SlackParts } from './slack.ts'
import type { Workspaces } from './workspaces.ts'

export function createSlackPort(workspaces: Workspaces, _parts: SlackParts): ChatPort {
  const refuse = async () => ({ ok: false, outcome: 'failed', duration_ms: 0 }) as const
  return {
    platform: 'slack',
    tenantsOf: workspaces.tenantsOf,
    lookup: refuse,
    post: refuse,
    update: refuse,
    reply: refuse,
  }
}
