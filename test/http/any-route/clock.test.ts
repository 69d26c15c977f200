import { describe, expect, it, onTestFinished } from 'vitest'
import { createStoreClock } from '../../../src/store/clock.ts'
import { alter, makeDue, newCaller, send, stored } from '../../support/caller.ts'
import { useService } from '../../support/service.ts'

const HOUR = 3_600_000
/** Far less than what the clock is wrong by, and more than a slow machine takes. */
const MINUTE = 60_000

describe('T75: the clock of the machine is wrong', () => {
  it.each([
    ['an hour ahead', HOUR],
    ['an hour behind', -HOUR],
  ])('%s: all times follow the database', async (_what, offset) => {
    const service = await useService({ localTime: () => Date.now() + offset })
    const caller = await newCaller(service)
    const { body } = await caller.create({ action: 'x', ttl_seconds: 60 })
    expect(Math.abs(Date.parse(String(body.created_at)) - Date.now())).toBeLessThan(MINUTE)
    expect(Math.abs(Date.parse(String(body.expires_at)) - Date.now() - 60_000)).toBeLessThan(MINUTE)
    expect(
      service.logged.filter(({ level, fields }) => level === 'warn' && 'offset_ms' in fields),
    ).toHaveLength(1)
  })

  it.each([
    ['an hour ahead', HOUR],
    ['an hour behind', -HOUR],
  ])('%s: nothing is decided after the expiry, nothing is lost before', async (_what, offset) => {
    const service = await useService({ localTime: () => Date.now() + offset })
    const caller = await newCaller(service, { sandbox: true })
    const late = await caller.createdId()
    await makeDue(service, late)
    await alter(service, 'requests', late, { expires_at: new Date(Date.now() - 1_000) })
    expect((await caller.read(late)).body.status).toBe('expired')
    const inTime = await caller.createdId()
    await makeDue(service, inTime)
    await alter(service, 'requests', inTime, { expires_at: new Date(Date.now() + MINUTE) })
    const { body } = await caller.read(inTime)
    expect(body.status).toBe('approved')
    const verdict = (await send(service, `/api/v1/approvals/${inTime}/verify`)).body
    expect(verdict.valid).toBe(true)
    const payload = Object(verdict.payload)
    expect(Math.abs(payload.ts * 1000 - Date.now())).toBeLessThan(MINUTE)
    expect(payload.ts).toBeLessThanOrEqual(payload.exp)
    expect(Math.abs(Date.parse(String(verdict.verified_at)) - Date.now())).toBeLessThan(MINUTE)
  })

  it('a store that stands still for 20 s moves the clock by nothing, until it is that slow for good', async () => {
    const { connection } = (await useService()).composition
    let stall = 0
    // Far less than a half of 20 s, and more than a half of what a slow machine needs for an answer.
    const near = 4_000
    // The time between a question and its answer.
    const local = (): number => Date.now() - (stall > 0 ? 20_000 * stall-- : 0)
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const clock = await createStoreClock(connection, log, local)
    onTestFinished(() => clock.stop())
    for (let sample = 1; sample < 10; sample += 1) {
      stall = 1
      await clock.refresh()
      expect(Math.abs(clock.now().getTime() - Date.now()), `sample ${sample}`).toBeLessThan(near)
    }
    stall = 1
    await clock.refresh()
    expect(clock.now().getTime() - Date.now()).toBeGreaterThan(10_000 - near)
    await clock.refresh()
    expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(near)
  })

  it.each([
    ['on by 400 days', 400 * 24 * HOUR],
    ['back by a minute', -MINUTE],
  ])('a clock that is set %s while the service runs is not believed for a moment', async (_what, step) => {
    const { connection } = (await useService()).composition
    let set = 0
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const clock = await createStoreClock(
      connection,
      log,
      () => Date.now() + set,
      () => performance.now(),
    )
    onTestFinished(() => clock.stop())
    const error = () => Math.abs(clock.now().getTime() - Date.now())
    expect(error()).toBeLessThan(MINUTE / 2)
    set = step
    for (let look = 0; look < 3; look += 1) {
      expect(error()).toBeLessThan(MINUTE / 2)
      await clock.refresh()
    }
    set = 0
    await clock.refresh()
    expect(error()).toBeLessThan(MINUTE / 2)
  })

  it('a machine that slept is right with the first answer of the database, however slow that is', async () => {
    const { connection } = (await useService()).composition
    let [passed, slept] = [0, 0]
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const steady = () => performance.now() + passed - slept
    const clock = await createStoreClock(connection, log, () => Date.now() + passed, steady)
    onTestFinished(() => clock.stop())
    const error = () => Math.abs(clock.now().getTime() - Date.now())
    expect(error()).toBeLessThan(MINUTE)
    slept = 8 * HOUR
    expect(error()).toBeGreaterThan(HOUR)
    // The answer to the question that this look asked takes two seconds.
    passed = 2_000
    await expect.poll(error).toBeLessThan(MINUTE)
  })

  it('the store itself refuses a vote after the expiry, whatever the process believes', async () => {
    const service = await useService()
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    const { requests } = service.composition.deps
    await alter(service, 'requests', id, { expires_at: new Date(Date.now() - 1_000) })
    const document = Object(await stored(service, 'requests').findOne({ _id: id }))
    const vote = {
      decision_id: 'dec_00000000000000000000000000',
      user_id: caller.user.id,
      on_behalf_of: caller.user.id,
      approver: caller.user.approver,
      decision: 'approved' as const,
      method: 'sandbox' as const,
      at: new Date(),
      comment: null,
      intent_json: '{}',
      evidence: { type: 'sandbox' as const },
    }
    const change = { status: 'approved' as const, vote, events: [], audit: [] }
    expect(await requests.recordSandboxDecision(id, document.version, change)).toBeUndefined()
    expect(await requests.recordVote(id, document.version, change)).toBeUndefined()
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({
      status: 'pending',
      votes: [],
    })
  })

  it('reminders count the minute by the database too', async () => {
    const service = await useService({ localTime: () => Date.now() - HOUR })
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const remind = () => caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    const { body } = await remind()
    expect(Math.abs(Date.parse(String(body.reminded_at)) - Date.now())).toBeLessThan(MINUTE)
    expect((await remind()).status).toBe(429)
    // The last one was before the clock was set back, or more than a minute ago.
    for (const other of [new Date(Date.now() + HOUR), new Date(Date.now() - 61_000)]) {
      await alter(service, 'requests', id, { reminded_at: other, caller_reminded_at: other })
      expect((await remind()).status).toBe(200)
    }
  })
})
