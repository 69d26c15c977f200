import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../src/config/config.ts'
import { packagePath } from '../../src/config/package-path.ts'
import { FROM_FILES } from '../../src/config/secret-files.ts'
import { describeWith } from './describe-with.ts'

const shipped = (path: string): string => readFileSync(packagePath(`deploy/${path}`), 'utf8')

async function newFolder(where: string): Promise<string> {
  const folder = await mkdtemp(join(where, 'run-it-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

describeWith('SYSTEMD_ANALYZE_PATH', process.env.SYSTEMD_ANALYZE_PATH ?? '/usr/bin/systemd-analyze')(
  'the units of systemd',
  () => {
    const names = readdirSync(packagePath('deploy/systemd'))
    const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })

    it('are units that systemd understands', async () => {
      const folder = await newFolder(tmpdir())
      for (const name of names)
        await writeFile(
          join(folder, name),
          shipped(`systemd/${name}`).replace('/usr/bin/node', process.execPath),
        )
      const { status, stderr } = analyze('verify', ...names.map((name) => join(folder, name)))
      expect([status, stderr]).toEqual([0, ''])
    })

    it.each(names.filter((name) => name.endsWith('.service')))('leave %s little to misuse', (name) => {
      const path = packagePath(`deploy/systemd/${name}`)
      const { stdout } = analyze('security', '--offline=true', '--no-pager', path)
      expect(Number(/exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2)
    })
  },
)

it('the command beside the service of systemd has its settings and secrets, and runs in its folder', async () => {
  const folder = await newFolder(tmpdir())
  await writeFile(
    join(folder, 'env'),
    `# Read as by systemd.\nBASE_URL="https://approvals.example.com"\nTRUST_PROXY=10.0.0.0/8, loopback\nSTORE=embedded\nOTHER=a&b $c`,
  )
  for (const name of ['api_key_pepper', 'token_secret', 'sealing_key', 'webhook_master_secret'])
    await writeFile(join(folder, name), execFileSync('openssl', ['rand', '-base64', '32']))
  // Only root may become another user.
  const asUser = process.getuid?.() === 0 ? 'runuser -u root --' : ''
  const script = shipped('countersign.sh')
    .replaceAll('/etc/countersign', folder)
    .replace('/var/lib/countersign', join(folder, 'data'))
    .replace('/srv/countersign', packagePath('.'))
    .replace('runuser -u countersign --', asUser)
  const countersign = (...args: string[]) =>
    spawnSync('sh', ['-c', script, 'countersign', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
  const made = countersign('user', 'invite', 'ann@example.com', '--json')
  expect([made.status, made.stderr]).toEqual([0, ''])
  expect(JSON.parse(made.stdout)).toMatchObject({
    enroll_url: expect.stringContaining('https://approvals.example.com/'),
  })
  expect(readdirSync(join(folder, 'data'))).toContain('store.db')
  // In production no secrets are made: they were all given.
  expect(readdirSync(join(folder, 'data'))).not.toContain('secrets.json')
  expect(countersign('user', 'list').stdout).toContain('ann@example.com')
})

describe('the manifests of Kubernetes', () => {
  const documents = parseAllDocuments(shipped('kubernetes/countersign.yaml')).map((one): unknown =>
    one.toJS(),
  )

  it('have the types of the published API, and no field that it lacks', async () => {
    // Below the package: there the compiler finds the types.
    const folder = await newFolder(packagePath('node_modules'))
    const kinds = {
      ConfigMap: 'core/v1',
      Deployment: 'apps/v1',
      Service: 'core/v1',
      PodDisruptionBudget: 'policy/v1',
      NetworkPolicy: 'networking/v1',
    }
    const kind = z.object({
      kind: z.enum(['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy']),
    })
    const lines = documents.map((document, n) => {
      const type = kind.parse(document).kind
      return `export const one${n} = ${JSON.stringify(document)} satisfies import('kubernetes-types/${kinds[type]}').${type}`
    })
    await writeFile(join(folder, 'manifests.ts'), lines.join('\n'))
    const flags =
      '--ignoreConfig --noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --types'.split(
        ' ',
      )
    const tsc = packagePath('node_modules/.bin/tsc')
    expect(spawnSync(tsc, [...flags, '', join(folder, 'manifests.ts')], { encoding: 'utf8' }).stdout).toBe('')
  })

  it('set only what the service knows, and every secret by a file', async () => {
    const folder = await newFolder(tmpdir())
    const config = z.object({ data: z.record(z.string(), z.string()) }).parse(documents[0]).data
    const env: Record<string, string> = { NODE_ENV: 'production' }
    for (const [name, value] of Object.entries(config)) {
      expect(FROM_FILES).not.toContain(name)
      env[name] = value.replace('/run/secrets/countersign', folder)
    }
    const files = Object.keys(env).filter((name) => name.endsWith('_FILE'))
    for (const name of files) {
      const secret = execFileSync('openssl', ['rand', '-base64', '32'], { encoding: 'utf8' })
      const text = name.startsWith('MONGODB') ? 'mongodb://db.example.com/countersign?replicaSet=rs0' : secret
      await writeFile(String(env[name]), text)
    }
    expect(readConfig(env).warnings).toEqual([])
  })
})

describeWith('CADDY_PATH', process.env.CADDY_PATH ?? '/usr/bin/caddy')('the example for Caddy', () => {
  it('is one that Caddy reads', () => {
    const args = [
      'adapt',
      '--validate',
      '--adapter',
      'caddyfile',
      '--config',
      packagePath('deploy/caddy/Caddyfile'),
    ]
    const { status, stdout } = spawnSync(process.env.CADDY_PATH ?? '/usr/bin/caddy', args, {
      encoding: 'utf8',
    })
    expect(status).toBe(0)
    expect(stdout).toContain('"127.0.0.1:3000"')
  })
})
