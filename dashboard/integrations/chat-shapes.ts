import { flag, list, moment, nullable, object, oneOf, text } from '../../webauthn-page/kit/api/shape.ts'

const workspaceShape = object({ tenant: text, name: nullable(text), installed_at: nullable(moment) })

/** A Slack workspace whose people get cards of the account. */
export type SlackWorkspace = ReturnType<typeof workspaceShape>

/** `GET /account/chat-apps` */
export const chatAppsShape = object({
  slack: object({
    configured: flag,
    mode: nullable(oneOf('one', 'many')),
    installations: list(workspaceShape),
  }),
  teams: object({ configured: flag, tenants: list(text) }),
})
export type ChatApps = ReturnType<typeof chatAppsShape>
