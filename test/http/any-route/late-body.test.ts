import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createTimelyServer } from '../../../src/serve.ts'
import { alter, newCaller, send, signIn } from '../../support/caller.ts'
import { closeServer, listenLocally } from '../../support/local-server.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Sends the head of a POST now, and the body when told to. @returns what sends the body and gives the answer */
function begin(path: string, token: string, json: object): () => Promise<[number, string]> {
  const body = JSON.stringify(json)
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  }
  const late = request(`${service.url}${path}`, { method: 'POST', headers })
  late.flushHeaders()
  const answered = new Promise<[number, string]>((resolve, reject) => {
    late.on('error', reject)
    late.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve([response.statusCode ?? 0, JSON.parse(text).error]))
    })
  })
  return () => {
    late.end(body)
    return answered
  }
}

/** Resolves when the next look-up of this kind was answered: whoever sent the head has been let in then. */
function nextLookUp<Name extends string>(
  store: Record<Name, (...about: never[]) => Promise<unknown>>,
  name: Name,
): Promise<void> {
  const lookUp = store[name]
  return new Promise((resolve) => {
    store[name] = async (...about) => {
      store[name] = lookUp
      const found = await lookUp(...about)
      resolve()
      return found
    }
  })
}

describe('a body that comes long after its head', () => {
  it('T23: does nothing for a session that has ended in between', async () => {
    const user = await addPerson(service, 'late@example.com')
    const token = await signIn(service, user)
    const { sessions, apiKeys } = service.composition.deps
    const letIn = nextLookUp(sessions, 'findLive')
    const finish = begin('/api/v1/account/api-keys', token, { name: 'late' })
    await letIn
    expect((await send(service, '/api/v1/session', { method: 'DELETE', token })).status).toBe(200)
    expect(await finish()).toEqual([401, 'not_signed_in'])
    expect(await apiKeys.list(user.account_id)).toEqual([])
  })

  it('T34: makes no key after the factor of the last proof was taken away in between', async () => {
    const user = await addPerson(service, 'copied@example.com')
    const token = await signIn(service, user)
    const letIn = nextLookUp(service.composition.deps.users, 'find')
    const finish = begin('/api/v1/account/api-keys', token, { name: 'late' })
    await letIn
    await alter(service, 'users', user.id, { 'totp.disabled_at': new Date() })
    expect(await finish()).toEqual([403, 'proof_required'])
  })

  it('T54: does nothing for an API key that was revoked in between', async () => {
    const caller = await newCaller(service)
    const owner = await signIn(service, caller.user)
    const letIn = nextLookUp(service.composition.deps.apiKeys, 'findActiveByHash')
    const finish = begin('/api/v1/approvals/request', caller.token, { action: 'late' })
    await letIn
    const path = `/api/v1/account/api-keys/${caller.keyId}`
    expect((await send(service, path, { method: 'DELETE', token: owner })).status).toBe(200)
    expect(await finish()).toEqual([401, 'invalid or missing API key'])
  })
})

describe('a client that is slow', () => {
  const slow = ['POST / HTTP/1.1', 'Host: localhost', 'Content-Length: 5', '', ''].join('\r\n')
  it.each([
    ['its head', slow.slice(0, 30)],
    ['its body', `${slow}12`],
  ])('T68: is cut off on time while it holds back %s', async (_what, sent) => {
    const timeouts = { headersTimeout: 200, requestTimeout: 200 }
    const server = createTimelyServer((request) => void request.resume(), 90_000, timeouts)
    const { port } = new URL(await listenLocally(server))
    onTestFinished(() => closeServer(server))
    const client = connect(Number(port), '127.0.0.1', () => client.write(sent))
    const began = performance.now()
    const [answer] = await once(client, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    // A second between two looks, and a busy machine; Node.js alone looks every 30 s.
    expect(performance.now() - began).toBeLessThan(10_000)
    client.destroy()
  })
})

describe('an idle connection', () => {
  it.each([
    ['90 s, longer than proxies keep one, if nothing is set', {}, 90],
    ['as long as KEEP_ALIVE_SECONDS says', { KEEP_ALIVE_SECONDS: '620' }, 620],
  ])('stays open %s', async (_how, env: Record<string, string>, seconds) => {
    const { url } = await useService({ env })
    const { headers } = await fetch(`${url}/healthz`)
    expect(headers.get('keep-alive')).toBe(`timeout=${seconds}`)
  })
})
