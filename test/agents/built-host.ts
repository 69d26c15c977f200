import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { afterAll } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { agentPackages } from './agent-packages.ts'

interface HostNeeds {
  /** Packages under the names that they have in `examples/agents/package.json`. */
  packages?: Record<string, string>
  /** The oldest Node that the host's packages name. */
  node?: number
}

/**
 * Builds a host program of `hosts/` with the client as it is built. Packages are those of `examples/agents`, where it needs any.
 * @returns what `hostileTable` needs of it
 */
export async function builtHost(name: string, needs?: HostNeeds) {
  const packages = needs && (await agentPackages())
  if (needs && packages === undefined)
    return { command: [], skip: 'npm could not install the packages of examples/agents' }
  // Node looks for packages in the folders above a file.
  const above = packages ? join(packages, 'hosts') : tmpdir()
  await mkdir(above, { recursive: true })
  const outDir = await mkdtemp(join(above, 'host-'))
  afterAll(() => rm(outDir, { recursive: true, force: true }))
  await build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    resolve: {
      alias: { '@countersign/client': packagePath('packages/client/dist/index.js'), ...needs?.packages },
    },
    build: {
      outDir,
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
  const node = nodeFor(needs?.node ?? 20, packages)
  if (node === undefined) return { command: [], skip: `it needs Node ${needs?.node}` }
  return { command: [node, join(outDir, `${name}.mjs`)] }
}

/** This one, or the one among the packages. */
function nodeFor(major: number, packages = ''): string | undefined {
  if (Number.parseInt(process.versions.node, 10) >= major) return process.execPath
  const path = join(packages, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  return existsSync(path) ? path : undefined
}
