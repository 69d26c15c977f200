import { existsSync, readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { copyStore } from '../src/copy-store.ts'
import { backUpStore } from '../src/index.ts'
import { openStore, temporaryDirectory } from './support.ts'

it.runIf(process.platform === 'linux')(
  'makes a copy durable, with all that is in it and its name',
  async () => {
    const dataDir = temporaryDirectory()
    await (await openStore(dataDir, { keep: true })).close()
    for (const name of ['secrets.json', 'store.db-wal']) writeFileSync(join(dataDir, name), '')
    const copy = join(dataDir, 'backups', 'copy')
    const synced: [path: string, isNamed: boolean][] = []
    const probe = await open(join(dataDir, 'secrets.json'))
    const sync = vi.spyOn(Object.getPrototypeOf(probe), 'sync').mockImplementation(async function (
      this: typeof probe,
    ) {
      synced.push([readlinkSync(`/proc/self/fd/${this.fd}`), existsSync(join(copy, 'store.db'))])
      await this.datasync()
    })
    await probe.close()
    await copyStore(dataDir, copy, { beside: ['secrets.json'] })
    sync.mockRestore()
    const files = [
      'secrets.json',
      'store.db-part',
      'store.db-part/store.db',
      'store.db-part/store.db-wal',
    ].map((name) => join(copy, name))
    expect(new Set(synced.filter(([, isNamed]) => !isNamed).map(([path]) => path))).toEqual(new Set(files))
    // Its name, and those of the directories that were made for it.
    const directories = [copy, dirname(copy), dataDir]
    expect(synced.filter(([, isNamed]) => isNamed)).toEqual(directories.map((path) => [path, true]))
    rmSync(dataDir, { recursive: true })
  },
)

async function useStore(): Promise<string> {
  const dataDir = temporaryDirectory()
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  await (await openStore(dataDir, { keep: true })).close()
  return dataDir
}

it('is made although the clock was set back since the last write', async () => {
  const dataDir = await useStore()
  const later = new Date(Date.now() + 3_600_000)
  utimesSync(join(dataDir, 'store.db'), later, later)
  await copyStore(dataDir, join(dataDir, 'copy'))
  expect(readdirSync(join(dataDir, 'copy'))).toEqual(['store.db'])
})

it('of two into one directory one is made, and the other takes nothing from it', async () => {
  const dataDir = await useStore()
  writeFileSync(join(dataDir, 'secrets.json'), '')
  const copy = join(dataDir, 'copy')
  const both = await Promise.allSettled(
    [1, 2].map(() => copyStore(dataDir, copy, { beside: ['secrets.json'] })),
  )
  const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))
  expect(refused).toEqual([`${copy} is not empty; name a new directory`])
  expect(readdirSync(copy).sort()).toEqual(['secrets.json', 'store.db'])
  await expect(copyStore(dataDir, copy)).rejects.toThrow('is not empty')
  expect(readdirSync(copy).sort()).toEqual(['secrets.json', 'store.db'])
})

it('has its mark before it has its name, in each of its databases; the store it is made of never has it', async () => {
  const dataDir = temporaryDirectory()
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const store = await openStore(dataDir, { keep: true })
  const { client, dbName } = { client: store.client, dbName: store.db.databaseName }
  await client.db('other').collection('items').insertOne({ n: 1 })
  await store.db.collection('items').insertOne({ n: 1 })
  await store.close()
  const document = { _id: 'mark', at: new Date(0) }
  const copy = join(dataDir, 'copy')
  await backUpStore({ dataDir, to: copy, beside: [], mark: { collection: 'marks', document } })
  for (const [directory, marks] of [
    [copy, [document]],
    [dataDir, []],
  ] as const) {
    const opened = await openStore(directory, { keep: true })
    for (const name of [dbName, 'other'])
      expect(await opened.client.db(name).collection('marks').find().toArray()).toEqual(marks)
    await opened.close()
  }
})
