import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { packagePath } from '../../src/config/package-path.ts'

/** Builds a host program of `hosts/` with the client as it is built, and all else as packages. @returns the command that starts it */
export async function builtHost(
  name: string,
  folder = mkdtempSync(join(tmpdir(), 'host-')),
): Promise<string[]> {
  await build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    resolve: { alias: { '@countersign/client': packagePath('packages/client/dist/index.js') } },
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      lib: {
        entry: packagePath(`test/agents/hosts/${name}.ts`),
        formats: ['es'],
        fileName: () => `${name}.mjs`,
      },
      rolldownOptions: { external: /^(?!@countersign\/client$)(?:node:)?[@\w]/ },
    },
  })
  return [process.execPath, join(folder, `${name}.mjs`)]
}
