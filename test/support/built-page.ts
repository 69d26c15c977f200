import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const CONFIG = fileURLToPath(new URL('../../webauthn-page/vite.config.ts', import.meta.url))

/** Builds the hosted page as `npm run build` does, but into a folder of its own: test files run side by side. */
export async function buildPage(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-page-'))
  await build({
    configFile: CONFIG,
    logLevel: 'error',
    build: { outDir: folder, reportCompressedSize: false },
  })
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}
