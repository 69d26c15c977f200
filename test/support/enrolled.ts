import { generateSync } from 'otplib'
import { inviteUser } from '../../src/flow/joining/invite-user.ts'
import { type Answer, createHttpClient, type HttpClient } from './http-client.ts'
import type { TestService } from './service.ts'
import {
  type AssertionCeremony,
  createSoftAuthenticator,
  type RegistrationCeremony,
  type SoftAuthenticator,
} from './soft-authenticator.ts'

/** A person at a browser, signed in, with a passkey in a software authenticator. */
export interface EnrolledPerson {
  browser: HttpClient
  authenticator: SoftAuthenticator
  /** Session JWT. */
  token: string
  userId: string
  email: string
}

/** Invites a person and enrols them with a passkey, over HTTP. */
export async function enrolWithPasskey(
  service: TestService,
  email: string,
  ceremony: Partial<RegistrationCeremony> = {},
): Promise<EnrolledPerson> {
  const token = await invitationFor(service, email)
  const browser = createHttpClient(service.url)
  const authenticator = createSoftAuthenticator()
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', { token }), 200)
  const credential = authenticator.register(options, { origin: service.url, ...ceremony })
  const body = { token, passkey_name: 'laptop', credential }
  const answer = expectStatus(await browser.post('/api/v1/enrollment/passkey', body), 201)
  return { browser, authenticator, token: answer.token, userId: answer.user.id, email }
}

/** Invites a person, without a `link` of theirs, and enrols them with codes, over HTTP. The first code of the seed is used up by that. */
export async function enrolWithTotp(
  service: TestService,
  email: string,
  link?: string,
): Promise<Omit<EnrolledPerson, 'authenticator'> & { secret: string; backupCodes: string[] }> {
  const token = link ?? (await invitationFor(service, email))
  const browser = createHttpClient(service.url)
  const setUp = expectStatus(await browser.post('/api/v1/enrollment/totp/options', { token }), 200)
  const code = codeAt(setUp.secret, service.composition.deps.clock.now())
  const answer = expectStatus(await browser.post('/api/v1/enrollment/totp', { token, code }), 201)
  const { backup_codes: backupCodes } = answer
  return { browser, token: answer.token, userId: answer.user.id, email, secret: setUp.secret, backupCodes }
}

/** The token in the link of a fresh invitation. */
export async function invitationFor(service: TestService, email: string): Promise<string> {
  const { link } = await inviteUser(service.composition.deps, { email }, { kind: 'cli' })
  return linkToken(link.url)
}

/** The fragment of a link. */
export function linkToken(url: string): string {
  return new URL(url).hash.slice(1)
}

/** The code of a seed at a time. */
export function codeAt(secret: string, at: Date): string {
  return generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) })
}

/** A code that is wrong at that time and one step around it. */
export function wrongCodeAt(secret: string, at: Date): string {
  const near = [-60, -30, 0, 30].map((seconds) => codeAt(secret, new Date(at.getTime() + seconds * 1000)))
  for (let code = 0; ; code += 1) {
    const text = String(code).padStart(6, '0')
    if (!near.includes(text)) return text
  }
}

/** Answers an options call with the person's passkey. */
export function assertWith(
  person: Pick<EnrolledPerson, 'authenticator'>,
  service: TestService,
  options: Parameters<SoftAuthenticator['authenticate']>[0],
  ceremony: Partial<AssertionCeremony> = {},
) {
  return person.authenticator.authenticate(options, { origin: service.url, ...ceremony })
}

/** A fresh proof by passkey for one operation on the person's own factors. */
export async function passkeyProof(
  person: EnrolledPerson,
  service: TestService,
  operation: string,
  target?: string,
): Promise<{ passkey: ReturnType<SoftAuthenticator['authenticate']> }> {
  const asked = await person.browser.post('/api/v1/me/step-up/options', { operation, target })
  return { passkey: assertWith(person, service, expectStatus(asked, 200).options) }
}

/** The body of an answer that must have this status. */
export function expectStatus(answer: Answer, status: number): Answer['body'] {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}
