import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type EmbeddedStore, findRunningStore, StoreLockedError, startEmbeddedStore } from 'embedded-mongo'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyStore } from '../src/copy-store.ts'
import { storeFiles } from '../src/data-directory.ts'
import { keepHouse } from '../src/engine/housekeeping.ts'
import { Seal } from '../src/engine/seal.ts'
import { finish } from '../src/engine/slice.ts'
import { spawnStore } from './store-child.ts'
import { openStore, temporaryDirectory } from './support.ts'

let dataDir: string
const open: EmbeddedStore[] = []

beforeEach(() => {
  dataDir = temporaryDirectory()
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
  rmSync(dataDir, { recursive: true, force: true })
})

async function start(directory = dataDir): Promise<EmbeddedStore> {
  const store = await startEmbeddedStore({ dataDir: directory })
  open.push(store)
  return store
}

async function withClient<T>(uri: string, work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

function foreignDirectory(path: string): void {
  mkdirSync(path)
  chownSync(path, 65_534, 65_534)
}

async function lockedBy(starting: Promise<unknown>): Promise<StoreLockedError> {
  const error: unknown = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof StoreLockedError) return error
  throw new Error(`expected StoreLockedError, got ${String(error)}`)
}

describe('a store in a worker thread', () => {
  it('serves, closes, and has everything after a restart: documents, indexes, order', async () => {
    const first = await start()
    await withClient(first.uri, async (client) => {
      const items = client.db('app').collection('items')
      await items.createIndex(
        { code: 1 },
        { unique: true, partialFilterExpression: { code: { $exists: true } } },
      )
      await items.createIndex({ at: 1 }, { expireAfterSeconds: 3600 })
      await items.insertMany(Array.from({ length: 500 }, (_, i) => ({ n: i, code: `c${i}` })))
      await items.updateMany({ n: { $lt: 10 } }, { $set: { seen: true } })
      await items.deleteMany({ n: { $gte: 400 } })
      await client.db('gone').collection('x').insertOne({ a: 1 })
      await client.db('gone').dropDatabase()
    })
    await first.close()
    expect(existsSync(first.socketPath)).toBe(false)
    const second = await start()
    await withClient(second.uri, async (client) => {
      const items = client.db('app').collection('items')
      const found = await items.find().toArray()
      expect(found.map((item) => item.n)).toEqual(Array.from({ length: 400 }, (_, i) => i))
      expect(await items.countDocuments({ seen: true })).toBe(10)
      expect((await items.indexes()).map(({ name }) => name)).toEqual(['_id_', 'code_1', 'at_1'])
      expect((await items.indexes())[2]).toEqual({
        v: 2,
        key: { at: 1 },
        name: 'at_1',
        expireAfterSeconds: 3600,
      })
      await expect(items.insertOne({ code: 'c7' })).rejects.toMatchObject({ code: 11000 })
      expect(await client.db('gone').collection('x').countDocuments()).toBe(0)
    })
  })

  it('has its socket where only its user can reach it, mode 0600 in a directory of 0700', async () => {
    const store = await start()
    expect(statSync(store.socketPath).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(store.socketPath)).mode & 0o777).toBe(0o700)
    expect(statSync(join(dataDir, 'store.db')).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'store.lock')).mode & 0o777).toBe(0o600)
    expect(store.uri).toBe(
      `mongodb://${encodeURIComponent(join(dataDir, 'run/store.sock'))}/?directConnection=true&retryWrites=false`,
    )
  })

  it('closes a directory for its socket that was there before, open to everyone', async () => {
    mkdirSync(join(dataDir, 'run'), { recursive: true })
    chmodSync(join(dataDir, 'run'), 0o777)
    await start()
    expect(statSync(join(dataDir, 'run')).mode & 0o777).toBe(0o700)
  })

  const foreign =
    process.geteuid?.() === 0 ? [{ what: 'the directory of another user', make: foreignDirectory }] : []
  it.each([
    { what: 'a link', make: (path: string) => symlinkSync(temporaryDirectory(), path) },
    { what: 'a file', make: (path: string) => writeFileSync(path, '') },
    ...foreign,
  ])('does not start where its socket would lie in $what', async ({ make }) => {
    mkdirSync(dataDir, { recursive: true })
    make(join(dataDir, 'run'))
    await expect(start()).rejects.toThrow(/run is not a directory of the user/)
  })

  it('makes its data directory with mode 0700', async () => {
    const fresh = join(dataDir, 'made/by/store')
    await start(fresh)
    expect(statSync(fresh).mode & 0o777).toBe(0o700)
  })

  it('listens in a short private directory when the data directory has a long path, and removes it', async () => {
    const long = join(dataDir, 'd'.repeat(90))
    mkdirSync(long)
    const store = await start(long)
    expect(Buffer.byteLength(store.socketPath)).toBeLessThan(100)
    expect(statSync(dirname(store.socketPath)).mode & 0o777).toBe(0o700)
    expect(statSync(store.socketPath).mode & 0o777).toBe(0o600)
    expect(await findRunningStore(long)).toEqual({ uri: store.uri, pid: process.pid })
    await withClient(store.uri, (client) => client.db('a').command({ ping: 1 }))
    await store.close()
    expect(existsSync(dirname(store.socketPath))).toBe(false)
  })

  it('closes twice without complaint, and while clients are connected', async () => {
    const store = await start()
    const client = new MongoClient(store.uri)
    await client.db('a').collection('b').insertOne({ c: 1 })
    await Promise.all([store.close(), store.close()])
    await client.close()
    expect(await findRunningStore(dataDir)).toBeUndefined()
  })

  it('refuses a file that is not a store, and leaves it as it was', async () => {
    writeFileSync(join(dataDir, 'store.db'), 'this is a diary\n'.repeat(100))
    await expect(startEmbeddedStore({ dataDir })).rejects.toThrow(/not a database/)
    expect(statSync(join(dataDir, 'store.db')).size).toBe(1600)
  })
})

describe('the lock', () => {
  it('keeps a second store of the same process out, and says who holds it', async () => {
    const store = await start()
    const error = await lockedBy(startEmbeddedStore({ dataDir }))
    expect(error).toMatchObject({ code: 'STORE_LOCKED', pid: process.pid, socketPath: store.socketPath })
    expect(error.message).toBe(
      `the data directory ${dataDir} is held by the store of process ${process.pid}: stop it, or use another directory`,
    )
    await withClient(store.uri, (client) => client.db('a').command({ ping: 1 }))
    // The failed attempt must not have cost the holder its lock either.
    const other = await spawnStore(dataDir)
    expect(other.said).toMatchObject({ code: 'STORE_LOCKED', pid: process.pid })
    expect(await other.ended()).toBe(3)
  })

  it('keeps another process out while the holder lives, and lets it in once the holder was killed', async () => {
    const holder = await spawnStore(dataDir)
    const pid = holder.process.pid
    const error = await lockedBy(startEmbeddedStore({ dataDir }))
    expect(error).toMatchObject({ pid, socketPath: holder.said.socketPath })
    const other = await spawnStore(dataDir)
    expect(other.said).toMatchObject({ code: 'STORE_LOCKED', pid })
    expect(await other.ended()).toBe(3)
    await holder.end('SIGKILL')
    const store = await start()
    await withClient(store.uri, (client) => client.db('a').command({ ping: 1 }))
    expect(await findRunningStore(dataDir)).toEqual({ uri: store.uri, pid: process.pid })
  })

  it('is not fooled by the note of a store that was killed', async () => {
    const killed = await spawnStore(dataDir)
    expect(await findRunningStore(dataDir)).toEqual({ uri: killed.said.uri, pid: killed.process.pid })
    await killed.end('SIGKILL')
    expect(existsSync(join(dataDir, 'store.lock'))).toBe(true)
    expect(await findRunningStore(dataDir)).toBeUndefined()
  })
})

describe('a store process', () => {
  it('ends with 0 on SIGTERM with everything on disk, and serves several clients meanwhile', async () => {
    const child = await spawnStore(dataDir)
    const clients = [0, 1].map(() => new MongoClient(child.said.uri ?? ''))
    await Promise.all(
      clients.map((client, i) => client.db('a').collection<{ _id: number }>('b').insertOne({ _id: i })),
    )
    const exit = once(child.process, 'exit')
    child.process.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    await Promise.all(clients.map((client) => client.close()))
    const again = await openStore(dataDir, { keep: true })
    expect(await again.client.db('a').collection('b').countDocuments()).toBe(2)
    await again.close()
  })
})

describe('a copy', () => {
  it('of a store that is written to holds what was acknowledged before, and no write without those before it', async () => {
    const child = await spawnStore(dataDir)
    const client = new MongoClient(child.said.uri ?? '')
    const items = client.db('test').collection<{ _id: number; text: string }>('items')
    const text = 'x'.repeat(4000)
    let acknowledged = 0
    let enough = false
    const writing = (async () => {
      for (; !enough; acknowledged += 50)
        await items.insertMany(Array.from({ length: 50 }, (_, n) => ({ _id: acknowledged + n, text })))
    })()
    const to = temporaryDirectory()
    // Some 2000 pages are a checkpoint.
    for (const least of [50, 2500, 5000]) {
      await expect.poll(() => acknowledged).toBeGreaterThanOrEqual(least)
      const before = acknowledged
      const copy = join(to, String(least))
      await copyStore(dataDir, copy)
      const store = await openStore(copy, { keep: true })
      const ids = (await store.db.collection<{ _id: number }>('items').find().sort({ _id: 1 }).toArray()).map(
        ({ _id }) => _id,
      )
      await store.close()
      expect(ids.length).toBeGreaterThanOrEqual(before)
      expect(ids).toEqual(ids.map((_, n) => n))
      expect(statSync(join(copy, 'store.db')).mode & 0o077).toBe(0)
    }
    enough = true
    await writing
    await client.close()
    await child.end('SIGTERM')
    rmSync(to, { recursive: true })
  })

  it('is not taken for one while it is not whole', async () => {
    await (await start()).close()
    // Who copies it waits until something is written to it.
    execFileSync('mkfifo', [join(dataDir, 'late')])
    const copy = join(dataDir, 'copy')
    const copying = copyStore(dataDir, copy, { beside: ['late'] })
    await expect.poll(() => existsSync(join(copy, 'store.db-part'))).toBe(true)
    await expect(start(copy)).rejects.toThrow('store.db-part shows that there was one')
    await (await openFile(join(dataDir, 'late'), 'w')).close()
    await copying
    await start(copy)
  })

  it('is not laid over anything, and there is none of nothing', async () => {
    await (await start()).close()
    const nothing = join(dataDir, 'nothing')
    await expect(copyStore(nothing, join(dataDir, 'copy'))).rejects.toThrow(`there is no store in ${nothing}`)
    await expect(copyStore(dataDir, dataDir)).rejects.toThrow(`${dataDir} is not empty; name a new directory`)
  })
})

it('a store process whose file the disk has changed ends, and does not start again', async () => {
  // Longer than a page, which is read only with its own document.
  const text = `${'x'.repeat(8_000)}account 4711${'x'.repeat(8_000)}`
  const first = await spawnStore(dataDir)
  await withClient(String(first.said.uri), (client) => client.db('a').collection('b').insertOne({ text }))
  expect(await first.end('SIGTERM')).toBe(0)

  const second = await spawnStore(dataDir)
  const { database } = storeFiles(dataDir)
  const file = openSync(database, 'r+')
  writeSync(file, 'B', readFileSync(database).indexOf('account 4711'))
  closeSync(file)
  await withClient(String(second.said.uri), async (client) => {
    await expect(client.db('a').collection('b').findOne()).rejects.toMatchObject({ code: 366 })
  })
  expect(await second.ended()).toBe(3)
  const third = await spawnStore(dataDir)
  expect(third.said.error).toMatch(/store\.db is damaged: 1 of 1 documents of a\.b\. Stop the store/)
  expect(await third.ended()).toBe(3)
})

describe('a file that grew past one GiB', () => {
  it('is no damaged one after a kill or a close: SQLite never writes the page of its locks, which lies there', async () => {
    await (await start()).close()
    growTo(storeFiles(dataDir).database, 2 ** 30)
    const child = await spawnStore(dataDir)
    const big = (_id: number) => ({ _id, text: 'x'.repeat(100_000) })
    await withClient(String(child.said.uri), (client) =>
      client.db('a').collection<{ _id: number }>('b').insertOne(big(1)),
    )
    await child.end('SIGKILL')
    for (const count of [1, 2]) {
      const store = await start()
      await withClient(store.uri, async (client) => {
        const documents = client.db('a').collection<{ _id: number }>('b')
        expect(await documents.countDocuments()).toBe(count)
        await documents.insertOne(big(count + 1))
      })
      await store.close()
    }
    expect(statSync(storeFiles(dataDir).database).size).toBeGreaterThan(2 ** 30)
  })
})

/** As if pages had been written up to there: what comes next is stored behind them. Holes take no room. */
function growTo(database: string, bytes: number): void {
  const pageBytes = 8192
  const pages = Buffer.alloc(4)
  pages.writeUInt32BE(bytes / pageBytes)
  const file = openSync(database, 'r+')
  writeSync(file, pages, 0, 4, 28)
  ftruncateSync(file, bytes)
  closeSync(file)
  Seal.make(database, pageBytes).close()
}

describe('what was dropped', () => {
  it('leaves the file, index entries too, and the room is given back', async () => {
    const store = await openStore(dataDir, { keep: true })
    const { engine } = store.server
    const items = store.db.collection('items')
    await items.createIndex({ n: 1 })
    await items.insertMany(Array.from({ length: 6000 }, (_, n) => ({ n, text: 'x'.repeat(1000) })))
    const { all } = engine.file.pages()
    await items.drop()
    await expect.poll(() => engine.file.garbage()).toEqual([])
    finish(keepHouse(engine, new Date()))
    expect(engine.file.pages().all).toBeLessThan(all / 2)
    await items.insertOne({ n: 1 })
    expect(await items.countDocuments()).toBe(1)
    await store.close()
  })
})

describe('a defect of the store', () => {
  it('is answered without details, and what it left half done is not kept', async () => {
    const store = await openStore(dataDir, { keep: true })
    const items = store.db.collection<{ _id: number }>('items')
    await items.insertMany([{ _id: 1 }, { _id: 2 }])
    const { engine } = store.server
    const collection = engine.collection('test.items')
    const { file } = engine
    // The document is in the collection, but in no index: just the kind of state to be rid of.
    Object.assign(file, {
      insertEntries: () => {
        throw new TypeError('secret detail')
      },
    })
    await expect(items.insertOne({ _id: 3 })).rejects.toMatchObject({
      code: 1,
      codeName: 'InternalError',
      errmsg: 'internal error (TypeError)',
    })
    Reflect.deleteProperty(file, 'insertEntries')
    expect(engine.collection('test.items')).not.toBe(collection)
    await items.insertOne({ _id: 4 })
    expect((await items.find().toArray()).map(({ _id }) => _id)).toEqual([1, 2, 4])
    await store.close()
  })
})
