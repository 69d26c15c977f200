import { expect, it, onTestFinished } from 'vitest'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { approve, BATCH } from '../support/batches.ts'
import { addProgram, enrolFleetOwner, type FleetOwner } from '../support/chaos-clients.ts'
import { type Fleet, useFleet } from '../support/chaos-fleet.ts'
import { didSomething, sets } from '../support/chaos-points.ts'
import { expectStatus } from '../support/enrolled.ts'

const ITEMS = 6
/** Which write of the batch is the last one the process comes to, and whether the store still does it. */
const POINTS = [
  { nth: 1, side: 'before', written: 0 },
  { nth: 1, side: 'after', written: 1 },
  { nth: 4, side: 'before', written: 3 },
  { nth: 4, side: 'after', written: 4 },
  { nth: 6, side: 'after', written: 6 },
] as const

async function proveBatch(fleet: Fleet, owner: FleetOwner, ids: string[]) {
  const asked = await owner.post(`${BATCH}/options`, { items: approve(...ids) })
  const { batch_id, options } = expectStatus(asked, 200)
  return { batch_id, passkey: owner.authenticator.authenticate(options, { origin: fleet.origin }) }
}

it('kill -9 in the middle of a batch leaves whole decisions and pending requests, high impact first, and nothing in between', async () => {
  const fleet = await useFleet()
  const [slot] = fleet.slots
  const owner = await enrolFleetOwner(fleet)
  const program = await addProgram(fleet, owner, false)
  for (const { nth, side, written } of POINTS) {
    const ids: string[] = []
    for (let n = 0; n < ITEMS; n += 1) {
      const body = { action: `Item ${n}`, requires_individual_decision: n >= ITEMS - 2 }
      ids.push(expectStatus(await program.post('/api/v1/approvals/request', body), 201).id)
    }
    const proven = await proveBatch(fleet, owner, ids)
    const trap = { command: 'findAndModify', collection: 'requests', where: sets('decision'), nth, side }
    const killed = slot.killAt({ ...trap, ...(side === 'after' ? { answer: didSomething } : {}) })
    // The call dies with the process and is made again, as by a careless client: the batch is used up.
    const repeated = await owner.post(BATCH, proven)
    expect(await killed).toBe(true)
    expect([repeated.status, repeated.body.error]).toEqual([400, 'challenge_invalid'])

    const inWritingOrder = [...ids.slice(-2), ...ids.slice(0, -2)]
    const keys = parseJwks(await (await fetch(`${slot.url}/.well-known/jwks.json`)).json())
    for (const [index, id] of inWritingOrder.entries()) {
      const read = expectStatus(await program.get(`/api/v1/approvals/${id}`), 200)
      expect(read.status, `${nth} ${side}: ${index}`).toBe(index < written ? 'approved' : 'pending')
      if (read.status === 'pending') expect(read).not.toHaveProperty('decision')
      else expect(verifyReceiptJson({ decision: read.decision }, keys)).toMatchObject({ valid: true })
    }
    const left = inWritingOrder.slice(written)
    if (left.length === 0) continue
    const { data } = expectStatus(await owner.post(BATCH, await proveBatch(fleet, owner, left)), 200)
    expect(data.map(({ status }: { status: string }) => status)).toEqual(left.map(() => 'approved'))
  }
  expect(fleet.crashes).toEqual([])
})

it('kill -9 between the inserts of one call: its repeat makes those that are missing, and all share one card', async () => {
  const fleet = await useFleet()
  const [slot] = fleet.slots
  const owner = await enrolFleetOwner(fleet)
  const program = await addProgram(fleet, owner, false)
  const store = await connectStore(fleet.storeUri)
  onTestFinished(() => store.close())
  for (const { nth, side } of [
    { nth: 1, side: 'after' },
    { nth: 2, side: 'before' },
    { nth: 2, side: 'after' },
  ] as const) {
    const killed = slot.killAt({ command: 'insert', collection: 'requests', nth, side })
    const requests = Array.from({ length: ITEMS }, (_, n) => ({ action: `Item ${n}` }))
    const key = { 'Idempotency-Key': `${nth}-${side}` }
    const made = expectStatus(await program.post('/api/v1/approvals/requests', { requests }, key), 201)
    expect(await killed).toBe(true)
    const ids: string[] = made.data.map(({ id }: { id: string }) => id)
    const rows = store.collection<{ _id: string; batch?: { id: string; place: number } }>('requests')
    const batch = (await rows.findOne({ _id: ids[0] ?? '' }))?.batch?.id
    expect(batch).toMatch(/^bat_/)
    const members = await rows
      .find({ 'batch.id': batch ?? '' })
      .sort({ 'batch.place': 1 })
      .toArray()
    expect(
      members.map(({ _id }) => _id),
      `${nth} ${side}`,
    ).toEqual(ids)
  }
  expect(fleet.crashes).toEqual([])
})
