import { expect, it, onTestFinished, vi } from 'vitest'
import { createOpenWork } from '../../adapters/shared/open-work.ts'

it('is settled when all that was begun has ended, also badly', async () => {
  const open = createOpenWork()
  await open.settled()
  let end: () => void = () => undefined
  open.add(
    new Promise<void>((resolve) => {
      end = resolve
    }),
  )
  open.add(Promise.reject(new Error('somebody else deals with it')))
  let settled = false
  const settling = open.settled().then(() => {
    settled = true
  })
  await Promise.resolve()
  expect(settled).toBe(false)
  end()
  await settling
})

it('holds up nobody longer than five seconds', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const open = createOpenWork()
  open.add(new Promise(() => undefined))
  let settled = false
  const settling = open.settled().then(() => {
    settled = true
  })
  await vi.advanceTimersByTimeAsync(4_999)
  expect(settled).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await settling
})
