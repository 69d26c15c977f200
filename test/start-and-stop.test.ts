import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Server } from 'node:http'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { useWorker } from './jobs/worker.ts'
import { freePort, startService, useService } from './support/service.ts'

/** Whether somebody listens on that port of 127.0.0.1. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1')
    probe.once('connect', () => resolve(true))
    probe.once('error', () => resolve(false))
    probe.once('close', () => probe.destroy())
  })
}

const LISTENING = 'tracing:net.server.listen:asyncEnd'

it('does not go on listening when it fails to start after it began to', async () => {
  const port = await freePort()
  let listened = false
  const note = (message: unknown): void => {
    if (Object(message).server instanceof Server) listened = true
  }
  subscribe(LISTENING, note)
  onTestFinished(() => void unsubscribe(LISTENING, note))
  const localTime = (): number => {
    if (listened) throw new Error('no time')
    return Date.now()
  }
  const env = { PORT: String(port), BASE_URL: `http://localhost:${port}`, HOST: '127.0.0.1' }
  await expect(useService({ env, localTime })).rejects.toThrow('no time')
  expect(listened).toBe(true)
  expect(await answers(port)).toBe(false)
})

it('lets go of the store also when something else cannot be closed, and tells what', async () => {
  const worker = await useWorker()
  const service = await startService({ database: worker.database })
  const { deps, connection } = service.composition
  deps.sender.close = () => {
    throw new Error('the sender does not close')
  }
  await expect(service.close()).rejects.toThrow('the sender does not close')
  expect(connection.readyState).toBe(0)
})
