import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { findRunningStore, startEmbeddedStore } from 'embedded-mongo'
import { MongoClient } from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { copyStore } from '../src/copy-store.ts'
import { chooseSocketPath, prepareDataDirectory, storeFiles } from '../src/data-directory.ts'
import { StoreFileError } from '../src/engine/file-errors.ts'
import { temporaryDirectory } from './support.ts'

function useLongPath() {
  const dataDir = join(temporaryDirectory(), 'd'.repeat(90))
  onTestFinished(() => rmSync(dirname(dataDir), { recursive: true, force: true }))
  const files = storeFiles(dataDir)
  const chosen = chooseSocketPath(files)
  onTestFinished(() => rmSync(dirname(chosen.socketPath), { recursive: true, force: true }))
  return { files, chosen, directory: dirname(chosen.socketPath) }
}

it.runIf(process.platform === 'linux')('is refused where nobody can make a directory', () => {
  expect(() => prepareDataDirectory(storeFiles('/proc/none/data'))).toThrow('ENOENT')
})

function useDirectory(): string {
  const directory = temporaryDirectory()
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function startIn(dataDir: string) {
  const store = await startEmbeddedStore({ dataDir })
  onTestFinished(() => store.close())
  return store
}

it('is not the one that its copy says it is: the copy has a store of its own', async () => {
  const dataDir = useDirectory()
  const store = await startIn(dataDir)
  const copy = useDirectory()
  for (const name of ['store.db', 'store.db-wal', 'store.lock'])
    copyFileSync(join(dataDir, name), join(copy, name))
  expect(await findRunningStore(copy)).toBeUndefined()
  const other = await startIn(copy)
  expect(other.uri).not.toBe(store.uri)
  const link = join(copy, 'link')
  symlinkSync(dataDir, link)
  expect((await findRunningStore(link))?.uri).toBe(store.uri)
})

it('is not taken for the one that is now in its old place', async () => {
  const dataDir = join(useDirectory(), 'data')
  const killed = await startEmbeddedStore({ dataDir })
  const note = readFileSync(join(dataDir, 'store.lock'))
  await killed.close()
  // A kill leaves the note.
  writeFileSync(join(dataDir, 'store.lock'), note)
  const moved = `${dataDir}-damaged`
  renameSync(dataDir, moved)
  const restored = await startIn(dataDir)
  expect(await findRunningStore(moved)).toBeUndefined()
  expect((await findRunningStore(dataDir))?.uri).toBe(restored.uri)
})

it.each(['', '{', '[]', '{"pid":"1","socketPath":5}'])(
  'takes %j in a lock file for no note',
  async (text) => {
    const dataDir = useDirectory()
    const here = text.replace('{"', `{"directory":${JSON.stringify(dataDir)},"`)
    writeFileSync(join(dataDir, 'store.lock'), here)
    expect(await findRunningStore(dataDir)).toBeUndefined()
  },
)

const isRoot = process.getuid?.() === 0

it.each([
  { what: 'open to others', spoil: (folder: string) => chmodSync(folder, 0o755) },
  { what: 'a link', spoil: replaceByLink },
  ...(isRoot
    ? [{ what: "another user's", spoil: (folder: string) => chownSync(folder, 65_534, 65_534) }]
    : []),
])('is not served by a socket whose folder is $what', async ({ spoil }) => {
  const [dataDir, folder] = [useDirectory(), join(useDirectory(), 'run')]
  mkdirSync(folder, { mode: 0o700 })
  const note = { pid: 1, socketPath: join(folder, 'store.sock'), directory: dataDir }
  writeFileSync(join(dataDir, 'store.lock'), JSON.stringify(note))
  const stranger = createServer().listen(note.socketPath)
  onTestFinished(() => void stranger.close())
  await once(stranger, 'listening')
  expect(await findRunningStore(dataDir)).toMatchObject({ pid: 1 })
  spoil(folder)
  expect(await findRunningStore(dataDir)).toBeUndefined()
})

function replaceByLink(folder: string): void {
  renameSync(folder, `${folder}-elsewhere`)
  symlinkSync(`${folder}-elsewhere`, folder)
}

it.runIf(isRoot)('of another user is not opened: what is made there would be in its way', async () => {
  const dataDir = useDirectory()
  await (await startEmbeddedStore({ dataDir })).close()
  for (const name of ['', 'store.db']) chownSync(join(dataDir, name), 65_534, 65_534)
  rmSync(join(dataDir, 'run'), { recursive: true })
  await expect(startEmbeddedStore({ dataDir })).rejects.toThrow(
    `${dataDir} belongs to user 65534; run this as that user, or give it to yours`,
  )
})

it.each(['missing', 'there'])('is refused where store.db is a link to a file that is %s', async (what) => {
  const [dataDir, elsewhere] = [join(useDirectory(), 'data'), useDirectory()]
  const { database } = storeFiles(dataDir)
  await (await startEmbeddedStore({ dataDir })).close()
  const target = join(elsewhere, 'store.db')
  if (what === 'there') copyFileSync(database, target)
  rmSync(database)
  symlinkSync(target, database)
  const files = () => [dataDir, elsewhere].map((folder) => readdirSync(folder))
  const before = files()
  const told = /store\.db is a symbolic link.* link the folder .*data instead\. Nothing was changed$/
  await expect(startEmbeddedStore({ dataDir })).rejects.toThrow(told)
  if (what === 'there') await expect(copyStore(dataDir, join(elsewhere, 'copy'))).rejects.toThrow(told)
  expect(files()).toEqual(before)
})

it('may have a name that reads as an escaped one', async () => {
  const dataDir = join(useDirectory(), 'a%2Fb%41')
  const store = await startIn(dataDir)
  expect((await findRunningStore(dataDir))?.uri).toBe(store.uri)
  const client = new MongoClient(store.uri, { serverSelectionTimeoutMS: 5_000 })
  onTestFinished(() => client.close())
  expect(await client.db('a').command({ ping: 1 })).toMatchObject({ ok: 1 })
})

describe('the socket of a directory with a long path', () => {
  it('is the same at each start, also after a kill, and another for another long path', () => {
    const { files, chosen, directory } = useLongPath()
    writeFileSync(chosen.socketPath, '')
    expect(chooseSocketPath(files)).toEqual({ ...chosen, temporary: directory })
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(useLongPath().chosen.socketPath).not.toBe(chosen.socketPath)
  })

  it('is refused where its place is not a directory of this user', () => {
    const { files, directory } = useLongPath()
    rmSync(directory, { recursive: true })
    mkdirSync(`${directory}-elsewhere`)
    onTestFinished(() => rmSync(`${directory}-elsewhere`, { recursive: true }))
    symlinkSync(`${directory}-elsewhere`, directory)
    expect(() => chooseSocketPath(files)).toThrow(StoreFileError)
    expect(() => chooseSocketPath(files)).toThrow(
      `${directory} is not a directory of the user that runs the store`,
    )
  })
})
