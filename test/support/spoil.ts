import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

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
