import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import { BSON } from 'mongodb'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { StoreFileError, StoreLockedError, salvageStore } from '../src/index.ts'
import { openStore, temporaryDirectory } from './support.ts'

interface Item {
  _id: number
  text: string
}

const SMALL = 400
/** Documents that need more than a page of their own. */
const LARGE = 3
const items: Item[] = Array.from({ length: SMALL }, (_, _id) => ({ _id, text: `text ${_id} `.repeat(20) }))
const larges: Item[] = Array.from({ length: LARGE }, (_, _id) => ({ _id, text: `${_id}`.repeat(40_000) }))

let dataDir: string
let path: string
beforeEach(async () => {
  dataDir = temporaryDirectory()
  path = join(dataDir, 'store.db')
  const directory = dataDir
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const store = await openStore(dataDir, { keep: true })
  await store.db.collection<Item>('items').createIndex({ text: 1 })
  await store.db.collection<Item>('items').insertMany(items)
  await store.db.collection<Item>('larges').insertMany(larges)
  await store.close()
})

/** Everything that is read, and what is said of the rest. */
async function salvaged() {
  const whole: Record<string, unknown[]> = { 'test.items': [], 'test.larges': [] }
  const damaged: [string, string, number][] = []
  for await (const held of salvageStore(dataDir)) {
    if ('body' in held) whole[held.namespace]?.push(BSON.deserialize(held.body))
    else damaged.push([held.namespace, held.damaged, held.documents])
  }
  return { items: whole['test.items'] ?? [], larges: whole['test.larges'] ?? [], damaged }
}

function alter(...statements: string[]): void {
  const db = new Database(path)
  for (const statement of statements) db.exec(statement)
  db.close()
}

function spoilPage(holding: string): void {
  const bytes = readFileSync(path)
  const at = bytes.indexOf(holding, 0, 'latin1')
  const start = at - (at % 8192)
  bytes.fill(0xaa, start, start + 8192)
  writeFileSync(path, bytes)
}

it('reads every document of a store that is whole', async () => {
  expect(await salvaged()).toEqual({ items, larges, damaged: [] })
})

it('names the documents that are damaged, and gives all others', async () => {
  const nth = (n: number) => `id = (SELECT id FROM documents ORDER BY id LIMIT 1 OFFSET ${n})`
  alter(
    `UPDATE documents SET sum = ~sum WHERE ${nth(7)}`,
    `UPDATE documents SET body = CAST('x' AS BLOB) WHERE ${nth(9)}`,
    `DELETE FROM documents WHERE ${nth(11)}`,
    'UPDATE entries SET sum = ~sum WHERE tree = 2 AND number = 1',
  )
  expect(await salvaged()).toEqual({
    items: items.filter(({ _id }) => ![7, 9, 11].includes(_id)),
    larges,
    damaged: [
      ['test.items', 'document 7', 1],
      ['test.items', 'document number 10', 1],
      ['test.items', 'documents that cannot be read', 1],
      ['test.items', 'index text_1', 0],
    ],
  })
})

it('passes over pages that cannot be read, of many documents and of one', async () => {
  // As it stands in the document, not in the index.
  spoilPage(`text\0${String.fromCharCode(181)}\0\0\0text 200 `)
  spoilPage('1'.repeat(8000))
  const before = readFileSync(path)
  const found = await salvaged()
  expect(found.larges).toEqual(larges.filter(({ _id }) => _id !== 1))
  expect(items).toEqual(expect.arrayContaining(found.items))
  const lost = SMALL - found.items.length
  expect(lost).toBeGreaterThan(1)
  expect(lost).toBeLessThan(60)
  expect(found.damaged).toContainEqual(['test.items', 'documents that cannot be read', lost])
  expect(found.damaged).toContainEqual(['test.larges', expect.any(String), 1])
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(existsSync(`${path}-shm`)).toBe(false)
})

it('gives the documents of a collection whose description is damaged', async () => {
  alter("UPDATE collections SET definition = CAST('x' AS BLOB) WHERE namespace = 'test.items'")
  expect(await salvaged()).toEqual({ items, larges, damaged: [['test.items', 'its description', 0]] })
})

it('reads every document of a store whose list of tables is gone', async () => {
  for (const [from, to] of [
    [0, 8192],
    [100, 101],
  ] as const) {
    const before = readFileSync(path)
    const spoilt = Buffer.from(before).fill(0xaa, from, to)
    writeFileSync(path, spoilt)
    expect(await salvaged()).toEqual({ items, larges, damaged: [] })
    expect(readFileSync(path).equals(spoilt)).toBe(true)
    expect(existsSync(join(dataDir, 'salvage'))).toBe(false)
    writeFileSync(path, before)
  }
})

it('reads no store that is in use, and none that is no database', async () => {
  const store = await openStore(dataDir, { keep: true })
  await expect(salvaged()).rejects.toThrow(StoreLockedError)
  await store.close()
  writeFileSync(path, 'this is a diary\n'.repeat(1000))
  await expect(salvaged()).rejects.toThrow(StoreFileError)
})
