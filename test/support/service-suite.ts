import type { BrowserContextOptions, CDPSession } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { inviteUser } from '../../src/flow/joining/invite-user.ts'
import { addAuthenticator, type Visitor } from './browser.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from './enrolled.ts'
import type { HttpClient } from './http-client.ts'
import { type ServiceOptions, startService, type TestService } from './service.ts'
import { visitorsAt } from './visitors.ts'

/** A visitor with an authenticator of their own. */
export interface Person extends Visitor {
  authenticator: { session: CDPSession; id: string }
}

/** A person who can also be spoken for without their page. */
export interface SignedIn extends Person {
  api: HttpClient
}

/** What an end-to-end suite works with: the real service and real browser profiles. */
export interface ServiceSuite {
  service(): TestService
  /** A fresh profile with an empty authenticator; closed after the test, when no incident may have happened in it. */
  visit(options?: BrowserContextOptions): Promise<Person>
  /** Somebody who enrolled with a passkey, by the API: their profile holds the session and the passkey, and is at no page yet. */
  signedIn(email: string): Promise<SignedIn>
  /** Enrols an invited person with a passkey on the page, in a fresh profile, and leaves them on their account page. */
  enrol(email: string): Promise<Person>
}

/** @param executable another browser than the other suites take */
export function useServiceSuite(options: ServiceOptions = {}, executable?: string): ServiceSuite {
  let service: TestService | undefined
  const started = (): TestService => {
    if (service === undefined) throw new Error('the suite has not started')
    return service
  }
  const visitors = visitorsAt(() => started().url)
  beforeAll(async () => {
    service = await startService(options)
  })
  afterAll(async () => {
    await visitors.close()
    await service?.close()
  })
  afterEach(async () => {
    expect(await visitors.leave()).toEqual([])
  })
  const visit = async (options?: BrowserContextOptions): Promise<Person> => {
    const visitor = await visitors.visit(options, executable)
    return { ...visitor, authenticator: await addAuthenticator(visitor) }
  }
  return {
    service: started,
    visit,
    signedIn: async (email) => {
      // It counts, as Chromium's do.
      const enrolling = enrolWithPasskey(started(), email, { startCounter: 1 })
      const [person, enrolled] = await Promise.all([visit(), enrolling])
      await become(person, enrolled, started().url)
      return { ...person, api: enrolled.browser }
    },
    enrol: async (email) => {
      const person = await visit()
      await person.page.goto(await invitationPath(started(), email))
      await person.page.getByRole('button', { name: 'Create a passkey' }).click()
      await person.page.getByRole('heading', { name: 'Inbox' }).waitFor()
      await person.page.goto('/account')
      await person.page.getByRole('heading', { name: 'Your account' }).waitFor()
      return person
    },
  }
}

/** Puts the cookies and the passkey that somebody has over HTTP into a profile. */
async function become(
  { context, authenticator: { session, id } }: Person,
  { browser, authenticator: { credentials } }: EnrolledPerson,
  url: string,
): Promise<void> {
  const cookies = [...browser.cookies].map(([name, value]) => ({ name, value, url, httpOnly: true }))
  await context.addCookies(cookies.map((cookie) => ({ ...cookie, sameSite: 'Lax' as const })))
  for (const credential of credentials) {
    const base64 = (text: string): string => Buffer.from(text, 'base64url').toString('base64')
    await session.send('WebAuthn.addCredential', {
      authenticatorId: id,
      credential: {
        credentialId: base64(credential.id),
        isResidentCredential: true,
        rpId: credential.rpId,
        userHandle: base64(credential.userHandle),
        privateKey: credential.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
        signCount: credential.counter,
      },
    })
  }
}

/** `/enroll#<token>` of a new invitation. */
export async function invitationPath(service: TestService, email: string): Promise<string> {
  const { link } = await inviteUser(service.composition.deps, { email }, { kind: 'cli' })
  const { pathname, hash } = new URL(link.url)
  return `${pathname}${hash}`
}

/** Creates an API key as the page does, without it, and returns the raw key. */
export async function obtainKey({ api }: SignedIn, name: string): Promise<string> {
  return expectStatus(await api.post('/api/v1/account/api-keys', { name }), 201).raw_key
}

/** Creates an API key on its page and returns the raw key that is shown once. */
export async function createKey({ page }: Person, name: string): Promise<string> {
  await page.goto('/keys')
  await page.getByLabel('Name of the key').fill(name)
  await page.getByRole('button', { name: /Create (your first|an) API key/ }).click()
  return page.locator('.secret-box code').innerText()
}

/** Asks for an approval as an application does; returns the request id. */
export async function ask(service: TestService, rawKey: string, body: object): Promise<string> {
  const response = await fetch(`${service.url}/api/v1/approvals/request`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${rawKey}` },
    body: JSON.stringify(body),
  })
  const answer: unknown = await response.json()
  expect(response.status, JSON.stringify(answer)).toBe(201)
  return String(Object(answer).id)
}

/** What the caller reads about its request. */
export async function readRequest(
  service: TestService,
  rawKey: string,
  id: string,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.url}/api/v1/approvals/${id}`, {
    headers: { Authorization: `Bearer ${rawKey}` },
  })
  expect(response.status).toBe(200)
  return Object(await response.json())
}
