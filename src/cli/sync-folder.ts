import { open } from 'node:fs/promises'

/** Makes the entries of a folder durable, so that a file keeps the name it was given. Windows does so by itself. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}
