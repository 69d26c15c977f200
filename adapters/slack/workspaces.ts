import type { SlackSettings } from '../../src/slack-config.ts'
import type { SlackParts } from './slack.ts'

export interface Workspaces {
  tenantsOf(accountId: string): Promise<string[]>
}

export function createWorkspaces(_settings: SlackSettings, parts: SlackParts): Workspaces {
  return { tenantsOf: (accountId) => parts.installations.tenantsOf('slack', accountId) }
}
