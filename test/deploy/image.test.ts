import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { buildInfo, packagePath } from '../../src/config/package-path.ts'
import { readZip } from '../support/read-zip.ts'
import { freePort } from '../support/service.ts'
import { startProcess } from './child.ts'
import { execForm, ignores, pairs, parseDockerfile } from './dockerfile.ts'
import { COMMIT, type RehearsedImage, rehearseImage, textOf } from './image-rehearsal.ts'

const stages = parseDockerfile(readFileSync(packagePath('Dockerfile'), 'utf8'))
const runtime = stages.at(-1)?.instructions ?? []

describe('Dockerfile', () => {
  it('builds every stage on one Node 24 image with a full version and glibc', () => {
    expect(new Set(stages.map(({ image }) => image)).size).toBe(1)
    expect(stages[0]?.image).toMatch(/^node:24\.\d+\.\d+-bookworm-slim$/)
    expect(stages.map(({ name }) => name)).toEqual(['build', 'dependencies', undefined])
  })

  it('takes COMMIT before it builds', () => {
    const names = stages[0]?.instructions.map(({ name, text }) => `${name} ${text}`) ?? []
    expect(names.slice(-3, -1)).toEqual(['ARG COMMIT', 'RUN node scripts/build.mjs'])
  })

  it('runs as a user that is not root, by exec forms that pass signals on to node', () => {
    expect(textOf(runtime, 'USER')).toBe('node')
    expect(execForm(textOf(runtime, 'ENTRYPOINT'))[0]).toBe('node')
    expect(execForm(textOf(runtime, 'CMD'))).toEqual(['serve'])
    expect(execForm(textOf(runtime, 'HEALTHCHECK').replace(/^CMD /, ''))[0]).toBe('node')
    expect(textOf(runtime, 'STOPSIGNAL')).toBe('SIGTERM')
    const names = runtime.map(({ name }) => name)
    expect(names.lastIndexOf('COPY')).toBeLessThan(names.indexOf('USER'))
    expect(names.lastIndexOf('RUN')).toBeLessThan(names.indexOf('USER'))
  })

  it('listens on the port it exposes, in production, and keeps its data on the volume', () => {
    const env = pairs(textOf(runtime, 'ENV'))
    expect(env).toEqual({ NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '3000', DATA_DIR: '/data' })
    expect(textOf(runtime, 'EXPOSE')).toBe(env.PORT)
    expect(textOf(runtime, 'VOLUME')).toBe(env.DATA_DIR)
    expect(() => readConfig(env)).toThrow(/BASE_URL: must be set in production/)
    expect(readConfig({ ...env, NODE_ENV: 'test' })).toMatchObject({ host: '0.0.0.0', port: 3000 })
  })

  it('is labelled with the version and licence of the package', () => {
    const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))
    expect(pairs(textOf(runtime, 'LABEL'))).toMatchObject({
      'org.opencontainers.image.title': 'Countersign',
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.licenses': manifest.license,
    })
  })

  it('never runs install scripts of dependencies (T87)', () => {
    const installs = stages.flatMap(({ instructions }) =>
      instructions.filter(({ name, text }) => name === 'RUN' && text.includes('npm ')),
    )
    expect(installs.map(({ text }) => text)).toEqual([
      'npm ci --ignore-scripts',
      'npm pack --ignore-scripts && tar -xzf countersign-*.tgz',
      'npm ci --omit=dev --ignore-scripts --workspaces=false',
    ])
  })
})

describe('.dockerignore', () => {
  const dockerignore = readFileSync(packagePath('.dockerignore'), 'utf8')

  it.each([
    '.env',
    '.env.local',
    '.env.new',
    'data/secrets.json',
    'data/store.sqlite',
    'deploy/tls/privkey.pem',
  ])('keeps %s out of the build', (path) => expect(ignores(dockerignore, path)).toBe(true))

  it.each([
    '.git/config',
    'node_modules/express/index.js',
    'dist/service/main.js',
    'embedded-mongo/dist/index.js',
    'test/config.test.ts',
    'embedded-mongo/test/support.ts',
    'README.md',
  ])('keeps %s out, which the build does not need', (path) => expect(ignores(dockerignore, path)).toBe(true))

  it.each([
    'src/main.ts',
    'embedded-mongo/src/index.ts',
    'embedded-mongo/package.json',
    'bin/countersign.mjs',
    'deploy/healthcheck.mjs',
    'deploy/teams/color.png',
    'package-lock.json',
    'tsconfig.json',
  ])('lets %s in', (path) => expect(ignores(dockerignore, path)).toBe(false))
})

describe('what the Dockerfile builds', () => {
  let image: RehearsedImage
  let folder: string
  let dataDir: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-image-'))
    dataDir = join(folder, 'volume')
    image = await rehearseImage(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('holds the package and what it does not bundle, in few bytes, and neither sources nor tools', async () => {
    const app = join(image.root, 'app')
    const list = async (path: string) => (await readdir(join(app, path))).toSorted()
    expect(await list('.')).toEqual([
      'LICENSE',
      'bin',
      'deploy',
      'dist',
      'node_modules',
      'openapi.json',
      'package.json',
      'scripts',
    ])
    const pages = ['dashboard', 'service-worker', 'webauthn-page']
    expect(await list('dist')).toEqual(['build.json', 'service', ...pages].toSorted())
    expect(await list('scripts')).toEqual(['build.mjs', 'parts.mjs'])
    const installed = (await list('node_modules')).filter((name) => !name.startsWith('.'))
    expect(installed).toEqual(['@libsql', '@neon-rs', 'detect-libc', 'libsql'])
    const files = await readdir(app, { recursive: true, withFileTypes: true })
    expect(files.filter(({ name }) => name.endsWith('.map'))).toEqual([])
    const own = files.filter((file) => file.isFile() && !file.parentPath.includes('node_modules'))
    const sizes = own.map(({ parentPath, name }) => statSync(join(parentPath, name)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10e6)
    expect(readFileSync(join(app, 'dist/service/licenses.md'), 'utf8')).toContain('## mongoose - ')
  })

  it('can write the package of the Teams app', async () => {
    const out = join(folder, 'teams.zip')
    const env = {
      PATH: process.env.PATH ?? '',
      BASE_URL: 'https://approvals.example.com',
      TEAMS_APP_ID: '00000000-0000-0000-0000-000000000000',
      TEAMS_APP_PASSWORD: 'secret',
      TEAMS_TENANT_ID: '11111111-1111-1111-1111-111111111111',
    }
    const command = [join(image.root, 'app/bin/countersign.mjs'), 'teams', 'package', '--out', out]
    await promisify(execFile)(process.execPath, command, { cwd: folder, env })
    expect(readZip(out).map(({ name }) => name)).toEqual(['manifest.json', 'color.png', 'outline.png'])
  })

  it('starts with its production install, is healthy once it answers, and ends cleanly on SIGTERM', async () => {
    const port = String(await freePort())
    const env = {
      ...image.env,
      NODE_ENV: 'development',
      HOST: '127.0.0.1',
      PORT: port,
      DATA_DIR: dataDir,
      PATH: process.env.PATH ?? '',
    }
    const check = () => {
      const [, ...args] = image.healthcheck
      return promisify(execFile)(process.execPath, args, { env, cwd: join(image.root, 'app') }).then(
        ({ stdout }) => ({ code: 0, stdout }),
        ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
      )
    }
    expect(await check()).toEqual({ code: 1, stdout: `no answer on port ${port}: ECONNREFUSED\n` })

    const [, ...args] = image.command
    const service = startProcess(process.execPath, args, { env, cwd: join(image.root, 'app') })
    onTestFinished(() => service.end('SIGKILL'))
    await service.line(/Countersign is running/)
    // It gives up after four seconds, and Docker asks again, as a machine that is busy needs.
    await expect.poll(check).toEqual({ code: 0, stdout: '200 {"status":"ready"}\n' })
    const health: unknown = await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()
    expect(health).toEqual({ status: 'ok', version: buildInfo().version, commit: COMMIT })
    expect((await fetch(`http://127.0.0.1:${port}/docs`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${port}/setup`)).status).toBe(200)

    await service.end('SIGTERM')
    expect(service.child.exitCode).toBe(0)
    expect((await check()).code).toBe(1)
  })
})
