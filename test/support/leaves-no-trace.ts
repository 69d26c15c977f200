import fc from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'

/** Test files share a process: what one leaves behind would be another's red run. */
function state() {
  return {
    environment: { ...process.env },
    folder: process.cwd(),
    exitCode: process.exitCode,
    fakeTimers: vi.isFakeTimers(),
    properties: fc.readConfigureGlobal(),
    uncaught: process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection'),
  }
}

let before: ReturnType<typeof state> | undefined

beforeAll(() => {
  before = state()
})

afterAll(() => {
  expect(state(), 'the test file changed the state of the process').toEqual(before)
})
