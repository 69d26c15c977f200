import type { Collection } from 'mongodb'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openStore, type TestStore } from './support.ts'

/** A document of the tests that drive the store with the official driver. */
export interface Item {
  _id: number | string
  n?: number
  parity?: number
  text?: string
  more?: string
  state?: string
  owner?: number
  code?: string
  kind?: string
  x?: number
  y?: number
  a?: number
  b?: number
  at?: Date
  list?: { k: string; v: number; seen?: boolean }[]
}

/** A store for the whole file, empty before each test. */
export function useItems(): {
  store(): TestStore
  items(): Collection<Item>
  fill(count: number): Promise<void>
} {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(() => store.close())
  beforeEach(async () => {
    await store.db.dropDatabase()
  })
  const items = () => store.db.collection<Item>('items')
  return {
    store: () => store,
    items,
    async fill(count) {
      await items().insertMany(Array.from({ length: count }, (_, i) => ({ _id: i, n: i, parity: i % 2 })))
    },
  }
}
