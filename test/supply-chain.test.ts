import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../src/config/package-path.ts'

const versions = z.record(z.string(), z.string())
const manifest = z
  .object({
    dependencies: versions,
    devDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()).default({}),
  })
  .parse(JSON.parse(readFileSync(packagePath('package.json'), 'utf8')))
const store = z
  .object({ peerDependencies: versions, devDependencies: versions })
  .parse(JSON.parse(readFileSync(packagePath('embedded-mongo/package.json'), 'utf8')))
const lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      optionalDependencies: versions.optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
})
const lock = lockfile.parse(JSON.parse(readFileSync(packagePath('package-lock.json'), 'utf8')))
/** What the examples of hosts are tried with. */
const agents = 'examples/agents/package'
const ofAgents = lockfile.parse(JSON.parse(readFileSync(packagePath(`${agents}-lock.json`), 'utf8')))
const workflow = readFileSync(packagePath('.github/workflows/ci.yml'), 'utf8')

/** Packages that the service imports. */
const imported = new Set(
  ['dist/src', 'dist/adapters', 'embedded-mongo/dist'].flatMap((folder) =>
    readdirSync(packagePath(folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js'))
      .flatMap((path) => [
        ...readFileSync(packagePath(`${folder}/${path}`), 'utf8').matchAll(
          /(?:from |import\()'((?:@[^/']+\/)?[^./'][^/']*)/g,
        ),
      ])
      .map(([, name = '']) => name),
  ),
)

describe('T87: supply chain', () => {
  it('names every direct dependency by one exact version', () => {
    const { dependencies } = z
      .object({ dependencies: versions })
      .parse(JSON.parse(readFileSync(packagePath(`${agents}.json`), 'utf8')))
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    const loose = [...all, ...Object.entries(dependencies)].filter(
      ([, version]) => !/^(npm:ai@)?\d+\.\d+\.\d+$/.test(version),
    )
    expect(loose).toEqual([])
  })

  it('locks every package by a SHA-512 hash', () => {
    const packages = [lock, ofAgents].flatMap((one) =>
      Object.entries(one.packages).filter(
        ([path, { link }]) => path.startsWith('node_modules/') && link !== true,
      ),
    )
    expect(packages.length).toBeGreaterThan(250)
    expect(
      packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
    ).toEqual([])
  })

  it('locks the binaries of every platform, or npm refuses to install on the others', () => {
    const wanted = Object.values(lock.packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    )
    const locked = Object.keys(lock.packages)
    expect(wanted.length).toBeGreaterThan(20)
    expect(wanted.filter((name) => !locked.some((path) => path.endsWith(`node_modules/${name}`)))).toEqual([])
  })

  it('has decided about every script that a package would run when it is installed, or npm warns of it', () => {
    const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => manifest.allowScripts[name] === undefined)).toEqual([])
  })

  it('takes the embedded store from this repository, bundled with the service and never from a registry', () => {
    expect(lock.packages['node_modules/embedded-mongo']).toEqual({ link: true })
    const direct = { ...manifest.dependencies, ...manifest.devDependencies }
    expect(Object.keys(direct)).not.toContain('embedded-mongo')
    const own = Object.entries({ ...store.peerDependencies, ...store.devDependencies })
    expect(own.filter(([name, version]) => direct[name] !== version)).toEqual([])
  })

  it('uses one MongoDB driver, the one of mongoose', () => {
    const drivers = Object.keys(lock.packages).filter((path) => /(^|\/)node_modules\/mongodb$/.test(path))
    expect(drivers.filter((path) => !path.includes('mongodb-memory-server'))).toEqual([
      'node_modules/mongodb',
    ])
  })

  it('gives a reason for every package that runs, and installs only what cannot be bundled', () => {
    const reasons =
      readFileSync(packagePath('CONTRIBUTING.md'), 'utf8').split('## Dependencies at run time')[1] ?? ''
    const bundled = Object.keys(manifest.devDependencies).filter((name) => imported.has(name))
    expect(bundled.length).toBeGreaterThan(15)
    expect(Object.keys(manifest.dependencies)).toEqual(['libsql'])
    expect(['libsql', ...bundled].filter((name) => !reasons.includes(`\`${name}\``))).toEqual([])
  })

  it('installs in CI without scripts of dependencies, checks signatures, and gives the jobs no more than reading', () => {
    expect(workflow).toMatch(/^permissions: \{\}$/m)
    expect(workflow.match(/^\s+permissions:\n(\s+\w+: \w+\n)+/gm)?.join('')).toMatch(
      /^\s+permissions:\n\s+contents: read\n$/,
    )
    expect(workflow).toContain('npm ci --ignore-scripts')
    expect(workflow).toContain('npm audit signatures')
  })

  it('pins every action of CI by its commit', () => {
    const actions = [...workflow.matchAll(/uses: (\S+)/g)].map((match) => match[1] ?? '')
    expect(actions.length).toBeGreaterThan(0)
    expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([])
  })
})
