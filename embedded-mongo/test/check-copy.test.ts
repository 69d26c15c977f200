import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, it, onTestFinished } from 'vitest'
import { finishCopy } from '../src/check-copy.ts'
import { openStore, temporaryDirectory } from './support.ts'

it('what is not as it was written is found by reading every document of a copy', async () => {
  const copy = temporaryDirectory()
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  const store = await openStore(copy, { keep: true })
  const items = Array.from({ length: 250 }, (_, at) => ({ _id: `item${at}` }))
  await store.db.collection<{ _id: string }>('items').insertMany(items)
  await store.close()
  finishCopy('/live', copy)
  rmSync(join(copy, 'store.seal'))
  const db = new Database(join(copy, 'store.db'))
  db.exec(
    'UPDATE documents SET sum = ~sum WHERE id = (SELECT id FROM documents ORDER BY id LIMIT 1 OFFSET 230)',
  )
  db.close()
  const message = expect.stringMatching(
    /^the store file \/live\/store\.db is damaged: 1 of 250 documents of test\.items\. The copy was removed/,
  )
  expect(() => finishCopy('/live', copy)).toThrow(
    expect.objectContaining({ name: 'StoreFileError', message }),
  )
  truncateSync(join(copy, 'store.db'), 20_000)
  expect(() => finishCopy('/live', copy)).toThrow(
    expect.objectContaining({
      name: 'StoreFileError',
      message: expect.stringMatching(
        /^the store file \/live\/store\.db is damaged: .*\. The copy was removed/s,
      ),
    }),
  )
})
