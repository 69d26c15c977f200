import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findRunningStore } from 'embedded-mongo'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, temporaryDirectory } from './support.ts'

let dataDir: string

beforeEach(() => {
  dataDir = temporaryDirectory()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

describe('what is removed while the store runs', () => {
  it('the socket or the note comes back, and clients that are connected notice nothing', async () => {
    const store = await openStore(dataDir, { keep: true, lookEveryMs: 20 })
    const items = store.db.collection<{ _id: number }>('items')
    for (const [_id, lost] of ['run', 'store.lock'].entries()) {
      await items.insertOne({ _id })
      rmSync(join(dataDir, lost), { recursive: true })
      await expect.poll(async () => (await findRunningStore(dataDir))?.pid).toBe(process.pid)
    }
    const newcomer = new MongoClient((await findRunningStore(dataDir))?.uri ?? '')
    expect(await newcomer.db('test').collection('items').countDocuments()).toBe(2)
    await newcomer.close()
    expect(statSync(store.server.socketPath).mode & 0o777).toBe(0o600)
    await items.insertOne({ _id: 2 })
    await store.close()
    expect(existsSync(store.server.socketPath)).toBe(false)
  })

  const written = async () => {
    const store = await openStore(dataDir, { keep: true, lookEveryMs: 3_600_000 })
    await store.db.collection('items').insertOne({ a: 1 })
    return store
  }
  const file = () => join(dataDir, 'store.db')
  const refused = { code: 39, errmsg: expect.stringMatching(/store\.db or its log was removed or replaced/) }

  it.each<[string, () => void]>([
    ['the file was removed', () => rmSync(file())],
    ['the file was moved', () => renameSync(file(), join(dataDir, 'elsewhere.db'))],
    [
      'the file was replaced by a copy',
      () => {
        copyFileSync(file(), join(dataDir, 'copy'))
        renameSync(join(dataDir, 'copy'), file())
      },
    ],
    ['its log was removed', () => rmSync(`${file()}-wal`)],
    ['the whole directory was moved', () => renameSync(dataDir, `${dataDir}-moved`)],
  ])('the first write after %s is refused, and everything from then on', async (_what, lose) => {
    const store = await written()
    const items = store.db.collection('items')
    lose()
    await expect(items.insertOne({ a: 2 })).rejects.toMatchObject(refused)
    await expect(items.findOne({ a: 2 })).rejects.toMatchObject(refused)
    await expect(store.close()).rejects.toThrow(/was removed or replaced while it was in use/)
    rmSync(`${dataDir}-moved`, { recursive: true, force: true })
  })

  it('a lost file is noticed when nothing is written, too', async () => {
    const store = await openStore(dataDir, { keep: true, lookEveryMs: 20 })
    rmSync(file())
    const ping = () => store.db.command({ ping: 1 }).catch((error: { code: number }) => error.code)
    await expect.poll(ping).toBe(39)
    await store.close().catch(() => undefined)
  })
})
