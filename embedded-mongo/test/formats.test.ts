import { hash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Seal } from '../src/engine/seal.ts'
import { type StoreChild, spawnStore } from './store-child.ts'
import { temporaryDirectory } from './support.ts'

const folders: string[] = []
const folder = () => {
  const made = temporaryDirectory()
  folders.push(made)
  return made
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true })
})

/** The `index.js` of the build one format older than this one, and this one's number. */
let older: string
let format: number

beforeAll(() => {
  const home = folder()
  cpSync(fileURLToPath(new URL('../dist', import.meta.url)), join(home, 'dist'), { recursive: true })
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(home, 'node_modules'))
  writeFileSync(join(home, 'package.json'), '{"type":"module"}')
  const path = join(home, 'dist/engine/file-format.js')
  const code = readFileSync(path, 'utf8')
  const [line = '', number] = /^export const FORMAT = (\d+);$/m.exec(code) ?? []
  format = Number(number)
  expect(format).toBeGreaterThan(2)
  writeFileSync(path, code.replace(line, `export const FORMAT = ${format - 1};`))
  older = join(home, 'dist/index.js')
})

type End = 'SIGTERM' | 'SIGKILL'

async function add(child: StoreChild, end: End): Promise<number> {
  expect(child.said.error).toBeUndefined()
  const client = new MongoClient(child.said.uri ?? '')
  const items = client.db('a').collection('items')
  await items.insertMany(Array.from({ length: 50 }, (_, n) => ({ n, text: 'x'.repeat(2000) })))
  const count = await items.countDocuments()
  await client.close()
  await child.end(end)
  return count
}

const files = ['store.db', 'store.db-wal', 'store.seal']
const digestOf = (home: string) =>
  files.map((name) => existsSync(join(home, name)) && hash('sha256', readFileSync(join(home, name))))

async function refusalOf(home: string, build?: string): Promise<string> {
  const child = await spawnStore(home, build === undefined ? {} : { build })
  await child.ended()
  return String(child.said.error)
}

it.each<End>(['SIGTERM', 'SIGKILL'])(
  'a store of one format older is upgraded with all it holds, and then closed to the older build, after %s',
  async (end) => {
    const home = folder()
    expect(await add(await spawnStore(home, { build: older }), end)).toBe(50)
    // The older build's own start after it, as long as there is no newer one.
    expect(await add(await spawnStore(home, { build: older }), end)).toBe(100)
    expect(await add(await spawnStore(home), end)).toBe(150)
    const before = digestOf(home)
    for (let tries = 0; tries < 2; tries += 1) {
      const told = await refusalOf(home, older)
      expect(told).toMatch(
        `store.db was written by a newer version: it has format ${format}, and this version reads the formats ${format - 1} to ${format - 1}. Nothing in it was changed.`,
      )
      expect(told).not.toMatch(/damage/)
    }
    // After a kill, SQLite has moved the log's pages to where they belong.
    if (end === 'SIGTERM') expect(digestOf(home)).toEqual(before)
    expect(await add(await spawnStore(home), end)).toBe(200)
  },
)

interface Left {
  inLog?: boolean
  seal?: boolean
}

/** A store that a version yet to come left: with another number, in the file or only in the log, or another seal as well. */
async function future(user_version: number, { inLog = false, seal = false }: Left): Promise<string> {
  const [home, made] = [folder(), folder()]
  await add(await spawnStore(home), 'SIGTERM')
  const path = join(home, 'store.db')
  const db = new Database(path)
  if (inLog) {
    db.pragma('journal_mode = WAL')
    db.pragma('wal_autocheckpoint = 0')
  }
  db.pragma(`user_version = ${user_version}`)
  for (const name of files) if (existsSync(join(home, name))) cpSync(join(home, name), join(made, name))
  db.close()
  if (!inLog) Seal.make(join(made, 'store.db'), 8192).close()
  if (seal) {
    const bytes = readFileSync(join(made, 'store.seal'))
    bytes.writeUInt8(2, 7)
    writeFileSync(join(made, 'store.seal'), bytes)
  }
  return made
}

it.each<[string, number, Left, RegExp]>([
  ['in the file', 9, {}, /store\.db was written by a newer version: it has format 9/],
  ['only in the log', 9, { inLog: true }, /store\.db was written by a newer version: it has format 9/],
  ['with a seal of later versions', 9, { seal: true }, /was written by a newer version: it has format 9/],
  [
    'that is this one, with a seal of later versions',
    3,
    { seal: true },
    /seal \S*store\.seal cannot be read/,
  ],
  [
    'that is too old',
    1,
    {},
    /has format 1, and this version reads .*: open it with the version that wrote it/,
  ],
])('a format %s is refused, twice, and nothing is changed', async (_what, number, how, message) => {
  const home = await future(number, how)
  const before = digestOf(home)
  for (let tries = 0; tries < 2; tries += 1) expect(await refusalOf(home)).toMatch(message)
  if (how.inLog !== true) expect(digestOf(home)).toEqual(before)
})
