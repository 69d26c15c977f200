import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectStatus } from '../../../test/support/enrolled.ts'
import { createHttpClient } from '../../../test/support/http-client.ts'
import { freePort } from '../../../test/support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../../../test/support/service-process.ts'
import { createSoftAuthenticator } from '../../../test/support/soft-authenticator.ts'

/** The service as a process, and its owner at a browser. */
export interface RealService {
  url: string
  /** Ends the process by that signal and starts it again on its store, at the same address. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** A new key of the owner's account. */
  newKey(sandbox?: boolean): Promise<string>
  decide(id: string, decision: 'approved' | 'rejected', comment?: string): Promise<void>
  /** Consents to the only bootstrap that waits, with the code that its caller shows. */
  giveKey(code: string): Promise<void>
  /** All requests of that key, newest first. */
  requestsOf(key: string): Promise<{ id: string; status: string; action: string }[]>
  close(): Promise<void>
}

export async function startRealService(): Promise<RealService> {
  const folder = await mkdtemp(join(tmpdir(), 'client-'))
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const env = { DATA_DIR: folder, PORT: port, BASE_URL: url, TRUST_PROXY: '1' }
  let service: ServiceProcess = await startServiceProcess(env)
  const [, token = ''] = await service.line(/\/setup#([\w-]+)/)
  const browser = createHttpClient(url)
  const { register, authenticate } = createSoftAuthenticator()
  const origin = { origin: url }
  const person = { token, email: 'owner@example.com', name: 'Owner' }
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = register(options, origin)
  const first = { token, passkey_name: 'laptop', credential }
  expectStatus(await browser.post('/api/v1/enrollment/passkey', first), 201)
  return {
    url,
    async restart(signal) {
      await service.end(signal)
      service = await startServiceProcess(env)
    },
    async newKey(sandbox = false) {
      const made = await browser.post('/api/v1/account/api-keys', { name: 'agent', sandbox })
      return expectStatus(made, 201).raw_key
    },
    async decide(id, decision, comment) {
      const path = `/api/v1/approvals/${id}/decision`
      const { options } = expectStatus(await browser.post(`${path}/options`, { decision }), 200)
      const passkey = authenticate(options, origin)
      expectStatus(await browser.post(path, { decision, comment, passkey }), 200)
    },
    async giveKey(code) {
      const said = { decision: 'approved', code }
      const { data } = expectStatus(await browser.get('/api/v1/account/bootstrap'), 200)
      const path = `/api/v1/account/bootstrap/${data[0].id}/decision`
      const { options } = expectStatus(await browser.post(`${path}/options`, said), 200)
      expectStatus(await browser.post(path, { ...said, passkey: authenticate(options, origin) }), 200)
    },
    async requestsOf(key) {
      const headers = { Authorization: `Bearer ${key}` }
      return expectStatus(await browser.get('/api/v1/approvals?limit=50', { headers }), 200).data
    },
    async close() {
      await service.end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
