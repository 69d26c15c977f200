import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DurableFile } from '../src/engine/durable-file.ts'
import { opMsg, RawClient } from './raw-client.ts'
import { spawnStore } from './store-child.ts'
import { openStore, temporaryDirectory } from './support.ts'

let dataDir: string
beforeEach(() => {
  dataDir = temporaryDirectory()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

describe('a disk that fails', () => {
  it('is reported to every writer, and what was not made durable is not shown', async () => {
    let broken: Error | undefined
    const openFile = (path: string) => new FailingFile(path, () => broken)
    const store = await openStore(dataDir, { keep: true, openFile })
    const items = store.db.collection<{ _id: number }>('items')
    await items.insertOne({ _id: 1 })
    broken = new Error('disk gone')
    const results = await Promise.allSettled([items.insertOne({ _id: 2 }), items.insertOne({ _id: 3 })])
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: {
          code: 1,
          codeName: 'InternalError',
          errmsg: 'the write could not be made durable: disk gone',
        },
      })
    }
    // What only reads is not refused, and sees nothing of a write beside it that was undone.
    const [write, found, count] = await Promise.allSettled([
      items.insertOne({ _id: 4 }),
      items.find().toArray(),
      items.countDocuments(),
    ])
    expect(write.status).toBe('rejected')
    expect([found, count]).toMatchObject([{ value: [{ _id: 1 }] }, { value: 1 }])
    // Nor is a new connection, which a driver opens whenever two of its calls meet.
    const [writer, caller] = await Promise.all([0, 1].map(() => RawClient.open(store.server.socketPath)))
    for (let round = 0; round < 10; round += 1) {
      writer?.send(opMsg({ insert: 'items', documents: [{ _id: 5 }], $db: 'test' }))
      caller?.send(opMsg({ hello: 1, $db: 'admin' }))
      expect(await Promise.all([writer?.reply(), caller?.reply()])).toMatchObject([{ ok: 0 }, { ok: 1 }])
    }
    for (const client of [writer, caller]) client?.close()
    broken = undefined
    expect(await items.find().toArray()).toEqual([{ _id: 1 }])
    await items.insertOne({ _id: 2 })
    expect(await items.countDocuments()).toBe(2)
    await store.close()
  })

  it.each([
    [
      'SQLITE_FULL',
      14031,
      'OutOfDiskSpace',
      /^the disk of the store file \/.*store\.db is full \(.*; \d+ KiB free\)/,
    ],
    ['SQLITE_READONLY', 39, 'FileStreamFailed', /^the store file \/.*store\.db cannot be written/],
    [
      'SQLITE_IOERR_FSYNC',
      39,
      'FileStreamFailed',
      /^the store file \/.*store\.db cannot be used .*\d+ KiB free/,
    ],
  ])(
    '%s is told with path and room, also to who asks whether it answers, until it is over',
    async (sqlite, code, codeName, errmsg) => {
      let broken: Error | undefined = Object.assign(new Error('that is how it is'), { code: sqlite })
      const openFile = (path: string) => new FailingFile(path, () => broken)
      const store = await openStore(dataDir, { keep: true, openFile })
      const items = store.db.collection<{ _id: number }>('items')
      await store.db.command({ ping: 1 })
      const told = { code, codeName, errmsg: expect.stringMatching(errmsg) }
      await expect(items.insertOne({ _id: 1 })).rejects.toMatchObject(told)
      await expect(store.db.command({ ping: 1 })).rejects.toMatchObject(told)
      expect(await items.find().toArray()).toEqual([])
      broken = undefined
      await store.db.command({ ping: 1 })
      await items.insertOne({ _id: 1 })
      await store.close()
    },
  )

  it('that cannot even be read refuses everything, and is served again when that is over', async () => {
    let broken: Error | undefined
    const openFile = (path: string) => new FailingFile(path, () => broken)
    const store = await openStore(dataDir, { keep: true, openFile })
    const items = store.db.collection<{ _id: number }>('items')
    await items.insertOne({ _id: 1 })
    broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' })
    Object.assign(store.server.engine.file, {
      collections: () => {
        throw broken
      },
    })
    await expect(items.insertOne({ _id: 2 })).rejects.toMatchObject({ code: 39 })
    await expect(items.find().toArray()).rejects.toMatchObject({ code: 39 })
    broken = undefined
    Reflect.deleteProperty(store.server.engine.file, 'collections')
    expect(await items.find().toArray()).toEqual([{ _id: 1 }])
    await items.insertOne({ _id: 2 })
    await store.close()
  })

  it('a file that cannot grow: what was acknowledged stays, and writing goes on when there is room again', async () => {
    const child = await spawnStore(dataDir, { blocks: 3000 })
    const client = new MongoClient(child.said.uri ?? '')
    try {
      const items = client.db('a').collection<{ _id: number; text: string }>('b')
      const acknowledged: number[] = []
      const text = 'x'.repeat(40_000)
      const fill = async () => {
        for (let _id = 0; _id < 1000; _id += 1) {
          await items.insertOne({ _id, text })
          acknowledged.push(_id)
        }
      }
      const told = { code: 39, errmsg: expect.stringContaining(join(dataDir, 'store.db')) }
      await expect(fill()).rejects.toMatchObject(told)
      await expect(client.db('a').command({ ping: 1 })).rejects.toMatchObject(told)
      const found = async () => (await items.find().project({ _id: 1 }).toArray()).map(({ _id }) => _id)
      expect(await found()).toEqual(acknowledged)
      execFileSync('prlimit', ['--pid', String(child.process.pid), '--fsize=unlimited:'])
      await client.db('a').command({ ping: 1 })
      await items.insertOne({ _id: -1, text })
      expect(await found()).toEqual([...acknowledged, -1])
    } finally {
      await client.close()
    }
    expect(await child.end('SIGTERM')).toBe(0)
  })

  it('a start without room for a byte: it ends, and leaves nothing behind', async () => {
    const first = await spawnStore(dataDir)
    const client = new MongoClient(first.said.uri ?? '')
    await client.db('a').collection('b').insertOne({})
    await client.close()
    await first.end('SIGKILL')
    const files = readdirSync(dataDir).sort()
    expect(files).toContain('store.db-wal')
    const second = await spawnStore(dataDir, { blocks: 0 })
    expect(second.said.error).toMatch(/EFBIG/)
    expect(await second.ended()).toBe(3)
    expect(readdirSync(dataDir).sort()).toEqual(files.filter((name) => name !== 'store.lock'))
  })
})

/** A file whose commits fail when told to. */
class FailingFile extends DurableFile {
  readonly #failure: () => Error | undefined

  constructor(path: string, failure: () => Error | undefined) {
    super(path)
    this.#failure = failure
  }

  override commit(): void {
    const failure = this.#failure()
    if (failure !== undefined) throw failure
    super.commit()
  }
}
