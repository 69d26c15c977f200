import { expect, it } from 'vitest'
import { createRecorder } from '../../../src/flow/relay/recorder.ts'
import type { OutboxEntry, OutboxSource } from '../../../src/ports/ports.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { random, useTrailStore } from '../../support/trail-store.ts'

function sourceOf(settled: string[]): OutboxSource {
  return {
    name: 'requests',
    read: () => expect.unreachable(),
    due: async () => [],
    settle: async (entries) => void settled.push(...entries.map(({ id }) => id)),
  }
}

const entry = (n: number): OutboxEntry => ({ id: `req_${n}`, token: '', events: [], audit: [entryNumber(n)] })

it('records what was added in one insert, and looks again for what the trail did not take', async () => {
  const [trail] = (await useTrailStore()).trails
  const settled: string[] = []
  const source = sourceOf(settled)
  const left: OutboxSource[] = []
  let inserts = 0
  const insert: typeof trail.insert = (records) => {
    inserts += 1
    return inserts === 1 ? Promise.reject(new Error('full')) : trail.insert(records)
  }
  const recorder = createRecorder(
    { trail: { ...trail, insert }, random },
    (one) => left.push(one),
    () => undefined,
  )
  recorder.add(source, [entry(1)])
  await expect(recorder.flush()).rejects.toThrow('full')
  expect([left, settled]).toEqual([[source], []])
  recorder.add(source, [entry(1)])
  const soon = recorder.soon()
  recorder.add(source, [entry(2)])
  await Promise.all([soon, recorder.soon()])
  expect([inserts, settled]).toEqual([2, ['req_1', 'req_2']])
  expect(await trail.scan(1, 9)).toHaveLength(2)
})
