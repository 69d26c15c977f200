import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import type { AuditRecord } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { createSequencer, ensureLog } from '../../../src/flow/audit/log.ts'
import { proveGrowth, proveRecord, readLogState } from '../../../src/flow/audit/read-log.ts'
import { renewLog } from '../../../src/flow/audit/renew-log.ts'
import type { FlowDeps } from '../../../src/flow/deps.ts'
import { eraseRecords } from '../../../src/flow/erase/erase-records.ts'
import { provable } from '../../../src/flow/requests/close-request.ts'
import { hashOnNode } from '../../../src/signing/digest.ts'
import { openCheckpoint } from '../../../src/signing/log/checkpoint.ts'
import { decisionSubject } from '../../../src/signing/log/leaves.ts'
import { consistencyHolds, hashOnWeb, inclusionHolds, leafHash } from '../../../src/signing/log/merkle.ts'
import { noteKey, parseVkey } from '../../../src/signing/log/note.ts'
import { createAuditTrail } from '../../../src/store/audit/audit-trail.ts'
import { createLogStore } from '../../../src/store/audit/log.ts'
import { chainOf, entryNumber } from '../../support/audit-entries.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { closeServer, listenLocally } from '../../support/local-server.ts'
import { described, hex, logNews, rootOf, tileOf, unbundle } from '../../support/logs.ts'
import { restoreStore } from '../../support/restored.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { useTrailStore } from '../../support/trail-store.ts'

/** Programs that read a whole log with libraries that others wrote, where .ci/run could install them. */
const JUDGES = [
  { libraries: 'golang.org/x/mod/sumdb and Tessera', program: process.env.LOG_JUDGE ?? '', args: [] },
  {
    libraries: 'tlog-scales',
    program: process.env.COUNTERSIGN_PYTHON ?? '',
    args: [packagePath('test/judges/log.py')],
  },
].filter(({ program }) => program !== '')
if (JUDGES.length < 2)
  console.warn('LOG_JUDGE or COUNTERSIGN_PYTHON is not set: judges of the log are skipped (.ci/run)')

let service: TestService
let setting: LiveSetting
let deps: FlowDeps
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  deps = service.composition.deps
})
afterAll(() => service.close())

const logAll = (at = service) => logNews(at)
const bytesOf = (path: string) => tileOf(service, path)
const get = (path: string, at = service) => fetch(`${at.url}${path}`)
const vkeyOf = async (at = service) => (await described(at)).vkey

describe('the log of a service', () => {
  it('has each decision, provable with the receipt alone, and keeps every proof when the person is erased', async () => {
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    const opened = await logAll()
    const { origin, size, root } = opened
    expect(origin).toMatch(/^localhost:\d+\/countersign\/[0-9a-f]{8}$/)
    expect(await readLogState(deps)).toMatchObject({ origin, size, behind: 0, rolled_back: false })

    const votes = provable((await deps.requests.find(id))?.votes ?? [])
    expect(votes).toMatchObject([{ passkey: { client_data: expect.any(String) } }])
    const subject = createHash('sha256').update(decisionSubject(votes)).digest()
    const [decided] = await deps.trail.list({ type: 'approval.approved', limit: 1 })
    const leaf = hashOnNode(
      leafHash(Buffer.concat([Buffer.from(decided?.content_sha256 ?? '', 'hex'), subject])),
    )
    const proven = await proveRecord(deps, decided?.seq ?? 0)
    if (proven === undefined) throw new Error('not logged')
    expect(await hashOnWeb(inclusionHolds(leaf, proven.index, { size, root }, proven.path))).toBe(true)

    const tiles = [
      await bytesOf(`/log/tile/0/000.p/${size}`),
      await bytesOf(`/log/tile/entries/000.p/${size}`),
    ]
    const entries = unbundle(tiles[1] ?? Buffer.alloc(0))
    expect([entries.length, rootOf(entries)]).toEqual([size, hex(root)])
    expect(Buffer.concat(entries.map((entry) => hashOnNode(leafHash(entry))))).toEqual(tiles[0])

    const user = await deps.users.find(setting.owner.userId)
    const whose = { id: user?.id ?? '', account_id: user?.account_id ?? '', chat: [], notified: [] }
    expect(await eraseRecords(deps, whose, { kind: 'cli' })).toBeGreaterThan(3)
    const after = await logAll()
    expect(after.size).toBeGreaterThan(size)
    expect(await bytesOf(`/log/tile/0/000.p/${size}`)).toEqual(tiles[0])
    expect(await bytesOf(`/log/tile/entries/000.p/${size}`)).toEqual(tiles[1])
    const again = await proveRecord(deps, decided?.seq ?? 0)
    expect(hashOnNode(inclusionHolds(leaf, again?.index ?? 0, after, again?.path ?? []))).toBe(true)
    const growth = await proveGrowth(deps, size)
    expect(hashOnNode(consistencyHolds({ size, root }, after, growth?.path ?? []))).toBe(true)
  })

  it.each([
    ['0/000', 404],
    ['0/000.p/255', 404],
    ['0/001.p/1', 404],
    ['entries/000.p/1', 200],
    ['0/000.p/1', 200],
    ['0/0', 404],
    ['0/000.p/%31', 404],
  ])('answers for the tile %s with %d', async (path, status) => {
    await logAll()
    const response = await fetch(`${service.url}/log/tile/${path}`)
    expect(response.status).toBe(status)
    if (status === 404) expect(await response.json()).toMatchObject({ error: 'not_found' })
  })

  it('keeps its entries to itself if the operator wants that, and before the first checkpoint has none', async () => {
    const own = await useService({ env: { LOG_ENTRIES: 'private' } })
    expect((await get('/log/checkpoint', own)).status).toBe(404)
    await logAll(own)
    expect((await get('/log/tile/entries/000.p/1', own)).status).toBe(404)
    expect((await get('/log/tile/0/000.p/1', own)).status).toBe(200)
  })
})

/** What the tests of other programs started. */
const started: { close(): Promise<void> }[] = []

describe.skipIf(JUDGES.length === 0)('the log before programs that others wrote', () => {
  let size = 0
  let cases: [given: object, verdict: RegExp | number][] = []
  beforeAll(async () => {
    const own = await startService()
    started.push(own)
    const older = await logAll(own)
    await createAppender(own.composition.deps)(Array.from({ length: 600 }, (_, at) => entryNumber(at + 1)))
    ;({ size } = await logAll(own))
    const log = { url: `${own.url}/log`, vkey: await vkeyOf(own), older: older.note }
    const mirror = async (path: string, spoil: (bytes: Buffer) => Buffer) => ({
      ...log,
      url: await startMirror(log.url, path, spoil),
    })
    // Its first entry is the checkpoint of the log before.
    const next = await renewed(own)
    const swapped = (tile: Buffer) =>
      Buffer.concat([tile.subarray(32, 64), tile.subarray(0, 32), tile.subarray(64)])
    cases = [
      [log, size],
      [next, next.size],
      [{ ...log, older: older.note.replace(/\n\d+\n/, `\n${older.size + 1}\n`) }, /invalid ?signature/i],
      [{ ...log, vkey: await vkeyOf() }, /no (verifiable )?signature/],
      [await mirror('/tile/0/001', swapped), /inconsistent tile|tile\/0\/001|InclusionProofInvalid/],
      [
        await mirror(`/tile/entries/002.p/${size - 512}`, (bundle) => bundle.fill(1, 2, 3)),
        /invalid transparency proof|tile\/0\/002|InclusionProofInvalid/,
      ],
      [
        await mirror('/tile/entries/000', (bundle) => Buffer.concat([bundle, Buffer.of(0)])),
        /cut short|dangling bytes|truncated/,
      ],
    ]
  })
  afterAll(() => Promise.all(started.map((one) => one.close())))

  it.each(JUDGES)(
    'holds before $libraries, as it was and as it grew, over full tiles and partial ones',
    async ({ program, args }) => {
      const answer = promisify(execFile)(program, args, { timeout: 60_000 })
      answer.child.stdin?.end(JSON.stringify(cases.map(([given]) => given)))
      const rulings: unknown[][] = JSON.parse((await answer).stdout)
      for (const [at, [, verdict]] of cases.entries()) {
        expect(rulings[at]?.length).toBeGreaterThan(0)
        for (const said of rulings[at] ?? [])
          if (typeof verdict === 'number') expect(said).toBe(verdict)
          else expect(said).toMatch(verdict)
      }
    },
  )
})

/** The log that goes on for one after a restore, once it has grown. */
async function renewed(own: TestService) {
  const { deps } = own.composition
  await restoreStore(deps)
  await renewLog(deps, { kind: 'cli' })
  const older = await logAll(own)
  await createAppender(deps)([entryNumber(601)])
  const { size } = await logAll(own)
  return { url: `${own.url}/log/2`, vkey: await vkeyOf(own), older: older.note, size }
}

/** A mirror of a log, with other bytes at one path. @returns its address */
async function startMirror(log: string, path: string, spoil: (bytes: Buffer) => Buffer): Promise<string> {
  const mirror = createServer(async ({ url = '' }, response) => {
    const answer = await fetch(log + url)
    const bytes = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status).end(url === path ? spoil(bytes) : bytes)
  })
  started.push({ close: () => closeServer(mirror) })
  return listenLocally(mirror)
}

describe('one history', () => {
  const TOTAL = 700
  const records = chainOf(Array.from({ length: TOTAL }, (_, at) => entryNumber(at + 1)))

  /** A log over a trail that has the first `length` records. */
  async function useLog() {
    const { connection } = await useTrailStore()
    const trail = { length: 0 }
    const scan = async (from: number, limit: number): Promise<AuditRecord[]> =>
      records.slice(from - 1, Math.min(trail.length, from - 1 + limit))
    const logs = createLogStore(connection)
    const own: FlowDeps = { ...deps, logs, trail: { ...createAuditTrail(connection), scan } }
    await ensureLog(own)
    const head = async () => (await logs.current()) ?? expect.unreachable()
    const key = await parseVkey(await vkeyOf())
    const name = (await head()).origin
    const verifier = await noteKey(name, 1, key.publicKey)
    return { own, trail, logs, head, open: async (note: string) => openCheckpoint(note, verifier) }
  }

  /** Lets the `nth` write fail, done or not, as one does whose process dies. */
  function dyingAt(logs: FlowDeps['logs'], nth: number, done: boolean): FlowDeps['logs'] {
    let at = 0
    const dies = async <T>(write: () => Promise<T>): Promise<T> => {
      at += 1
      if (at !== nth) return write()
      if (done) await write()
      throw new Error('killed')
    }
    return {
      ...logs,
      fill: (...call) => dies(() => logs.fill(...call)),
      advance: (...call) => dies(() => logs.advance(...call)),
    }
  }

  it('stands whatever write is the last of a process', async () => {
    const { own, trail, logs, head, open } = await useLog()
    const signed: string[] = []
    let deaths = 0
    // Sizes around the edges of tiles, each reached through every possible death on the way there.
    for (const size of [1, 255, 256, 257, 300, 511, 700]) {
      trail.length = size
      for (let nth = 1; (await head()).size < size; nth += 1)
        for (const done of [false, true]) {
          const run = createSequencer({ ...own, logs: dyingAt(logs, nth, done) }).run()
          deaths += await run.then(
            () => 0,
            () => 1,
          )
          const { note, size: reached } = await head()
          if (note !== undefined && reached > 0 && signed.at(-1) !== note) signed.push(note)
        }
    }
    expect(deaths).toBeGreaterThan(14)
    const last = await open(signed.at(-1) ?? '')
    expect([last.size, hex(last.root)]).toEqual([TOTAL, rootOfTrail()])
    expect(signed).toHaveLength(7)
    for (const note of signed.slice(0, -1)) {
      const older = await open(note)
      const growth = await proveGrowth(own, older.size)
      expect(hashOnNode(consistencyHolds(older, last, growth?.path ?? []))).toBe(true)
    }
  })

  it('stands when several processes log at once, and one of them late', async () => {
    const { own, trail, logs, head, open } = await useLog()
    const sequencers = Array.from({ length: 4 }, () => createSequencer(own))
    onTestFinished(() => {
      for (const one of sequencers) one.stop()
    })
    let late = async (): Promise<unknown> => undefined
    for (let size = 20; size <= TOTAL; size += 20) {
      trail.length = size
      // A process that stood still with its tiles in hand stores them, and moves its head, when all others are far ahead.
      if (size === 300) {
        const fill: FlowDeps['logs']['fill'] = async (...call) => {
          late = () => logs.fill(...call)
          throw new Error('stands still')
        }
        await createSequencer({ ...own, logs: { ...logs, fill } })
          .run()
          .catch(() => undefined)
      }
      // Each knows what it appended itself; between that are gaps.
      for (const [at, one] of sequencers.entries())
        one.wake(records.slice(size - 20 + at * 5, size - 18 + at * 5))
      await Promise.all(sequencers.map((one) => one.run()))
      expect((await head()).size).toBe(size)
    }
    await late()
    const before = await head()
    expect(
      await logs.advance({ ...before, size: 280 }, { size: 300, note: 'x', signed_at: new Date() }),
    ).toBe(false)
    const last = await open(before.note ?? '')
    expect([last.size, hex(last.root)]).toEqual([TOTAL, rootOfTrail()])
    // A process that begins now reads its tiles from the store.
    await expect(createSequencer(own).run()).resolves.toBeUndefined()
    const middle = await proveRecord(own, 290)
    const leaf = hashOnNode(leafHash(entryAt(289)))
    expect(hashOnNode(inclusionHolds(leaf, 289, last, middle?.path ?? []))).toBe(true)
  })

  it('does not read back what its own process appended', async () => {
    const { own, trail, logs, head, open } = await useLog()
    const sequencer = createSequencer(own)
    trail.length = 3
    await sequencer.run()
    const asked: number[] = []
    const scan: FlowDeps['trail']['scan'] = async (from) => {
      asked.push(from)
      return []
    }
    own.trail = { ...own.trail, scan }
    sequencer.wake(records.slice(3, TOTAL))
    await sequencer.run()
    sequencer.stop()
    const { note = '' } = await head()
    const last = await open(note)
    expect([asked, last.size, hex(last.root)]).toEqual([[], TOTAL, rootOfTrail()])
    expect((await logs.tiles(1, [{ level: 0, index: 2 }])).get('0/2')).toHaveLength(TOTAL - 512)
  })

  it('reads what another process appended in between', async () => {
    const { own, trail, head } = await useLog()
    const sequencer = createSequencer(own)
    trail.length = 3
    await sequencer.run()
    trail.length = TOTAL
    sequencer.wake([...records.slice(3, 7), ...records.slice(9, 12)])
    await sequencer.run()
    expect((await head()).size).toBe(TOTAL)
    sequencer.stop()
  })

  it('of a renewal is signed by its own key, also by a process that learns of it late', async () => {
    const { own, trail, logs } = await useLog()
    let reloads = 0
    const reload = async () => {
      reloads += 1
      return own.keys.ring()
    }
    const late = createSequencer({ ...own, keys: { ...own.keys, reload } })
    trail.length = 3
    await late.run()
    const next = { number: 2, origin: 'approve.example/countersign/1/log/2', follows: 'a checkpoint' }
    await logs.begin({ ...next, restores: 0, size: 0 })
    await createSequencer({ ...own, keys: { ...own.keys, reload: async () => own.keys.ring() } }).run()
    expect((await logs.current())?.size).toBe(4)
    trail.length = 5
    await late.run()
    expect([(await logs.current())?.size, reloads]).toEqual([6, 1])
  })

  it('is not built on tiles that were changed, nor over a gap', async () => {
    const { own, trail, logs, head } = await useLog()
    trail.length = 10
    await createSequencer(own).run()
    const { size } = await head()
    const gap = { ...own, trail: { ...own.trail, scan: async () => records.slice(11, 12) } }
    await expect(createSequencer(gap).run()).rejects.toThrow('no record 11 that can be logged')
    const others = async () => new Map([['0/0', Array.from({ length: 10 }, () => new Uint8Array(32))]])
    trail.length = 11
    const changed = { ...own, logs: { ...logs, tiles: others } }
    await expect(createSequencer(changed).run()).rejects.toThrow('do not have the root')
    expect((await head()).size).toBe(size)
  })

  function entryAt(index: number): Buffer {
    const { content_sha256 = '', salt = '' } = records[index] ?? {}
    const none = createHash('sha256').update('none').update(Buffer.from(salt, 'hex')).digest()
    return Buffer.concat([Buffer.from(content_sha256, 'hex'), none])
  }

  function rootOfTrail(): string {
    return rootOf(records.map((_, at) => entryAt(at)))
  }
})
