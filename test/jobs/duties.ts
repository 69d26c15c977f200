import { expect, vi } from 'vitest'
import type { AuditType } from '../../src/domain/audit.ts'
import { settleRequest } from '../../src/flow/requests/settle-request.ts'
import type { Receiver } from '../support/receiver.ts'
import { newRequester, type Worker } from '../support/worker.ts'

const EACH = 5

/** Duties of every kind that fall due in a while, as documents; nobody works yet. */
export interface Duties {
  /** When they are due, in ms of the local clock; deliveries are due at once and fail first. */
  due: number
  /** Waits until all are done, each once, until `lateMs` after `due`. @returns how many seconds after `due` that was */
  done(lateMs: number): Promise<number>
}

/** Writes duties into the worker's documents; `receiver` refuses the first attempt of each delivery. */
export async function leaveDuties(worker: Worker, receiver: Receiver, inMs: number): Promise<Duties> {
  receiver.behave(({ attempt }) => ({ kind: 'answer', status: attempt === 1 ? 500 : 200 }))
  const requester = await newRequester(worker)
  const sandbox = await newRequester(worker, true)
  const requests = worker.stored('requests')
  const set = (id: string, fields: Record<string, unknown>) =>
    requests.updateOne({ _id: id }, { $set: fields })
  const [lapsing, waiting]: [string[], string[]] = [[], []]
  for (let i = 0; i < EACH; i += 1) {
    lapsing.push(await requester.request())
    waiting.push(await requester.request())
    const id = await sandbox.request({ callback_url: receiver.url(`/duty/${i}`) })
    await set(id, { 'sandbox_plan.due_at': new Date(Date.now() - 1_000) })
    const made = await worker.deps.requests.find(id)
    if (made !== undefined) await settleRequest(worker.deps, made)
  }
  const due = Date.now() + inMs
  for (const id of lapsing) await set(id, { expires_at: new Date(due) })
  for (const id of waiting) await set(id, { remind_at: new Date(due) })
  return {
    due,
    async done(lateMs) {
      const timeout = due + lateMs - Date.now()
      await vi.waitFor(
        async () => {
          expect(await told(worker, lapsing, 'approval.expired')).toEqual(Array(EACH).fill(1))
          expect(await told(worker, waiting, 'approval.reminded')).toEqual(Array(EACH).fill(1))
          expect(receiver.received.filter(({ attempt }) => attempt === 2)).toHaveLength(EACH)
          const left = requests.find({ outbox_token: { $gt: '' } })
          expect(await left.toArray()).toEqual([])
        },
        { timeout, interval: 50 },
      )
      return (Date.now() - due) / 1000
    },
  }
}

/** How often the trail tells this of each of them. */
async function told(worker: Worker, ids: string[], type: AuditType): Promise<number[]> {
  const records = await worker.deps.trail.list({ type, limit: 1000 })
  return ids.map((id) => records.filter(({ entry }) => entry?.subject === id).length)
}
