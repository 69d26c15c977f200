import { readFileSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeFiles } from '../src/data-directory.ts'
import { openStore, temporaryDirectory } from './support.ts'

let dataDir: string
beforeEach(() => {
  dataDir = temporaryDirectory()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

describe('documents that were large for a while, as requests are while they are decided', () => {
  it('share their pages with others afterwards', async () => {
    const store = await openStore(dataDir, { keep: true })
    const { engine } = store.server
    const items = store.db.collection<{ _id: number }>('items')
    const others = store.db.collection<{ _id: number }>('others')
    const set = (_id: number, bytes: number) =>
      items.updateOne({ _id }, { $set: { text: 'x'.repeat(bytes) } }, { upsert: true })
    const pending: number[] = []
    for (let n = 1; n <= 150; n += 1) {
      await set(n, 1_600)
      await others.insertOne({ _id: n })
      pending.push(n)
      // In no order, as people decide.
      const [id] = n <= 20 ? [] : pending.splice((n * 7) % 20, 1)
      if (id === undefined) continue
      await set(id, 6_000)
      await set(id, 3_000)
    }
    // Two to a page of 8 kB; one each, which is what an update in place leaves, would take 150 alone.
    expect(engine.file.pages().all - engine.file.pages().free).toBeLessThan(90)
    expect(await items.countDocuments({ text: 'x'.repeat(3_000) })).toBe(130)
    await store.close()
  })
})

describe('a text that was overwritten or deleted', () => {
  it('is not in the bytes of the file either, once the store is closed', async () => {
    const store = await openStore(dataDir, { keep: true })
    const items = store.db.collection<{ _id: number; text?: string }>('items')
    const secret = 'ZEBRA-SECRET '
    await items.createIndex({ text: 1 })
    await items.insertMany(
      Array.from({ length: 50 }, (_, _id) => ({ _id, text: secret.repeat(1 + _id * 30) })),
    )
    await items.updateMany({ _id: { $lt: 25 } }, { $set: { text: 'gone' } })
    await items.deleteMany({ _id: { $gte: 25 } })
    await store.close()
    expect(readFileSync(storeFiles(dataDir).database).includes(secret)).toBe(false)
  })
})
