import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Db, MongoClient, MongoServerError } from 'mongodb'
import type { StoreFile } from '../../embedded-mongo/engine/store-engine.ts'
import { socketUri } from '../../embedded-mongo/store-files.ts'
import { type StoreServer, serveStore } from '../../embedded-mongo/store-server.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface TestStore {
  dataDir: string
  server: StoreServer
  client: MongoClient
  db: Db
  close(): Promise<void>
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'cs-store-'))
}

/** A store from source, in this thread, with a connected driver. */
export async function openStore(
  dataDir = temporaryDirectory(),
  { keep = false, openFile }: { keep?: boolean; openFile?: (path: string) => StoreFile } = {},
): Promise<TestStore> {
  const server = await serveStore(dataDir, openFile)
  const client = new MongoClient(socketUri(server.socketPath), { serverSelectionTimeoutMS: 5000 })
  await client.connect()
  return {
    dataDir,
    server,
    client,
    db: client.db('test'),
    async close() {
      await client.close()
      await server.close()
      if (!keep) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Worker threads and processes of their own need the compiled store; builds it if the source is newer. */
export function buildStore(): void {
  const compiled = join(ROOT, 'dist/embedded-mongo/store-worker.js')
  if (newest(join(ROOT, 'embedded-mongo')) < modified(compiled)) return
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json'], { cwd: ROOT })
  } catch (error) {
    // Type errors elsewhere do not keep tsc from writing the store.
    if (newest(join(ROOT, 'embedded-mongo')) > modified(compiled)) throw error
  }
}

function newest(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  return Math.max(...files.map((name) => modified(join(directory, name))))
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** The server error an operation ends with. */
export async function refusal(operation: Promise<unknown>): Promise<MongoServerError> {
  try {
    await operation
  } catch (error) {
    if (error instanceof MongoServerError) return error
    throw error
  }
  throw new Error('the operation was not refused')
}
