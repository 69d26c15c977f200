import type { Fleet, Slot } from './chaos-fleet.ts'
import { expectStatus } from './enrolled.ts'
import { type Answer, createHttpClient, type HttpClient } from './http-client.ts'
import { createSoftAuthenticator, type SoftAuthenticator } from './soft-authenticator.ts'

/** The owner of a fleet's first account at a browser; every call goes to a process that lives. */
export interface FleetOwner {
  authenticator: SoftAuthenticator
  post(path: string, body: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
}

/** A program with a key. */
export interface FleetProgram {
  keyId: string
  sandbox: boolean
  /** The key's callback secret, hex. */
  secret: string
  get(path: string): Promise<Answer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
}

/** Calls that died with a process, or met a store too busy to answer, are repeated; after so many tries the fleet is down. */
const TRIES = 60

/**
 * Makes one call at a living process; when it dies with the process, it is made again at another, as behind a load
 * balancer. So a call may have had its effect before. @throws when no process answers
 */
async function atLivingSlot(fleet: Fleet, call: (slot: Slot) => Promise<Answer>): Promise<Answer> {
  let last: unknown
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const slot = fleet.slots[nextSlot(fleet)]
    if (slot === undefined) continue
    if (!fleet.slots.some((each) => each.isUp())) await Promise.race(fleet.slots.map((each) => each.up()))
    if (!slot.isUp()) continue
    try {
      const answer = await call(slot)
      if (answer.body?.error !== 'storage_unavailable') return answer
      last = answer.body
    } catch (error) {
      last = error
    }
  }
  throw new Error('the fleet does not answer', { cause: last })
}

const turns = new WeakMap<Fleet, number>()

function nextSlot(fleet: Fleet): number {
  const turn = ((turns.get(fleet) ?? -1) + 1) % fleet.slots.length
  turns.set(fleet, turn)
  return turn
}

/** Enrols the first owner, while the fleet is one process: each one that starts makes a setup link that replaces the last. */
export async function enrolFleetOwner(fleet: Fleet): Promise<FleetOwner> {
  const [, token] = await fleet.slots[0].process().line(/\/setup#([\w-]+)/)
  const cookies = new Map<string, string>()
  const browsers = new Map<string, HttpClient>()
  const call = (use: (browser: HttpClient) => Promise<Answer>): Promise<Answer> =>
    atLivingSlot(fleet, (slot) => {
      const browser = browsers.get(slot.url) ?? createHttpClient(slot.url, cookies)
      browsers.set(slot.url, browser)
      return use(browser)
    })
  const origin = { origin: fleet.origin }
  const post = (path: string, body: unknown) => call((browser) => browser.post(path, body, origin))
  const authenticator = createSoftAuthenticator()
  const person = { token, email: 'owner@example.com', name: 'Owner' }
  const { options } = expectStatus(await post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = authenticator.register(options, { origin: fleet.origin })
  const body = { token, passkey_name: 'laptop', credential }
  expectStatus(await post('/api/v1/enrollment/passkey', body), 201)
  return { authenticator, post, delete: (path) => call((browser) => browser.delete(path, origin)) }
}

/** Signs the owner in anew, over again while the process dies: a challenge can be answered once. */
export async function signInInChaos(fleet: Fleet, owner: FleetOwner): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const { options } = expectStatus(await owner.post('/api/v1/session/passkey/options', {}), 200)
    const credential = owner.authenticator.authenticate(options, { origin: fleet.origin })
    const answer = await owner.post('/api/v1/session/passkey', { credential })
    if (answer.status === 200) return
  }
  throw new Error('the owner cannot sign in')
}

/** A program with a new key of that owner's account. */
export async function addProgram(fleet: Fleet, owner: FleetOwner, sandbox: boolean): Promise<FleetProgram> {
  const made = expectStatus(await owner.post('/api/v1/account/api-keys', { name: 'program', sandbox }), 201)
  const clients = new Map<string, HttpClient>()
  const call = (use: (client: HttpClient) => Promise<Answer>): Promise<Answer> =>
    atLivingSlot(fleet, (slot) => {
      const client = clients.get(slot.url) ?? createHttpClient(slot.url)
      clients.set(slot.url, client)
      return use(client)
    })
  const bearer = { Authorization: `Bearer ${made.raw_key}` }
  const get = (path: string) => call((client) => client.get(path, { headers: bearer }))
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call((client) => client.post(path, body, { headers: { ...bearer, ...headers }, origin: null }))
  const shown = expectStatus(await get('/api/v1/account/webhook-secret'), 200)
  return { keyId: made.key.id, sandbox, secret: shown.webhook_signing_secret, get, post }
}

/** Approves or rejects a live request by passkey, over again until its state is final. */
export async function decideInChaos(
  fleet: Fleet,
  owner: FleetOwner,
  program: FleetProgram,
  id: string,
  decision: 'approved' | 'rejected',
): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const asked = await owner.post(`/api/v1/approvals/${id}/decision/options`, { decision })
    if (asked.status === 200) {
      const passkey = owner.authenticator.authenticate(asked.body.options, { origin: fleet.origin })
      await owner.post(`/api/v1/approvals/${id}/decision`, { decision, passkey })
    }
    const { status } = expectStatus(await program.get(`/api/v1/approvals/${id}`), 200)
    if (status !== 'pending') return
  }
  throw new Error(`${id} could not be decided`)
}
