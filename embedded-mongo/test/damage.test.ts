import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { serialize } from 'bson'
import fc from 'fast-check'
import Database from 'libsql'
import type { Document } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeBson } from '../src/bson-reader.ts'
import { SlicedCommandService } from '../src/command-service.ts'
import { DurableFile } from '../src/engine/durable-file.ts'
import { StoreFileError } from '../src/engine/file-errors.ts'
import { sweepExpired } from '../src/engine/housekeeping.ts'
import { OpenFile } from '../src/engine/open-file.ts'
import { finish } from '../src/engine/slice.ts'
import { StoreEngine } from '../src/engine/store-engine.ts'
import { serveStore } from '../src/store-server.ts'
import { openStore, refusal, type TestStore, temporaryDirectory } from './support.ts'

interface Item {
  _id: number
  owner: string
  text: string
}

let dataDir: string

beforeEach(async () => {
  dataDir = temporaryDirectory()
  const store = await openStore(dataDir, { keep: true })
  const items = store.db.collection<Item>('items')
  await items.createIndex({ owner: 1 })
  await items.insertMany([1, 2, 3].map((_id) => ({ _id, owner: `owner${_id}`, text: `amount: 12${_id}.00` })))
  await store.close()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function file(): string {
  return join(dataDir, 'store.db')
}

/** Changes the file behind the store's back, as a disk that spoils it after the start: without a seal only its own rules are checked. */
function alter(...statements: string[]): void {
  rmSync(join(dataDir, 'store.seal'))
  const db = new Database(file())
  for (const statement of statements) db.exec(statement)
  db.close()
}

async function reopened(look: (store: TestStore) => Promise<void>): Promise<void> {
  const store = await openStore(dataDir, { keep: true })
  try {
    await look(store)
  } finally {
    await store.close()
  }
}

/** @returns since when everything has */
async function letExpire(): Promise<Date> {
  const at = new Date(0)
  await reopened(async ({ db }) => {
    await db.collection('items').updateMany({}, { $set: { at } })
    await db.collection('items').createIndex({ at: 1 }, { expireAfterSeconds: 0 })
  })
  return at
}

/** Every document through `ask`, or the code of the refusal. */
function asked(store: TestStore, filter: Document, hint?: string): Promise<unknown> {
  const cursor = store.db.collection('items').find(filter, hint === undefined ? {} : { hint })
  return cursor.toArray().catch((error: { code: number; errmsg: string }) => error)
}

const refused = {
  code: 366,
  codeName: 'DataCorruptionDetected',
  errmsg: expect.stringContaining('store.db is damaged: '),
}
/** The second document: the rows of a collection lie behind one another. */
const SECOND = 'id = (SELECT id FROM documents ORDER BY id LIMIT 1 OFFSET 1)'

describe('what is not as it was written', () => {
  it('in a text of a document is refused wherever it would be read, and the others are served', async () => {
    alter(
      `UPDATE documents SET body = CAST(replace(CAST(body AS TEXT), '122.00', '922.00') AS BLOB) WHERE ${SECOND}`,
    )
    await reopened(async (store) => {
      for (const filter of [{}, { _id: 2 }, { owner: 'owner2' }, { text: /9/ }]) {
        expect(await asked(store, filter)).toMatchObject(refused)
      }
      const change = store.db.collection<Item>('items').updateOne({ _id: 2 }, { $set: { owner: 'me' } })
      expect(await refusal(change)).toMatchObject({ code: 366 })
      expect(await asked(store, { _id: 1 })).toMatchObject([{ text: 'amount: 121.00' }])
      expect(await asked(store, { owner: 'owner3' })).toMatchObject([{ _id: 3 }])
    })
  })

  it('is named, and left out for who asks for partial results; what has expired beside it is removed', async () => {
    const at = await letExpire()
    alter(`UPDATE documents SET sum = ~sum WHERE ${SECOND}`)
    await reopened(async (store) => {
      const items = store.db.collection<Item>('items')
      const errmsg = expect.stringContaining(': document 2 of test.items does not match its checksum')
      const partial = async (filter: Document) =>
        (await items.find(filter, { allowPartialResults: true }).toArray()).map(({ _id }) => _id)
      for (const [filter, left] of [
        [{}, [1, 3]],
        [{ at }, [1, 3]],
        [{ _id: 2 }, []],
        [{ owner: 'owner2' }, []],
      ] as const) {
        expect(await asked(store, filter)).toMatchObject({ ...refused, errmsg })
        expect(await partial(filter)).toEqual(left)
      }
      finish(sweepExpired(store.server.engine, new Date()))
      expect(await partial({})).toEqual([])
      expect(await asked(store, {})).toMatchObject({ ...refused, errmsg })
    })
  })

  it.each([
    ['whose checksum is another', 'sum = ~sum'],
    ['whose key is another', "key = CAST(key || x'00' AS BLOB)"],
    ['that names nothing', 'number = 9'],
  ])('an entry %s keeps no document from who asks for partial results', async (_what, change) => {
    await letExpire()
    alter(`UPDATE entries SET ${change} WHERE tree IN (2, 3) AND number = 2`)
    await reopened(async (store) => {
      const items = store.db.collection<Item>('items')
      const filter = { owner: { $gte: 'owner1' } }
      expect(await asked(store, filter)).toMatchObject(refused)
      const partial = async (limit: number) => {
        const options = { allowPartialResults: true, sort: { owner: -1 }, hint: 'owner_1', limit } as const
        return (await items.find(filter, options).toArray()).map(({ _id }) => _id)
      }
      expect(await partial(0)).toEqual([3, 2, 1])
      expect(await partial(2)).toEqual([3, 2])
      // One that breaks off takes nothing with it that was written at the same moment.
      const refusedOne = items.updateOne({ _id: 2 }, { $set: { owner: 'me' } }).catch(() => undefined)
      await Promise.all([refusedOne, items.insertOne({ _id: 4, owner: 'owner4', text: '' })])
      expect(await asked(store, { _id: 4 })).toHaveLength(1)
      finish(sweepExpired(store.server.engine, new Date()))
      expect(await asked(store, { _id: { $in: [1, 3] } })).toEqual([])
    })
  })

  it('a document that is gone is missed by a scan and by the index that names it', async () => {
    alter(`DELETE FROM documents WHERE ${SECOND}`)
    await reopened(async (store) => {
      expect(await asked(store, {})).toMatchObject({
        ...refused,
        errmsg: expect.stringContaining('has 2 documents and should have 3'),
      })
      expect(await asked(store, { owner: 'owner2' })).toMatchObject(refused)
      expect(await asked(store, { owner: 'owner1' })).toMatchObject([{ _id: 1 }])
    })
  })

  it('an entry whose key was altered is refused, not taken for another', async () => {
    alter(
      "UPDATE entries SET key = CAST(substr(key, 1, length(key) - 3) || x'390000' AS BLOB) WHERE tree = 2 AND number = 3",
    )
    await reopened(async (store) => {
      expect(await asked(store, { owner: { $gte: '' } })).toMatchObject(refused)
    })
  })

  it('an entry that its document does not bear out is refused, and so is a change that misses one', async () => {
    const damaged = new DurableFile(file())
    const tree = 2
    const [first, second] = damaged.entries(
      tree,
      { from: '', to: '\xff' },
      { after: undefined, limit: 2, backwards: false },
    )
    damaged.deleteEntry(tree, first?.key.toString('latin1') ?? '', first?.number ?? 0)
    damaged.insertEntries(first?.number ?? 0, [{ tree, key: second?.key.toString('latin1') ?? '' }])
    damaged.commit()
    damaged.close()
    await reopened(async (store) => {
      expect(await asked(store, { owner: { $gte: 'owner2' }, text: /amount/ })).toMatchObject(refused)
      const items = store.db.collection<Item>('items')
      expect(await refusal(items.deleteOne({ _id: 1 }))).toMatchObject({ code: 366 })
      expect(await asked(store, { _id: 1 })).toMatchObject([{ owner: 'owner1' }])
      await items.insertOne({ _id: 4, owner: 'owner4', text: '' })
    })
  })

  it('an entry that is missing is missed where the whole index is read', async () => {
    alter('DELETE FROM entries WHERE tree = 2 AND number = 2')
    await reopened(async (store) => {
      expect(await asked(store, {}, 'owner_1')).toMatchObject(refused)
    })
  })
})

describe('a file that cannot be served', () => {
  it.each([
    [
      'of another program',
      'PRAGMA application_id = 7',
      /store\.db is a SQLite database, but not an embedded store/,
    ],
    [
      'with an altered list of indexes',
      "UPDATE collections SET definition = CAST('x' AS BLOB)",
      /store\.db is damaged: the description of collection test\.items/,
    ],
    ['with an altered size', 'UPDATE sizes SET documents = 2', /store\.db is damaged/],
  ])('%s is refused with one clear sentence', async (_name, change, message) => {
    alter(change)
    await expect(serveStore(dataDir)).rejects.toThrow(message)
  })

  it('because it is no database is refused with its path and what to do', () => {
    writeFileSync(file(), 'this is a diary\n'.repeat(100))
    expect(() => new OpenFile(file())).toThrow(
      /store\.db is damaged: file is not a database\. Stop the store, keep a copy of its directory, delete .*store\.seal and .*store\.db-wal, and put a backup/,
    )
  })
})

describe('a store that was spoilt while it rested', () => {
  /** By another hand than the store's: as it was closed, and as a kill would have left it, with commits in its log alone. */
  let snapshots: { closed: string; killed: string }
  let truth: Buffer

  const names = ['store.db', 'store.db-wal', 'store.seal']
  const copyOf = (from: string): string => {
    const to = temporaryDirectory()
    for (const name of names) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name))
    return to
  }

  beforeAll(async () => {
    const home = temporaryDirectory()
    const engine = new StoreEngine(new DurableFile(join(home, 'store.db')))
    const ask = asker(engine)
    await ask({ createIndexes: 'items', indexes: [{ key: { owner: 1 }, name: 'owner_1' }] })
    for (let _id = 0; _id < 60; _id += 1) {
      await ask({
        insert: 'items',
        documents: [{ _id, owner: `owner${_id % 9}`, text: 'x'.repeat(30 * (_id % 70)) }],
      })
    }
    truth = await answers(ask)
    const killed = copyOf(home)
    engine.close()
    snapshots = { closed: copyOf(home), killed }
    rmSync(home, { recursive: true })
  })
  afterAll(() => Object.values(snapshots).forEach((folder) => void rmSync(folder, { recursive: true })))

  /** Opens a copy that was spoilt; `refused` tells why it could not be opened. */
  async function look(
    from: string,
    spoil: (folder: string) => void,
  ): Promise<{ refused?: string; answers?: Buffer }> {
    const folder = copyOf(from)
    try {
      spoil(folder)
      const engine = new StoreEngine(new DurableFile(join(folder, 'store.db')))
      try {
        return { answers: await answers(asker(engine)) }
      } finally {
        engine.close()
      }
    } catch (error) {
      if (error instanceof StoreFileError) return { refused: error.message }
      throw error
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it('opens as it was when nothing was changed', async () => {
    for (const from of Object.values(snapshots))
      expect((await look(from, () => undefined)).answers?.equals(truth)).toBe(true)
  })

  it.each(['closed', 'killed'] as const)(
    'tells the truth or nothing, whichever bit of the files of one that was %s is another',
    async (how) => {
      const lies: string[] = []
      let refusals = 0
      for (const name of names.filter((file) => existsSync(join(snapshots[how], file)))) {
        const bytes = readFileSync(join(snapshots[how], name))
        const places = fc.sample(fc.integer({ min: 0, max: bytes.length * 8 - 1 }), {
          numRuns: FLIPS,
          seed: 7,
        })
        for (const place of places) {
          const seen = await look(snapshots[how], (folder) => {
            const spoilt = Buffer.from(bytes)
            spoilt.writeUInt8(spoilt.readUInt8(place >> 3) ^ (1 << (place & 7)), place >> 3)
            writeFileSync(join(folder, name), spoilt)
          })
          if (seen.refused !== undefined) refusals += 1
          else if (!truth.equals(seen.answers ?? Buffer.of())) lies.push(`${name} bit ${place}`)
        }
      }
      expect(lies).toEqual([])
      expect(refusals).toBeGreaterThan(FLIPS)
    },
  )

  const lost =
    /store\.db is damaged: its log .*store\.db-wal holds \d+ of the \d+ pages that were acknowledged, so the latest writes are lost\. .*delete/
  const missing =
    /store\.db is missing, and .*store\.seal.* shows that there was one: put the whole folder of a backup in its place, or delete/
  const older = (name: string) => (folder: string) =>
    copyFileSync(join(snapshots.killed, name), join(folder, name))
  const emptied = (folder: string) => writeFileSync(join(folder, 'store.db'), '')
  const miscounted = (folder: string) => {
    const bytes = readFileSync(join(folder, 'store.db'))
    bytes.writeUInt32BE(0xf0ff_ffff, 28)
    writeFileSync(join(folder, 'store.db'), bytes)
  }
  it.each([
    ['a log cut in half', 'killed', (folder: string) => cut(join(folder, 'store.db-wal')), lost],
    ['no log', 'killed', (folder: string) => rmSync(join(folder, 'store.db-wal')), lost],
    [
      'a file cut in half',
      'closed',
      (folder: string) => cut(join(folder, 'store.db')),
      /page \d+ does not match its checksum in .*store\.seal, nor do \d+ others/,
    ],
    ['no file', 'killed', emptied, missing],
    ['no file after a close', 'closed', emptied, missing],
    [
      'a false count of pages',
      'closed',
      miscounted,
      /page 1 does not match its checksum in .*store\.seal\. Stop/,
    ],
    ['an older file', 'closed', older('store.db'), /does not match its checksum/],
    ['a log of another file', 'closed', older('store.db-wal'), /-wal beside it is the log of another file/],
  ] as const)('refuses %s with what is wrong and what to do', async (_what, how, spoil, told) => {
    const { refused } = await look(snapshots[how], spoil)
    expect(refused).toMatch(told)
  })

  it('leaves what it refuses as it is', () => {
    const before = names.map(
      (name) => existsSync(join(snapshots.killed, name)) && readFileSync(join(snapshots.killed, name)),
    )
    const folder = copyOf(snapshots.killed)
    cut(join(folder, 'store.db-wal'))
    const log = readFileSync(join(folder, 'store.db-wal'))
    expect(() => new DurableFile(join(folder, 'store.db'))).toThrow(lost)
    expect([readFileSync(join(folder, 'store.db')), readFileSync(join(folder, 'store.db-wal'))]).toEqual([
      before[0],
      log,
    ])
    rmSync(folder, { recursive: true })
  })
})

/** Bits that are flipped in each file; `TEST_SIZE=full` tries more. */
const FLIPS = process.env.TEST_SIZE === 'full' ? 2000 : 40

function cut(path: string): void {
  truncateSync(path, Math.floor(statSync(path).size / 2))
}

type Ask = (command: Document) => Promise<Uint8Array>

function asker(engine: StoreEngine): Ask {
  const service = new SlicedCommandService(engine)
  return (command) =>
    new Promise((answer) => service.run(decodeBson(serialize({ ...command, $db: 'test' })), 1, answer))
}

/** What there is to ask, by a scan, by each index and by number. */
async function answers(ask: Ask): Promise<Buffer> {
  const owners = Array.from({ length: 9 }, (_, n) => `owner${n}`)
  const asked = [
    { find: 'items', batchSize: 1000 },
    { count: 'items' },
    { listIndexes: 'items' },
    ...owners.map((owner) => ({ find: 'items', filter: { owner }, hint: 'owner_1', batchSize: 1000 })),
    ...owners.map((_, n) => ({ find: 'items', filter: { _id: n * 7 } })),
  ]
  return Buffer.concat(await Promise.all(asked.map(ask)))
}
