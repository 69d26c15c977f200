import { expect, it, onTestFinished } from 'vitest'
import { cli, startCli, useDataDir } from '../support/cli.ts'
import { patienceFor } from '../support/patience.ts'
import { startReceiver } from '../support/receiver.ts'
import { freePort } from '../support/service.ts'
import { startStopwatch } from '../support/stopwatch.ts'

/** A service process with a sandbox key; each decision it makes by itself calls back, for so many seconds at most. */
async function useProcess(timeout: number) {
  const { env: folder } = await useDataDir()
  await cli(['user', 'invite', 'ada@example.com', '--json'], { env: folder })
  const made = await cli(
    ['key', 'create', '--owner', 'ada@example.com', '--name', 'k', '--sandbox', '--json'],
    {
      env: folder,
    },
  )
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const callbacks = { CALLBACK_ALLOW_PRIVATE: '1', CALLBACK_TIMEOUT_SECONDS: String(timeout) }
  const env = { ...folder, PORT: port, BASE_URL: url, ...callbacks }
  const headers = { authorization: `Bearer ${made.json().raw_key}`, 'content-type': 'application/json' }
  return {
    async start() {
      const service = startCli(['serve', '--json'], { env })
      await service.line(/Countersign is running/)
      return service
    },
    async create(body: object): Promise<string> {
      const json = JSON.stringify({ action: 'Deploy', ...body })
      const answer = await fetch(`${url}/api/v1/approvals/request`, { method: 'POST', headers, body: json })
      return String(Object(await answer.json()).request_id)
    },
    async get(path: string) {
      const answer = await fetch(`${url}/api/v1/approvals/${path}`, { headers })
      return { status: answer.status, body: await answer.json() }
    },
  }
}

it('on SIGTERM answers who waits, finishes the attempt under way, and does not repeat it after a new start', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  let letGo: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  receiver.behave(async () => {
    await held
    return { kind: 'answer', status: 200 }
  })
  const service = await useProcess(30)
  const first = await service.start()
  const waited = await service.create({ sandbox_auto_decide_seconds: 60 })
  const waiting = service.get(`${waited}/wait?timeout=60`)
  const decided = await service.create({ sandbox_auto_decide_seconds: 1, callback_url: receiver.url('/one') })
  expect((await service.get(`${decided}/wait?timeout=20`)).body).toMatchObject({ status: 'approved' })
  await receiver.until('the attempt is under way', () => receiver.received.length === 1)

  const ended = first.stop('SIGTERM')
  expect(await waiting).toMatchObject({ status: 200, body: { status: 'pending' } })
  expect(receiver.received[0]?.answered).toBe(false)
  letGo()
  expect(await ended).toBe(0)
  expect(receiver.received).toMatchObject([{ path: '/one', answered: true }])

  await service.start()
  const next = await service.create({ sandbox_auto_decide_seconds: 1, callback_url: receiver.url('/two') })
  await service.get(`${next}/wait?timeout=20`)
  await receiver.until('the next callback', () => receiver.received.some(({ path }) => path === '/two'))
  expect(receiver.received.map(({ path }) => path)).toEqual(['/one', '/two'])
})

it('ends in time when the receiver never answers, and sends again after a new start under the same id', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.behave(({ attempt }) => (attempt === 1 ? { kind: 'stall' } : { kind: 'answer', status: 200 }))
  const service = await useProcess(3)
  const first = await service.start()
  const decided = await service.create({ sandbox_auto_decide_seconds: 1, callback_url: receiver.url('/one') })
  await service.get(`${decided}/wait?timeout=20`)
  await receiver.until('the attempt is under way', () => receiver.received.length === 1)
  const stop = startStopwatch()
  expect(await first.stop('SIGTERM')).toBe(0)
  expect(stop()).toBeLessThan(20_000)
  await service.start()
  // After the lease that the first process left behind, or the delivery sweep of every 10 s.
  await receiver.until('the second attempt', () => receiver.received.length === 2, patienceFor(30_000))
  expect(new Set(receiver.received.map(({ eventId }) => eventId)).size).toBe(1)
})
