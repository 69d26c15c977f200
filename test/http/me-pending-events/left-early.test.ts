import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newCaller, signIn } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/me/pending/events'
let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** A browser that leaves the page at once: the connection is gone before the session was looked up. */
async function comeAndGo(token: string): Promise<void> {
  const { port } = new URL(service.url)
  const head = `GET ${PATH} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), 'localhost', () => {
      socket.write(head, () => {
        socket.destroy()
        resolve()
      })
    })
    socket.on('error', () => resolve())
  })
}

it('T67: readers who are gone before their stream begins hold no slot', async () => {
  const caller = await newCaller(service)
  const token = await signIn(service, caller.user)
  const { sessions } = service.composition.deps
  const findLive = sessions.findLive.bind(sessions)
  let looked = 0
  // Looks as slow as a busy store: every client is gone by then.
  sessions.findLive = async (...args) => {
    const found = await findLive(...args)
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    looked += 1
    return found
  }
  for (let reader = 0; reader < 10; reader += 1) await comeAndGo(token)
  await expect.poll(() => looked).toBeGreaterThanOrEqual(10)
  sessions.findLive = findLive
  const open: Response[] = []
  for (let reader = 0; reader < 10; reader += 1)
    open.push(await fetch(`${service.url}${PATH}`, { headers: { Authorization: `Bearer ${token}` } }))
  expect(open.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
  await Promise.all(open.map(({ body }) => body?.cancel()))
})
