import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Bootstrap } from '../../src/domain/bootstrap.ts'
import { assertWith, type EnrolledPerson, expectStatus } from './enrolled.ts'
import { type Answer, createHttpClient } from './http-client.ts'
import type { TestService } from './service.ts'

/** A bootstrap as its caller knows it. */
export interface Begun {
  /** The `bootstrap_id`. */
  secret: string
  /** As people read it, `BDWP-HQPK`. */
  code: string
  /** What was answered. */
  answer: Answer
}

/** Begins one from an address of its own. */
export async function begin(
  service: Pick<TestService, 'url'>,
  email: string,
  more: Record<string, unknown> = {},
): Promise<Begun> {
  const body = { email, client_name: 'Release agent', ...more }
  const answer = await createHttpClient(service.url).post('/api/v1/bootstrap', body, { origin: null })
  const { bootstrap_id: secret, message } = expectStatus(answer, 202)
  const code = /\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b/.exec(message)?.[0]
  return { secret, code: code ?? expect.unreachable(message), answer }
}

/** One poll, from an address of its own. */
export function pollOnce(
  service: Pick<TestService, 'url'>,
  secret: string,
  verifier?: string,
): Promise<Answer> {
  const headers = verifier === undefined ? {} : { 'X-Code-Verifier': verifier }
  return createHttpClient(service.url).get(`/api/v1/bootstrap/${secret}/status`, { headers })
}

/** A poll by a caller that has kept its three seconds. */
export async function pollRested(service: TestService, secret: string, verifier?: string): Promise<Answer> {
  await setStored(service, secret, { polled_at: new Date(0) })
  return pollOnce(service, secret, verifier)
}

/** A verifier and its challenge (RFC 7636). */
export function codeChallenge(): { verifier: string; code_challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, code_challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The record, as it is stored. */
export async function stored({ composition }: TestService, secret: string): Promise<Bootstrap> {
  const { bootstraps, vault } = composition.deps
  const found = await bootstraps.findBySecret(vault.hash('bootstrap', secret))
  return found ?? expect.unreachable('no such bootstrap')
}

/** `/api/v1/account/bootstrap/<id>` of what the caller began. */
export async function consentPath(service: TestService, { secret }: Begun): Promise<string> {
  return `/api/v1/account/bootstrap/${(await stored(service, secret)).id}`
}

/** The owner's word, by passkey. */
export async function consent(
  service: TestService,
  owner: EnrolledPerson,
  begun: Begun,
  decision: 'approved' | 'rejected' = 'approved',
): Promise<Answer> {
  const path = await consentPath(service, begun)
  const said = decision === 'approved' ? { decision, code: begun.code } : { decision }
  const { options } = expectStatus(await owner.browser.post(`${path}/decision/options`, said), 200)
  const passkey = assertWith(owner, service, options)
  return owner.browser.post(`${path}/decision`, { ...said, passkey })
}

/** Sets fields of the stored record. */
export async function setStored(
  service: TestService,
  secret: string,
  fields: Record<string, unknown>,
): Promise<void> {
  const { id } = await stored(service, secret)
  await service.composition.connection
    .collection<{ _id: string }>('bootstraps')
    .updateOne({ _id: id }, { $set: fields })
}
