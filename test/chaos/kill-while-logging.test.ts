import { expect, inject, it, onTestFinished } from 'vitest'
import { createAppender } from '../../src/flow/audit/append-to-trail.ts'
import { proveGrowth } from '../../src/flow/audit/read-log.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { hashOnNode } from '../../src/signing/digest.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { openCheckpoint } from '../../src/signing/log/checkpoint.ts'
import { consistencyHolds } from '../../src/signing/log/merkle.ts'
import { parseVkey } from '../../src/signing/log/note.ts'
import { parsePolicy } from '../../src/signing/log/policy.ts'
import { verifyBundle } from '../../src/signing/verify-bundle.ts'
import { entryNumber } from '../support/audit-entries.ts'
import { sets } from '../support/chaos-points.ts'
import { ask, decideByPasskey, setUpOwner } from '../support/live.ts'
import { restoreStore } from '../support/restored.ts'
import { freePort, TEST_SECRETS, useService } from '../support/service.ts'
import { type ServiceProcess, spawnService } from '../support/service-process.ts'
import { size } from '../support/size.ts'
import { startStoreProxy, type Trap } from '../support/store-proxy.ts'

const BEGINS = { command: 'insert', collection: 'log_head' }
const TILES = { command: 'update', collection: 'log_tiles' }
const MOVES = { command: 'update', collection: 'log_head', where: sets('size') }
/** Every write of the sequencer, in an order in which each comes; the second tiles are of a log that is more than one step behind. */
const POINTS = [
  { ...BEGINS, side: 'before' },
  { ...BEGINS, side: 'after' },
  { ...TILES, side: 'before' },
  { ...TILES, nth: 2, side: 'after' },
  { ...TILES, side: 'after' },
  { ...MOVES, side: 'before' },
  { ...MOVES, side: 'after' },
  { ...TILES, nth: 2, side: 'before' },
] satisfies Trap[]

const tells = (command: object) => JSON.stringify(command).includes('"type":"log.rollback_detected"')
/** The two writes that stop a log. */
const STOPS = [
  { command: 'insert', collection: 'audit_inbox', where: tells, side: 'after' },
  { command: 'update', collection: 'log_head', where: sets('rolled_back_at'), side: 'before' },
] satisfies Trap[]

/** By then a process has come to a point, also on a busy machine. */
const WAIT_MS = 120_000

/** More than are hashed in one step. */
const FAR_BEHIND = 300

it('kill -9 at each write of the sequencer leaves one history, which begins with every checkpoint that was ever signed', async () => {
  const service = await useService()
  const setting = await setUpOwner(service)
  const { deps, connection } = service.composition
  const database = connection.name
  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const shared = { ...TEST_SECRETS, BASE_URL: service.url, PORT: String(await freePort()) }
  const env = { ...shared, MONGODB_URI: proxy.uri(database) }
  const url = `http://localhost:${env.PORT}`
  const running: ServiceProcess[] = []
  onTestFinished(async () => void (await Promise.all(running.map((one) => one.end('SIGKILL')))))
  const start = () => {
    const started = spawnService(env)
    running.push(started)
    return started
  }

  /** Whatever a process signed, also if it died before the store had it. */
  const signed: { note: string; size: number; above: number }[] = []
  const collect = (command: Parameters<NonNullable<Trap['where']>>[0]): void => {
    for (const { q, u } of command.updates ?? [])
      if (u.$set?.note !== undefined) signed.push({ note: u.$set.note, size: u.$set.size, above: q.size })
  }
  proxy.watch('update', 'log_head', collect)
  const killAt = async (trap: Trap): Promise<void> => {
    const started = start()
    const where: Trap['where'] = (command) => {
      if (trap.collection === 'log_head' && trap.command === 'update') collect(command)
      return trap.where?.(command) ?? true
    }
    const killed = proxy.arm({ ...trap, where }, () => started.child.kill('SIGKILL')).then(() => 'killed')
    const ended = started.line(/^never said$/m, WAIT_MS).catch(() => 'ended')
    expect([await Promise.race([killed, ended]), trap]).toEqual(['killed', trap])
    await started.end('SIGKILL')
  }

  // A store from before there was a log.
  await Promise.all(['log_head', 'log_tiles'].map((name) => connection.collection(name).deleteMany({})))
  const decided: string[] = []
  const served: string[] = []
  let reached = 0
  let filler = 0
  for (const point of POINTS.filter((_, index) => index % size(3, 1) === 0)) {
    const id = await ask(setting)
    await decideByPasskey(setting, id, 'approved')
    decided.push(id)
    await createRelay(deps, NO_LOOPS).run()
    if (point.collection === 'log_tiles') {
      const more = 'nth' in point ? FAR_BEHIND : 1
      const entries = Array.from({ length: more }, (_, at) => entryNumber(filler + at + 1))
      await createAppender(deps)(entries)
      filler += more
    }
    await killAt(point)
    const head = (await deps.logs.current())?.size ?? 0
    expect(head).toBeGreaterThanOrEqual(reached)
    reached = head
    const shown = await fetch(`${service.url}/log/checkpoint`)
    if (shown.status === 200) served.push(await shown.text())
  }

  const last = start()
  await last.line(/Countersign is running/)
  const { vkey } = Object(await (await fetch(`${url}/.well-known/countersign-log`)).json())
  const key = await parseVkey(vkey)
  const trust = {
    keys: parseJwks(await (await fetch(`${url}/.well-known/jwks.json`)).json()),
    policy: await parsePolicy(`log ${vkey}\nquorum none\n`),
  }
  for (const id of decided) {
    const headers = { Authorization: `Bearer ${setting.key}` }
    const answer = await fetch(`${url}/api/v1/approvals/${id}/receipt?log=logged&timeout=25`, { headers })
    expect(answer.status).toBe(200)
    expect(await verifyBundle(await answer.text(), trust)).toMatchObject({ verdict: 'good' })
  }
  const final = await openCheckpoint(await (await fetch(`${url}/log/checkpoint`)).text(), key)
  expect(final.size).toBeGreaterThanOrEqual(reached)
  expect(signed.length).toBeGreaterThanOrEqual(size(1, 3))
  // Nothing below the head, and one text for a size, whoever signed it.
  for (const { size, above } of signed) expect(size).toBeGreaterThan(above)
  expect(new Set(signed.map(({ note }) => note)).size).toBe(new Set(signed.map(({ size }) => size)).size)
  for (const note of [...signed.map((one) => one.note), ...served]) {
    const older = await openCheckpoint(note, key)
    const growth = await proveGrowth(deps, older.size)
    const current = await openCheckpoint(growth?.checkpoint ?? '', key)
    expect(hashOnNode(consistencyHolds(older, current, growth?.path ?? []))).toBe(true)
  }

  // The store was put back: one entry says so, whichever of the two writes is the last of a process.
  if (size(0, 1) === 0) return
  await last.end('SIGKILL')
  await restoreStore(deps)
  for (const point of STOPS) await killAt(point)
  const stopped = start()
  await stopped.line(/log_rolled_back/)
  expect((await fetch(`${service.url}/log/checkpoint`)).status).toBe(503)
  const told = () => deps.trail.list({ type: 'log.rollback_detected', limit: 9 })
  await expect.poll(told).toHaveLength(1)
})
