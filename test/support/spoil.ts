import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Changes one bit of this text wherever it stands in the file of an embedded store, as a disk does, also under a running store. */
export async function spoil(dataDir: string, text: string): Promise<void> {
  const path = join(dataDir, 'store.db')
  const bytes = await readFile(path)
  const file = await open(path, 'r+')
  let at = bytes.indexOf(text)
  if (at < 0) throw new Error(`${text} is not in ${path}`)
  for (; at >= 0; at = bytes.indexOf(text, at + 1))
    await file.write(Buffer.of(bytes.readUInt8(at) ^ 1), 0, 1, at)
  await file.close()
}
