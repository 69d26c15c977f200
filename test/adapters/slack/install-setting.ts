import { expect } from 'vitest'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { type RefusalCode, refusal } from '../../../src/domain/errors.ts'
import type { ChatInstallation } from '../../../src/store/chat/chat-installations.ts'
import { stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import type { Answer } from '../../support/http-client.ts'
import { freePort, startService, type TestService } from '../../support/service.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'

export const SIGNING_SECRET = 'emulated-signing-secret'

/** What a browser asks for when somebody follows a link. */
export const AS_PAGE = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }

/** A service that any workspace may be connected to, a workspace, and two people with an account each. */
export interface InstallSetting {
  slack: SlackEmulator
  service: TestService
  database: string
  /** Name of the cookie that ties a state to a browser. */
  stateCookie: string
  ana: EnrolledPerson
  ben: EnrolledPerson
  /** The installation in the emulated workspace. */
  kept(): Promise<ChatInstallation | undefined>
  accountOf(person: Pick<EnrolledPerson, 'userId'>): Promise<string>
  /** How often a code was traded for tokens. */
  trades(): number
  /** What the service wrote for the trail, oldest first. */
  auditEntries(): Promise<AuditEntry[]>
  /** No installations, and Slack behaves. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function startInstallSetting(database: string): Promise<InstallSetting> {
  const port = await freePort()
  const slack = await startSlack({
    teamName: 'Acme <b>&Co',
    users: [{ name: 'ana', email: 'ana@example.com' }],
    redirectUris: [`http://localhost:${port}/slack/oauth_redirect`],
  })
  const service = await startService({ port, env: slackEnv(slack), database })
  const { deps, connection } = service.composition
  return {
    slack,
    service,
    database,
    stateCookie: cookieName('countersign-slack-install', service.url),
    ana: await enrolWithPasskey(service, 'ana@example.com'),
    ben: await enrolWithPasskey(service, 'ben@example.com'),
    kept: () => deps.installations.find('slack', slack.teamId),
    async accountOf({ userId }) {
      const user = await deps.users.find(userId)
      return user?.account_id ?? expect.unreachable('no such user')
    },
    trades: () => slack.calls.filter(({ method }) => method === 'oauth.v2.access').length,
    async auditEntries() {
      const waiting = await stored(service, 'audit_inbox').find().toArray()
      const entries = waiting.flatMap(({ audit }): AuditEntry[] => (Array.isArray(audit) ? audit : []))
      return entries.sort((a, b) => a.at.getTime() - b.at.getTime())
    },
    async clear() {
      slack.behave(() => undefined)
      slack.calls.splice(0)
      await stored(service, 'chat_installations').deleteMany({})
    },
    async close() {
      await connection.db?.dropDatabase()
      await service.close()
      await slack.close()
    },
  }
}

/** The settings of a service that workspaces install the app of. */
export function slackEnv(slack: SlackEmulator): Record<string, string> {
  return {
    SLACK_CLIENT_ID: slack.clientId,
    SLACK_CLIENT_SECRET: slack.clientSecret,
    SLACK_SIGNING_SECRET: SIGNING_SECRET,
    SLACK_API_URL: slack.apiUrl,
  }
}

/** The refusal of the table, as JSON. */
export function expectRefusal(answer: Answer, code: RefusalCode, details: object = {}): void {
  const { status, publicMessage: message } = refusal(code, details)
  expect([answer.status, answer.body]).toEqual([status, { error: code, message, ...details }])
}

/** What Slack says to a code, for another workspace than the emulated one. */
export function otherTokens() {
  return {
    ok: true,
    app_id: 'A1',
    authed_user: { id: 'U1' },
    token_type: 'bot',
    access_token: 'xoxb-other',
    scope: 'chat:write',
    bot_user_id: 'UBOT',
    team: { id: 'T0OTHER', name: 'Other' },
    enterprise: null,
    is_enterprise_install: false,
  }
}
