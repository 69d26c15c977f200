import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The store all test files share; each service in it has a database of its own. */
    storeUri: string
  }
}

let closeStore: () => Promise<void> = async () => undefined

/**
 * Compiles the service if sources changed (tests run what is built: `compiled.ts`), gives the run a folder for all its
 * temporary files, and opens its store: `MONGODB_URI`, else with `TEST_STORE=mongod` a replica set of
 * `mongodb-memory-server`, else the embedded store.
 */
export async function setup(project: TestProject): Promise<void> {
  // Each project calls this; the root's call is enough, since what it provides is theirs, too.
  if (!project.isRootProject()) return
  build()
  const folder = await mkdtemp(join(await folderInMemory(), 'test-'))
  // A proxy's worker is another user, and has a folder of its own in there.
  await chmod(folder, 0o711)
  // Of the workers, too.
  process.env.TMPDIR = folder
  const store = await openTestStore(folder)
  closeStore = async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
  project.provide('storeUri', store.uri)
}

export async function teardown(): Promise<void> {
  await closeStore()
}

function build(): void {
  // Nothing of `src` is used here: it is loaded as built, and this is what builds it.
  const script = join(import.meta.dirname, '../../scripts/build.mjs')
  const built = spawnSync(process.execPath, [script, '--if-stale'], { encoding: 'utf8' })
  if (built.status === 0) return
  // The tests would be of what was built before.
  throw new Error(`the build failed:\n${built.stdout}${built.stderr}`)
}

async function openTestStore(folder: string): Promise<{ uri: string; close: () => Promise<void> }> {
  const given = process.env.MONGODB_URI
  if (given !== undefined && given !== '') return { uri: given, close: async () => undefined }
  if (process.env.TEST_STORE === 'mongod') return openMongod()
  const { startEmbeddedStore } = await import('embedded-mongo')
  const { uri, close } = await startEmbeddedStore({ dataDir: join(folder, 'store') })
  return { uri, close }
}

/** No test can cut the power, so all would only wait for the disk. */
async function folderInMemory(): Promise<string> {
  const free = await statfs('/dev/shm').then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free > 2_000_000_000 ? '/dev/shm' : tmpdir()
}

async function openMongod(): Promise<{ uri: string; close: () => Promise<void> }> {
  const { MongoMemoryReplSet } = await import('mongodb-memory-server')
  const set = await MongoMemoryReplSet.create({ replSet: { count: 1, ip: '127.0.0.1' } }).catch(
    (cause: unknown) => {
      const advice =
        'set MONGOMS_SYSTEM_BINARY to a mongod on this machine, or allow the download from fastdl.mongodb.org'
      throw new Error(`no MongoDB server for the tests: ${advice}`, { cause })
    },
  )
  return { uri: set.getUri(), close: async () => void (await set.stop()) }
}
