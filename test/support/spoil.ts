import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'libsql'
import { BSON, type Document } from 'mongodb'
import { z } from 'zod'

/** Another letter right behind the id of each of these documents, in the file of an embedded store that rests and has no seal then. */
export async function spoil(dataDir: string, ids: readonly string[]): Promise<void> {
  const path = join(dataDir, 'store.db')
  const bytes = await readFile(path)
  for (const id of ids) {
    const start = `_id\0${String.fromCharCode(id.length + 1)}\0\0\0${id}\0`
    for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at + 1))
      bytes.writeUInt8(bytes.readUInt8(at + start.length + 2) ^ 1, at + start.length + 2)
  }
  await writeFile(path, bytes)
  await rm(join(dataDir, 'store.seal'))
}

/** Documents a collection can ever have had, in the numbers of their rows. */
const NUMBERS = 2 ** 38

/** No entry of an index that is not unique matches its checksum any more; those of `misplaced` lie under another key. */
export async function spoilIndexes(dataDir: string, misplaced: readonly string[]): Promise<void> {
  const db = new Database(join(dataDir, 'store.db'))
  const find = db.prepare(`SELECT id / ${NUMBERS}, id % ${NUMBERS} FROM documents WHERE instr(body, ?) = 14`)
  const places = misplaced.flatMap((id) => rowsOf(find, Buffer.from(`${id}\0`)))
  for (const [collection, definition] of rowsOf(db.prepare('SELECT id, definition FROM collections'))) {
    for (const { tree, definition: index } of indexesIn(definition)) {
      if (index.name === '_id_' || index.unique === true) continue
      db.prepare('UPDATE entries SET sum = ~sum WHERE tree = ?').run([tree])
      const misplace = db.prepare(
        "UPDATE entries SET key = CAST(key || x'00' AS BLOB) WHERE tree = ? AND number = ?",
      )
      for (const [owner, number] of places) if (owner === collection) misplace.run([tree, number])
    }
  }
  db.close()
  await rm(join(dataDir, 'store.seal'))
}

/** The newest document of that collection does not match its checksum any more; done twice, it does again. */
export async function spoilNewest(dataDir: string, collection: string): Promise<void> {
  const db = new Database(join(dataDir, 'store.db'))
  const [id = 0] =
    rowsOf(db.prepare('SELECT id FROM collections WHERE namespace LIKE ?'), `%.${collection}`)[0] ?? []
  const newest = 'SELECT max(id) FROM documents WHERE id > ? AND id < ?'
  const spoil = db.prepare(`UPDATE documents SET sum = ~sum WHERE id = (${newest})`)
  spoil.run([Number(id) * NUMBERS, (Number(id) + 1) * NUMBERS])
  db.close()
  await rm(join(dataDir, 'store.seal'), { force: true })
}

function indexesIn(definition: unknown): Document[] {
  return definition instanceof Uint8Array ? BSON.deserialize(definition).indexes : []
}

const rows = z.array(z.array(z.union([z.string(), z.number(), z.instanceof(Uint8Array)])))

function rowsOf(statement: Database.Statement, ...bound: unknown[]): z.infer<typeof rows> {
  return rows.parse(statement.raw().all(bound))
}
