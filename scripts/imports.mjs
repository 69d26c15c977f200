// Reads the sources of the product and what each imports: for test/architecture.test.ts and the picture of docs/architecture.md.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

export const ROOMS = [
  'src',
  'embedded-mongo/src',
  'adapters',
  'webauthn-page',
  'dashboard',
  'packages/client/src',
  'packages/client/cli',
]

/** The rooms of a folder from the ground up: each imports only from those before it. */
export const FLOORS = {
  src: [
    'domain',
    'config',
    'ports',
    'outbound',
    'signing',
    'store',
    'flow',
    'http',
    'jobs',
    'compose',
    'serve.ts',
    'main.ts',
    'cli',
  ],
  'src/flow': [
    'deps.ts',
    'queue',
    'people',
    'keys',
    'requests',
    'audit',
    'bootstrap',
    'tell',
    'relay',
    'webhooks',
    'chat',
    'joining',
    'erase',
    'restore',
  ],
  'src/store': [
    'mongo',
    'clock.ts',
    'lease.ts',
    'api-keys.ts',
    'signing-keys.ts',
    'restores.ts',
    'audit',
    'delivery',
    'people',
    'schema',
    'archive',
    'rate-limits.ts',
    'chat',
    'requests',
    'figures.ts',
    'stores.ts',
  ],
}

/** Every name under which a package of this repository can be imported, and the source that stands behind it. */
const workspaceSources = new Map(
  readPackage('.').workspaces.flatMap((folder) => {
    const { name, exports } = readPackage(folder)
    return Object.entries(exports).flatMap(([path, { source }]) =>
      source === undefined ? [] : [[join(name, path), join(folder, source)]],
    )
  }),
)

/** All TypeScript files below a folder of the repository, with their text and imports; paths are relative to the repository. */
export function sourcesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.includes('node_modules'))
    .map((name) => readSource(join(folder, name)))
}

export function readSource(path) {
  const absolute = join(root, path)
  const text = readFileSync(absolute, 'utf8')
  const statements = code(text).matchAll(
    /^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
  )
  const imports = [...statements].map(([, type, from, bare, dynamic]) => ({
    target: resolveImport(absolute, from ?? bare ?? dynamic ?? ''),
    typeOnly: type !== undefined,
  }))
  return { path, text, imports }
}

/** The text without comments. */
export function code(text) {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

function resolveImport(from, target) {
  if (target.startsWith('.')) return relative(root, resolve(dirname(from), target))
  return workspaceSources.get(target) ?? target
}

function readPackage(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
}
