import { existsSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, vi } from 'vitest'
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
