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
import { Seal } from '../src/engine/seal.ts'
import { StoreEngine } from '../src/engine/store-engine.ts'
import { openWhole } from '../src/engine/survey.ts'
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

/** Changes the file behind the store's back and seals it again, as if the disk had spoilt it after the start. */
function alter(...statements: string[]): void {
  const db = new Database(file())
  for (const statement of statements) db.exec(statement)
  db.close()
  Seal.make(file(), 8192).close()
}

async function reopened(look: (store: TestStore, damage: () => string[]) => Promise<void>): Promise<void> {
  const found: string[] = []
  const store = await openStore(dataDir, { keep: true, onDamage: ({ message }) => found.push(message) })
  try {
    await look(store, () => found)
  } finally {
    await store.close()
  }
}

/** Every document through `ask`, or the refusal. */
function asked(store: TestStore, filter: Document, hint?: string): Promise<unknown> {
  const cursor = store.db.collection('items').find(filter, hint === undefined ? {} : { hint })
  return cursor.toArray().catch(({ code, codeName, errmsg }: Document) => ({ code, codeName, errmsg }))
}

/** The second document: the rows of a collection lie behind one another. */
const SECOND = 'id = (SELECT id FROM documents ORDER BY id LIMIT 1 OFFSET 1)'
const changeText = `UPDATE documents SET body = CAST(replace(CAST(body AS TEXT), '122.00', '922.00') AS BLOB) WHERE ${SECOND}`
const second = '1 of 3 documents of test.items'
const ownerIndex = 'index owner_1 of test.items'

describe('damage that a running store finds', () => {
  const found: [what: string, change: string, filter: Document, told: string][] = [
    [
      'a text of a document',
      changeText,
      {},
      `a document of test.items does not match its checksum (${second})`,
    ],
    [
      'a document that is gone, in a scan',
      `DELETE FROM documents WHERE ${SECOND}`,
      {},
      `test.items has 2 documents and should have 3 (${second})`,
    ],
    [
      'a document that is gone, by its index',
      `DELETE FROM documents WHERE ${SECOND}`,
      { owner: 'owner2' },
      `index owner_1 of test.items has an entry without a document (${second})`,
    ],
    [
      'the checksum of an entry',
      'UPDATE entries SET sum = ~sum WHERE tree = 2 AND number = 2',
      { owner: 'owner2' },
      `an entry of an index does not match its checksum (${ownerIndex})`,
    ],
    [
      'the key of an entry',
      "UPDATE entries SET key = CAST(substr(key, 1, length(key) - 3) || x'390000' AS BLOB) WHERE tree = 2 AND number = 3",
      { owner: { $gte: '' } },
      `an entry of an index does not match its checksum (${ownerIndex})`,
    ],
    [
      'an entry that is missing',
      'DELETE FROM entries WHERE tree = 2 AND number = 2',
      { owner: { $exists: true } },
      `index owner_1 of test.items has 2 documents and should have 3 (${ownerIndex})`,
    ],
  ]
  it.each(found)(
    '%s: one sentence, and nothing is served any more, nor at the next start',
    async (_what, change, filter, told) => {
      alter(change)
      await reopened(async (store, damage) => {
        expect(await asked(store, { _id: 1 })).toMatchObject([{ text: 'amount: 121.00' }])
        expect(damage()).toEqual([])
        const hint = 'owner' in filter ? 'owner_1' : undefined
        const errmsg = `the store file ${file()} is damaged: ${told}. Stop the store, keep a copy of its directory, delete ${join(dataDir, 'store.seal')} and ${file()}-wal, and put a backup of the file in its place; without a backup, countersign export --salvage saves the documents that are whole`
        const refused = { code: 366, codeName: 'DataCorruptionDetected', errmsg }
        expect(await asked(store, filter, hint)).toEqual(refused)
        expect(await asked(store, { _id: 1 })).toEqual(refused)
        const write = store.db.collection<Item>('items').insertOne({ _id: 4, owner: 'owner4', text: '' })
        expect(await refusal(write)).toMatchObject({ code: 366 })
        expect(await refusal(store.db.command({ ping: 1 }))).toMatchObject({ code: 366 })
        expect(await store.db.command({ hello: 1 })).toMatchObject({ ok: 1 })
        expect(damage()).toEqual([errmsg])
      })
      const counts = /\(([^()]*)\)$/.exec(told)?.[1]
      for (const _start of [1, 2])
        await expect(serveStore(dataDir)).rejects.toThrow(`store.db is damaged: ${counts}. Stop the store`)
    },
  )

  it('ends what waits: neither a write of the same moment nor a long read is answered as if it had been whole', async () => {
    alter(changeText)
    await reopened(async (store, damage) => {
      const items = store.db.collection<Item>('items')
      const outcomes = await Promise.allSettled([
        items.insertOne({ _id: 5, owner: 'owner5', text: '' }),
        items.updateOne({ _id: 2 }, { $set: { owner: 'me' } }),
        items.bulkWrite([{ deleteOne: { filter: { _id: 2 } } }, { deleteOne: { filter: { _id: 1 } } }], {
          ordered: false,
        }),
        store.db.collection('items').countDocuments({ text: /9/ }),
      ])
      expect(outcomes.slice(1).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
      expect(damage()).toHaveLength(1)
    })
  })

  it('an entry its document does not bear out, and a change that misses one', async () => {
    const damaged = new DurableFile(file())
    const tree = 2
    const [first, other] = damaged.entries(
      tree,
      { from: '', to: '\xff' },
      { after: undefined, limit: 2, backwards: false },
    )
    damaged.deleteEntry(tree, first?.key.toString('latin1') ?? '', first?.number ?? 0)
    damaged.insertEntries(first?.number ?? 0, [{ tree, key: other?.key.toString('latin1') ?? '' }])
    damaged.commit()
    damaged.close()
    for (const ask of [
      (store: TestStore) => asked(store, { owner: { $gte: 'owner2' }, text: /amount/ }),
      (store: TestStore) =>
        store.db
          .collection<Item>('items')
          .deleteOne({ _id: 1 })
          .catch((error) => error),
    ]) {
      await reopened(async (store, damage) => {
        expect(await ask(store)).toMatchObject({ code: 366 })
        expect(damage()).toEqual([
          expect.stringContaining('store.db is damaged: index owner_1 of test.items '),
        ])
      })
    }
  })

  it('found by the work of the store itself, such as the removal of what has expired', async () => {
    await reopened(async ({ db }) => {
      await db.collection('items').updateMany({}, { $set: { at: new Date(0) } })
      await db.collection('items').createIndex({ at: 1 }, { expireAfterSeconds: 0 })
    })
    alter(`UPDATE documents SET sum = ~sum WHERE ${SECOND}`)
    await reopened(async (store, damage) => {
      const service = new SlicedCommandService(store.server.engine, ({ message }) => damage().push(message))
      service.work(sweepExpired(store.server.engine, new Date()))
      await expect.poll(damage).toEqual([expect.stringContaining(second)])
      service.work(sweepExpired(store.server.engine, new Date()))
      service.stop()
      expect(damage()).toHaveLength(1)
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
      const engine = new StoreEngine(openWhole(join(folder, 'store.db')))
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
  const whole =
    /does not match its checksum.*\. Every document in it is whole\..* or delete .*store\.seal to go on/
  const foreign = /-wal beside it is the log of another file\. Stop .* put a backup of the file in its place;/
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
    ['an older file', 'closed', older('store.db'), whole],
    ['a log of another file', 'closed', older('store.db-wal'), foreign],
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
    expect(() => openWhole(join(folder, 'store.db'))).toThrow(lost)
    expect(existsSync(join(folder, 'store.db-shm'))).toBe(false)
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
