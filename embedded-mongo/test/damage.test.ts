import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import type { Document } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DurableFile } from '../src/engine/durable-file.ts'
import { openFile } from '../src/engine/open-file.ts'
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

/** Changes the file behind the store's back. */
function alter(...statements: string[]): void {
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
    damaged.deleteEntry(tree, first?.key.toString('latin1') ?? '', first?.number ?? 0, true)
    damaged.insertEntries(first?.number ?? 0, [{ tree, key: second?.key.toString('latin1') ?? '' }])
    damaged.commit()
    damaged.close()
    await reopened(async (store) => {
      expect(await asked(store, { owner: { $gte: 'owner2' }, text: /./ })).toMatchObject(refused)
      const items = store.db.collection<Item>('items')
      expect(await refusal(items.deleteOne({ _id: 1 }))).toMatchObject({ code: 366 })
      expect(await asked(store, { _id: 1 })).toMatchObject([{ owner: 'owner1' }])
      await items.insertOne({ _id: 4, owner: 'owner4', text: '' })
    })
  })
})

describe('an entry that is missing', () => {
  it('is missed where the whole index is read', async () => {
    alter('DELETE FROM entries WHERE tree = 2 AND number = 2')
    await reopened(async (store) => {
      expect(await asked(store, {}, 'owner_1')).toMatchObject(refused)
    })
  })
})

describe('a file that cannot be served', () => {
  it.each([
    [
      'of another format',
      'PRAGMA user_version = 1',
      /store\.db has format 1; this version reads format 2 only\. Nothing in it was changed/,
    ],
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
    expect(() => openFile(file())).toThrow(
      /store\.db is damaged: file is not a database\. Stop the store, keep a copy of the file and restore a backup/,
    )
  })
})
