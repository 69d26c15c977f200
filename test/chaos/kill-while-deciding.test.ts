import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { expectStatus } from '../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { freePort } from '../support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { size } from '../support/size.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'

const ROUNDS = size(6, 12)

let dataDir: string
let url: string
let service: ServiceProcess
let browser: HttpClient
let key: string
const authenticator = createSoftAuthenticator()

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-kill-'))
  const port = await freePort()
  url = `http://localhost:${port}`
  await start()
  const [, token] = await service.line(/\/setup#([\w-]+)/)
  browser = createHttpClient(url)
  const person = { token, email: 'owner@example.com', name: 'Owner' }
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = authenticator.register(options, { origin: url })
  expectStatus(
    await browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'laptop', credential }),
    201,
  )
  key = expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'killer' }), 201).raw_key
})

afterAll(async () => {
  await service.end('SIGTERM')
  await rm(dataDir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  service = await startServiceProcess({ DATA_DIR: dataDir, PORT: new URL(url).port })
}

async function call(path: string, body?: object) {
  const program = createHttpClient(url)
  const options = { headers: { Authorization: `Bearer ${key}` } }
  const address = `/api/v1/approvals${path}`
  return (await (body === undefined ? program.get(address, options) : program.post(address, body, options)))
    .body
}

describe('kill -9 while a decision is posted', () => {
  it(`leaves state and receipt agreeing in each of ${ROUNDS} rounds, and an answered decision is never lost`, async () => {
    const seen = { decided: 0, pending: 0, answered: 0 }
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id } = await call('/request', {
        action: `Round ${round}`,
        callback_url: 'https://receiver.example/hook',
      })
      const decision = round % 3 === 0 ? 'rejected' : 'approved'
      const { options } = expectStatus(
        await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision }),
        200,
      )
      const passkey = authenticator.authenticate(options, { origin: url })
      const posted = browser
        .post(`/api/v1/approvals/${id}/decision`, { decision, passkey })
        .catch(() => undefined)
      // The moment of the kill is the subject here: from at once to well after the usual answer.
      await pause(round * 2)
      await service.end('SIGKILL')
      const answer = await posted
      await start()
      const request = await call(`/${id}`)
      const online = await (await fetch(`${url}/api/v1/approvals/${id}/verify`)).json()
      if (answer?.status === 200) {
        seen.answered += 1
        expect(request.decision).toEqual(answer.body.decision)
      }
      if (request.status === 'pending') {
        seen.pending += 1
        expect(online).toMatchObject({ valid: false, status: 'pending' })
      } else {
        seen.decided += 1
        expect(request).toMatchObject({ status: decision, decision: { decision } })
        expect(online).toMatchObject({ valid: true, decision, signature: request.decision.signature })
        const keys = parseJwks(await (await fetch(`${url}/.well-known/jwks.json`)).json())
        expect(verifyReceiptJson({ decision: request.decision }, keys)).toMatchObject({ valid: true })
      }
    }
    expect(seen.decided + seen.pending).toBe(ROUNDS)
    expect(seen.decided).toBeGreaterThanOrEqual(seen.answered)
  })
})
