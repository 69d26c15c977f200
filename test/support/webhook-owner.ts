import type { User } from '../../src/domain/user.ts'
import { type Answer, send, signIn } from './caller.ts'
import { addPerson } from './people.ts'
import type { TestService } from './service.ts'

export const WEBHOOKS_PATH = '/api/v1/account/webhooks'

/** A webhook as its owner knows it. */
interface MadeWebhook {
  id: string
  /** As it was shown, this once. */
  secret: string
  path: string
}

/** A signed-in owner who manages webhooks over HTTP. */
export interface WebhookOwner {
  user: User
  token: string
  /** Any request with the session's token. */
  call(method: string, path: string, json?: unknown): Promise<Answer>
  /** `POST /api/v1/account/webhooks` */
  create(json: unknown): Promise<Answer>
  /** As `create`, and it must succeed. */
  made(url: string, events?: string[]): Promise<MadeWebhook>
  /** `GET /api/v1/account/webhooks` */
  list(): Promise<Record<string, unknown>[]>
  /** `GET …/:id/deliveries` */
  log(id: string, query?: string): Promise<Record<string, unknown>[]>
}

let owners = 0

/** A new one, so that limits never spill from one test into another. */
export async function newWebhookOwner(service: TestService): Promise<WebhookOwner> {
  owners += 1
  const user = await addPerson(service, `webhook-owner-${owners}@example.com`)
  return webhookOwnerWith(service, user, await signIn(service, user))
}

/** The same conveniences for a session that exists. */
export function webhookOwnerWith(service: TestService, user: User, token: string): WebhookOwner {
  const call = (method: string, path: string, json?: unknown) =>
    send(service, path, { method, token, ...(json === undefined ? {} : { json }) })
  const create = (json: unknown) => call('POST', WEBHOOKS_PATH, json)
  return {
    user,
    token,
    call,
    create,
    async made(url, events) {
      const { status, text, body } = await create({ url, ...(events && { events }) })
      if (status !== 201) throw new Error(`not created: ${status} ${text}`)
      const id = String(Object(body.webhook).id)
      return { id, secret: String(body.secret), path: `${WEBHOOKS_PATH}/${id}` }
    },
    list: async () => entriesOf(await call('GET', WEBHOOKS_PATH)),
    log: async (id, query = '') => entriesOf(await call('GET', `${WEBHOOKS_PATH}/${id}/deliveries${query}`)),
  }
}

/** The entries of a list. */
export function entriesOf(answer: Answer): Record<string, unknown>[] {
  if (answer.status !== 200) throw new Error(`no list: ${answer.status} ${answer.text}`)
  return Array.from(Object(answer.body.data), Object)
}
