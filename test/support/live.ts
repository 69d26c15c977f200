import { randomUUID } from 'node:crypto'
import { assertWith, type EnrolledPerson, enrolWithPasskey, expectStatus } from './enrolled.ts'
import type { HttpClient } from './http-client.ts'
import { addKey } from './people.ts'
import type { TestService } from './service.ts'
import type { AssertionCeremony } from './soft-authenticator.ts'

/** An owner with a passkey, and a program with a key of the owner's account. */
export interface LiveSetting {
  service: TestService
  owner: EnrolledPerson
  key: string
}

/** Enrols an owner and makes a key. */
export async function setUpOwner(service: TestService, email = 'owner@example.com'): Promise<LiveSetting> {
  const owner = await enrolWithPasskey(service, email)
  return { service, owner, key: await keyOf(service, owner.userId) }
}

/** A live key of the account of a person. */
export async function keyOf(service: TestService, userId: string): Promise<string> {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('no such person')
  return (await addKey(service, user)).raw_key
}

/** Calls the API with a key. */
export async function callWithKey(
  service: TestService,
  key: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  return fetch(`${service.url}/api/v1/approvals${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** Makes a request and returns its id. */
export async function ask(
  { service, key }: Pick<LiveSetting, 'service' | 'key'>,
  body: object = {},
): Promise<string> {
  const response = await callWithKey(service, key, '/request', { action: 'Deploy release 4.2', ...body })
  const made: unknown = await response.json()
  if (response.status !== 201 || made === null || typeof made !== 'object' || !('id' in made)) {
    throw new Error(`not created: ${response.status} ${JSON.stringify(made)}`)
  }
  return String(made.id)
}

/** Makes requests in one call. @returns their ids, and that of the batch which they are, if they are one */
export async function askTogether(
  { service, key }: Pick<LiveSetting, 'service' | 'key'>,
  requests: readonly object[],
): Promise<{ ids: string[]; batch: string }> {
  const response = await fetch(`${service.url}/api/v1/approvals/requests`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    },
    body: JSON.stringify({ requests }),
  })
  const made: { data?: { id: string }[] } = Object(await response.json())
  const ids = (made.data ?? []).map(({ id }) => id)
  if (response.status !== 201) throw new Error(`not created: ${response.status} ${JSON.stringify(made)}`)
  const [first = ''] = ids
  return { ids, batch: (await service.composition.deps.requests.find(first))?.batch?.id ?? '' }
}

/** Takes an answer to a decision's options without posting it. */
export async function proofFor(
  { service, owner }: Pick<LiveSetting, 'service' | 'owner'>,
  id: string,
  decision: 'approved' | 'rejected',
  ceremony: Partial<AssertionCeremony> = {},
): Promise<object> {
  const asked = await owner.browser.post(`/api/v1/approvals/${id}/decision/options`, { decision })
  return assertWith(owner, service, expectStatus(asked, 200).options, ceremony)
}

/** Decides by passkey, as the page does. */
export async function decideByPasskey(
  setting: Pick<LiveSetting, 'service' | 'owner'>,
  id: string,
  decision: 'approved' | 'rejected',
  comment?: string,
): ReturnType<HttpClient['post']> {
  const passkey = await proofFor(setting, id, decision)
  return setting.owner.browser.post(`/api/v1/approvals/${id}/decision`, { decision, comment, passkey })
}
