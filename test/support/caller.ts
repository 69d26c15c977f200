import type { Scope } from '../../src/domain/api-key.ts'
import type { User } from '../../src/domain/user.ts'
import { drawSeed } from '../../src/flow/people/codes.ts'
import { startSession } from '../../src/flow/people/sessions.ts'
import { addKey, addPerson } from './people.ts'
import type { TestService } from './service.ts'

/** An answer as a caller sees it; `body` is `{}` when there is none or it is not a JSON object. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  body: Record<string, unknown>
}

export interface SendOptions {
  method?: string
  /** Bearer token. */
  token?: string
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  raw?: RequestInit['body']
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** One request to the service. */
export async function send(service: TestService, path: string, options: SendOptions = {}): Promise<Answer> {
  const { method = 'GET', token, json, raw, headers = {}, signal } = options
  const body = json === undefined ? raw : JSON.stringify(json)
  const response = await fetch(`${service.url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined || body === null ? {} : { body }),
    ...(signal && { signal }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parseObject(text) }
}

/** Somebody with an account and a key. */
export interface TestCaller {
  user: User
  token: string
  keyId: string
  send(path: string, options?: SendOptions): Promise<Answer>
  /** `POST /api/v1/approvals/request` */
  create(json: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Creates a request that must succeed. @returns its id */
  createdId(fields?: Record<string, unknown>): Promise<string>
  /** `GET /api/v1/approvals/:id` */
  read(id: string): Promise<Answer>
}

export interface CallerOptions {
  sandbox?: boolean
  scopes?: Scope[]
  /** An existing person; without it a new one. */
  user?: User
}

let people = 0

/** A caller with a key of their own, so that limits never spill from one test into another. */
export async function newCaller(service: TestService, options: CallerOptions = {}): Promise<TestCaller> {
  people += 1
  const user = options.user ?? (await addPerson(service, `person-${people}@example.com`))
  const { raw_key, id } = await addKey(service, user, options)
  return callerWith(service, user, raw_key, id)
}

/** The same conveniences for any bearer token. */
export function callerWith(service: TestService, user: User, token: string, keyId: string): TestCaller {
  const sendAs = (path: string, options: SendOptions = {}) => send(service, path, { token, ...options })
  const create = (json: unknown, headers: Record<string, string> = {}) =>
    sendAs('/api/v1/approvals/request', { method: 'POST', json, headers })
  return {
    user,
    token,
    keyId,
    send: sendAs,
    create,
    async createdId(fields = {}) {
      const answer = await create({ action: 'Deploy build 1234 to production', ...fields })
      if (answer.status !== 201) throw new Error(`not created: ${answer.status} ${answer.text}`)
      return String(answer.body.id ?? answer.body.request_id)
    },
    read: (id) => sendAs(`/api/v1/approvals/${id}`),
  }
}

/** A session JWT of that person, without a ceremony, proven by codes; a person without a factor gets some. */
export async function signIn(service: TestService, user: User): Promise<string> {
  const { deps } = service.composition
  const { passkeys = [], totp } = (await deps.users.find(user.id)) ?? {}
  if (passkeys.length === 0 && totp === undefined) {
    const { sealed_seed } = drawSeed(deps, user)
    const state = { last_step: 0, failures: 0, locked_until: null, locks: 0, disabled_at: null }
    const codes = { sealed_seed, confirmed_at: deps.clock.now(), ...state }
    await alter(service, 'users', user.id, { totp: codes })
  }
  const client = { address: '127.0.0.1', user_agent: 'test' }
  const by = passkeys[0]?.credential_id ?? 'totp'
  return (await startSession(deps, user, client, 'test', by)).token
}

/** A collection of the service's own database, for moving time and for tampering. */
export function stored(service: TestService, name: string) {
  return service.composition.connection.collection<{ _id: string; [field: string]: unknown }>(name)
}

/** Alters one stored document; the test fails when there is none. */
export async function alter(
  service: TestService,
  name: string,
  id: string,
  set: Record<string, unknown>,
): Promise<void> {
  const { matchedCount } = await stored(service, name).updateOne({ _id: id }, { $set: set })
  if (matchedCount !== 1) throw new Error(`no ${id} in ${name}`)
}

/** Lets a request's time run out, as far as anybody can tell. */
export function lapse(service: TestService, id: string): Promise<void> {
  return alter(service, 'requests', id, { expires_at: new Date(Date.now() - 1_000) })
}

/** Makes a sandbox request due. */
export function makeDue(service: TestService, id: string): Promise<void> {
  return alter(service, 'requests', id, { 'sandbox_plan.due_at': new Date(Date.now() - 1_000) })
}

/** A decided sandbox request. @returns its id */
export async function decidedId(
  service: TestService,
  caller: TestCaller,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const id = await caller.createdId(fields)
  await makeDue(service, id)
  const { body } = await caller.read(id)
  if (body.decision === undefined) throw new Error(`not decided: ${JSON.stringify(body)}`)
  return id
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}
