import { existsSync, readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { copyStore } from '../src/copy-store.ts'
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
    await copyStore(dataDir, copy, ['secrets.json'])
    sync.mockRestore()
    const files = ['secrets.json', 'store.db-part', 'store.db-wal'].map((name) => join(copy, name))
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
  const both = await Promise.allSettled([1, 2].map(() => copyStore(dataDir, copy, ['secrets.json'])))
  const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))
  expect(refused).toEqual([`${copy} is not empty; name a new directory`])
  expect(readdirSync(copy).sort()).toEqual(['secrets.json', 'store.db'])
  await expect(copyStore(dataDir, copy)).rejects.toThrow('is not empty')
  expect(readdirSync(copy).sort()).toEqual(['secrets.json', 'store.db'])
})
