import { expect, it, onTestFinished } from 'vitest'
import { auditGaps, chainFlaw } from '../support/chaos-audit.ts'
import {
  addProgram,
  decideInChaos,
  enrolFleetOwner,
  type FleetOwner,
  type FleetProgram,
} from '../support/chaos-clients.ts'
import { type Fleet, killSomebodyAt, useFleet } from '../support/chaos-fleet.ts'
import { readLedger, untilSettled, useDatabase } from '../support/chaos-ledger.ts'
import { createTurnstile, decideMany, type Load, type Turnstile } from '../support/chaos-load.ts'
import { badMood, seededRandom } from '../support/chaos-mood.ts'
import { KILL_POINTS, layAmbushes, SEND_POINTS } from '../support/chaos-points.ts'
import {
  countRepeats,
  doubleIdentities,
  lostCallbacks,
  lostNews,
  spoiltAttempts,
  unaccountedAttempts,
} from '../support/chaos-verdict.ts'
import { cli } from '../support/cli.ts'
import { expectStatus } from '../support/enrolled.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { size } from '../support/size.ts'

/** Webhooks of the account: path at the receiver, events. */
const WEBHOOKS = {
  '/rejections': ['approval.rejected'],
  '/some': ['approval.rejected', 'approval.expired', 'key.revoked', 'delivery.exhausted'],
}
const SEED = Number(process.env.CHAOS_SEED ?? 20261121)
/** At least; more where a point needs them, until a process comes to it. */
const DECISIONS = size(110, 2_000)
const POINTS = KILL_POINTS.length + SEND_POINTS.length
const SHARE = DECISIONS / POINTS
const LIVE = size(8, 24)
const PROGRAMS = size(10, 40)
const RANDOM_KILLS = size(4, 8)
const RECEIVER_DEATHS = 4
/** By then a process has come to a point, also on a busy machine. */
const POINT_MS = 120_000
/** How long the receiver stays dead. */
const DEAD_MS = 150

it(`T81, T82, T86: ${DECISIONS} decisions on four processes, killed at ${POINTS} points and at random, lose no callback, tell nothing under two ids and leave no gap in the audit trail`, async () => {
  const watch = stopwatch()
  const fleet = await useFleet({ CALLBACK_TIMEOUT_SECONDS: '1' })
  const owner = await enrolFleetOwner(fleet)
  await fleet.growTo(4)
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const programs = await Promise.all(Array.from({ length: PROGRAMS }, () => addProgram(fleet, owner, true)))
  const live = await addProgram(fleet, owner, false)
  for (const program of [...programs, live]) receiver.trust(`/callback/${program.keyId}`, program.secret)
  for (const [path, events] of Object.entries(WEBHOOKS)) {
    const wanted = { url: receiver.url(path), events }
    const { secret } = expectStatus(await owner.post('/api/v1/account/webhooks', wanted), 201)
    receiver.trust(path, secret)
  }
  const ambush = layAmbushes(fleet, receiver, badMood(SEED))
  const callbackUrl = ({ keyId }: FleetProgram): string => receiver.url(`/callback/${keyId}`)
  watch.lap('set up')

  const turnstile = createTurnstile()
  const progress = createProgress()
  const accident = scheduleAccidents(fleet, receiver)
  const onDecided = (count: number): void => {
    accident(count)
    progress.tell(count)
  }
  const load: Load = { programs, workers: 12, callbackUrl, turnstile, onDecided }
  const [ids] = await Promise.all([
    decideMany(load),
    decideLive(fleet, owner, live, callbackUrl(live), turnstile),
    killAtEveryPoint(fleet, turnstile, progress, ambush),
  ])
  watch.lap('decided')

  receiver.behave(() => ({ kind: 'answer', status: 200 }))
  const database = await useDatabase(fleet.storeUri)
  await untilSettled(database)
  watch.lap('settled')

  const ledger = await readLedger(database)
  const orphans = ledger.requests.filter(({ decision }) => decision === undefined)
  const { received } = receiver
  console.log({ seed: SEED, ...watch.laps, kills: fleet.kills(), orphans: orphans.length })
  console.log({
    deliveries: ledger.deliveries.length,
    arrivals: received.length,
    repeats: countRepeats(received),
    interrupted: ledger.deliveries.filter((d) => d.attempts.some((a) => a.outcome === 'interrupted')).length,
    dead: ledger.deliveries.filter(({ state }) => state === 'dead').length,
    trail: ledger.trail.length,
    peak: [...receiver.peak.values()],
  })
  expect(fleet.crashes).toEqual([])
  expect(fleet.kills()).toBeGreaterThanOrEqual(POINTS)
  expect(ids.length).toBeGreaterThanOrEqual(DECISIONS)
  expect(ledger.requests.length - orphans.length).toBe(ids.length + LIVE)
  expect(ids.filter((id) => orphans.some(({ _id }) => _id === id))).toEqual([])
  expect(lostCallbacks(ledger, received)).toEqual([])
  expect(lostNews(ledger, received)).toEqual([])
  expect(doubleIdentities(ledger, received)).toEqual([])
  expect(spoiltAttempts(ledger, received)).toEqual([])
  expect(unaccountedAttempts(ledger, received)).toEqual([])
  expect(auditGaps(ledger)).toEqual([])
  expect(chainFlaw(ledger)).toBe(undefined)
  const checked = await cli(['audit', 'check', '--json'], { env: fleet.env })
  expect({ code: checked.code, stderr: checked.stderr }).toEqual({ code: 0, stderr: '' })
})

/**
 * Kills the process that comes to each point first, point after point. The load keeps step: it goes on by a share for each
 * point, and by as much again for as long as no process comes by.
 */
async function killAtEveryPoint(
  fleet: Fleet,
  turnstile: Turnstile,
  progress: Progress,
  ambush: ReturnType<typeof layAmbushes>,
): Promise<void> {
  const points = [
    ...KILL_POINTS.map(({ name, trap }) => ({ name, kill: () => killSomebodyAt(fleet, trap, POINT_MS) })),
    ...SEND_POINTS.map(({ name, behaviour }) => ({ name, kill: () => ambush(behaviour) })),
  ]
  let limit = 0
  for (const { name, kill } of points) {
    let over = false
    const killed = kill()
      .catch((cause) => {
        throw new Error(`no process came to "${name}"`, { cause })
      })
      .finally(() => {
        over = true
      })
    while (!over) {
      limit += SHARE
      turnstile.raise(limit)
      await Promise.race([killed, progress.reached(limit)])
    }
    await killed
  }
  turnstile.close()
}

interface Progress {
  tell(count: number): void
  /** Resolves when so many are decided. */
  reached(count: number): Promise<void>
}

function createProgress(): Progress {
  const waiting = new Map<() => void, number>()
  let reached = 0
  const look = (): void => {
    for (const [go, count] of waiting) if (count <= reached && waiting.delete(go)) go()
  }
  return {
    tell(count) {
      reached = count
      look()
    },
    reached: (count) =>
      new Promise((go) => {
        waiting.set(go, Math.floor(count))
        look()
      }),
  }
}

/** At fixed counts of decisions, drawn from the seed: a process is killed wherever it is, the receiver dies for a moment. */
function scheduleAccidents(fleet: Fleet, receiver: Receiver): (count: number) => void {
  const random = seededRandom(SEED)
  const kills = new Map<number, number>()
  for (let index = 0; index < RANDOM_KILLS; index += 1)
    kills.set(Math.floor(((index + random()) * DECISIONS) / RANDOM_KILLS), Math.floor(random() * 4))
  const deaths = new Set<number>()
  for (let index = 0; index < RECEIVER_DEATHS; index += 1)
    deaths.add(Math.floor(((index + random()) * DECISIONS) / RECEIVER_DEATHS))
  return (count) => {
    const slot = kills.get(count)
    if (slot !== undefined) fleet.slots[slot]?.kill()
    if (deaths.has(count)) void receiver.die().then(() => setTimeout(() => void receiver.revive(), DEAD_MS))
  }
}

async function decideLive(
  fleet: Fleet,
  owner: FleetOwner,
  program: FleetProgram,
  callback_url: string,
  turnstile: Turnstile,
): Promise<void> {
  for (let n = 0; n < LIVE; n += 1) {
    await turnstile.pass(Math.floor((n * DECISIONS) / LIVE))
    const body = { action: `Live decision ${n}`, callback_url }
    const { id } = expectStatus(await program.post('/api/v1/approvals/request', body), 201)
    await decideInChaos(fleet, owner, program, id, n % 3 === 0 ? 'rejected' : 'approved')
  }
}

function stopwatch() {
  const laps: Record<string, number> = {}
  let last = Date.now()
  return {
    laps,
    lap(name: string) {
      laps[`${name}, s`] = (Date.now() - last) / 1000
      last = Date.now()
    },
  }
}
