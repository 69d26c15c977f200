import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { alter, newCaller, stored } from '../support/caller.ts'
import { decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'

const PAGE = readFileSync(packagePath('docs/api.md'), 'utf8')
const COMMAND = /^```sh\n(node .*examples\/agent\.ts)\n```$/m.exec(PAGE)?.[1] ?? ''

let service: TestService
let setting: LiveSetting

beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

/** Runs the agent by the documents' command until it ends. */
function pay(INVOICE: string, changes: Record<string, string> = {}) {
  const env = { PATH: process.env.PATH, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: setting.key, INVOICE }
  return new Promise<{ paid: string; failed: string }>((resolve) => {
    const options = { cwd: packagePath('.'), env: { ...env, ...changes } }
    execFile('bash', ['--norc', '-euc', COMMAND], options, (_, paid, failed) => resolve({ paid, failed }))
  })
}

/** The requests for that invoice, as the store has them. */
function asked(invoice: string) {
  return stored(service, 'requests')
    .find({ action: `Pay invoice ${invoice}` })
    .toArray()
}

async function decide(invoice: string, decision: 'approved' | 'rejected') {
  await expect.poll(async () => (await asked(invoice)).length).toBe(1)
  const [request] = await asked(invoice)
  expect((await decideByPasskey(setting, String(request?._id), decision)).status).toBe(200)
}

/** Passes calls on and loses the first answer to each path, once the service has done what it was asked. @param lose says what is answered instead */
async function losingFront(lose = (response: ServerResponse): void => void response.destroy()) {
  const lost: string[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const body = await buffer(request)
    const { authorization = '', 'idempotency-key': key } = headers
    const answer = await fetch(`${service.url}${url}`, {
      method,
      headers: {
        Authorization: authorization,
        ...(key !== undefined && { 'Content-Type': 'application/json', 'Idempotency-Key': String(key) }),
      },
      ...(method === 'POST' && { body }),
    })
    const text = await answer.text()
    if (lost.includes(url)) return void response.writeHead(answer.status).end(text)
    lost.push(url)
    lose(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, lost, close: () => server.close() }
}

/** It says so only where the decision takes longer than its calls. */
function withoutWord(failed: string): string {
  return failed.replace(/^INV-\d waits for a person: .*\n/m, '')
}

describe('the agent in the documents', () => {
  it('is the file in examples/', () => {
    const shown = /<!-- generated:agent.ts -->\n```ts\n([\s\S]*?)```/.exec(PAGE)?.[1]
    expect(shown).toBe(readFileSync(packagePath('examples/agent.ts'), 'utf8'))
  })

  it('asks and pays once, although every first answer is lost', async () => {
    const front = await losingFront()
    const run = pay('INV-1', { COUNTERSIGN_URL: `${front.url}/` })
    await decide('INV-1', 'approved')
    const { paid, failed } = await run
    front.close()
    expect(paid).toBe('pay INV-1: EUR 1834.15\n')
    expect(withoutWord(failed)).toBe('INV-1 waits 1 s: no answer\n'.repeat(front.lost.length))
    expect(front.lost.map((url) => url.replace(/req_\w+/, ':id'))).toEqual([
      '/api/v1/approvals/request',
      '/api/v1/approvals/:id/wait?timeout=25',
      '/api/v1/approvals/:id/consume',
    ])
    expect(await asked('INV-1')).toMatchObject([{ status: 'approved' }])

    const again = await pay('INV-1')
    expect(again).toEqual({
      paid: '',
      failed: expect.stringMatching(
        /INV-1 is not paid by this run: Used: .* used before, so it may have been done\..*\n$/,
      ),
    })
    expect(await asked('INV-1')).toHaveLength(1)
  })

  it('says why it waits, and how many seconds, when it comes too often', async () => {
    const busy = '{"error":"rate limit exceeded","message":"Too many requests","retry_after":2}'
    const front = await losingFront((response) => response.writeHead(429, { 'retry-after': '2' }).end(busy))
    const run = pay('INV-5', { COUNTERSIGN_URL: front.url })
    await decide('INV-5', 'rejected')
    const { failed } = await run
    front.close()
    expect(withoutWord(failed)).toEqual(
      expect.stringMatching(
        new RegExp(
          `^(INV-5 waits 2 s: 429 rate limit exceeded\n){${front.lost.length}}INV-5 is not paid by this run: Rejected: `,
        ),
      ),
    )
  })

  it('does not wait for another month: it says that the quota is used up', async () => {
    const caller = await newCaller(service)
    await alter(service, 'accounts', caller.user.account_id, { monthly_quota: 1 })
    await caller.createdId()
    const { failed } = await pay('INV-6', { COUNTERSIGN_KEY: caller.token })
    expect(failed).toMatch(
      /^INV-6 is not paid by this run: Refused: .*Wait for the next month.* \(quota_exceeded\)\./,
    )
  })

  it('does not pay what was rejected, in no later run either', async () => {
    const run = pay('Nº 2/ä')
    await decide('Nº 2/ä', 'rejected')
    for (const { paid, failed } of [await run, await pay('Nº 2/ä')]) {
      expect(paid).toBe('')
      expect(failed).toContain('Nº 2/ä is not paid by this run: Rejected: ')
    }
  })

  it('does not pay with a sandbox key, nor with none', async () => {
    const { token } = await newCaller(service, { sandbox: true })
    const dry = await pay('INV-3', { COUNTERSIGN_KEY: token })
    expect(dry).toEqual({
      paid: '',
      failed: expect.stringContaining('INV-3 is not paid by this run: Sandbox: '),
    })
    const none = await pay('INV-4', { COUNTERSIGN_KEY: '' })
    expect(none).toEqual({ paid: '', failed: expect.stringContaining('the client needs') })
    expect(none.failed.trim().split('\n')).toHaveLength(1)
  })
})
