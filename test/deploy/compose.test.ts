import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig, VARIABLES } from '../../src/config/config.ts'
import { packagePath } from '../../src/config/package-path.ts'
import { type ComposeService, composeData, readComposeFile } from './compose-file.ts'
import { pairs, parseDockerfile } from './dockerfile.ts'
import { newEnv, useProject } from './env-file.ts'
import { textOf } from './image-rehearsal.ts'
import { shipped } from './nginx.ts'

const FILES = ['docker-compose.yml', 'deploy/docker-compose.https.yml']
const SECRETS = {
  BASE_URL: 'https://approvals.example.com',
  API_KEY_PEPPER: 'a',
  TOKEN_SECRET: 'b',
  SEALING_KEY: 'c',
  WEBHOOK_MASTER_SECRET: 'd',
  MONGO_ROOT_PASSWORD: 'root-password',
  MONGO_APP_PASSWORD: 'app-password',
}
const compose = readComposeFile('docker-compose.yml', SECRETS)
const https = readComposeFile('deploy/docker-compose.https.yml', { TLS_DIR: '/etc/tls' })

function service(name: string): ComposeService {
  return compose.services[name] ?? expect.unreachable(`no service ${name}`)
}

describe('the compose files', () => {
  // The file calls its dialect by an address that is not the registered one.
  const published = JSON.parse(
    readFileSync(packagePath('test/vectors/compose-spec/compose-spec.json'), 'utf8'),
  )
  const schema = z.fromJSONSchema({ ...published, $schema: 'http://json-schema.org/draft-07/schema#' })

  it.each(FILES)('%s is valid by the schema of the Compose Specification', (path) => {
    expect(schema.safeParse(composeData(path)).error).toBeUndefined()
  })

  it('are judged by a schema that sees mistakes', () => {
    const mistakes = [
      { services: { a: { imagee: 'x' } } },
      { services: { a: { image: 'x', depends_on: { b: { condition: 'service_ready' } } } } },
      { service: {} },
    ]
    expect(mistakes.map((mistake) => schema.safeParse(mistake).success)).toEqual([false, false, false])
  })

  it('mount only files that exist', () => {
    const files = [compose, https]
      .flatMap(({ services }) => Object.values(services))
      .flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''))
      .filter((source) => source.startsWith('./'))
    expect(files.length).toBeGreaterThan(5)
    expect(files.filter((file) => !existsSync(packagePath(file)))).toEqual([])
  })

  it('name every image by a full version', () => {
    const images = Object.values(compose.services).map(({ image }) => image)
    expect([...new Set(images)]).toEqual([
      expect.stringMatching(/^nginx:\d+\.\d+\.\d+-alpine$/),
      'countersign:local',
      expect.stringMatching(/^mongo:\d+\.\d+\.\d+$/),
    ])
  })

  it('publish the proxy alone, plain http on this machine alone', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined)
    expect(published.map(([name, { ports }]) => [name, ports])).toEqual([['proxy', ['127.0.0.1:8080:8080']]])
    expect(https.services.proxy?.ports).toEqual(['80:8080', '443:8443'])
  })

  it('start in order: key, members, set, service, proxy', () => {
    const order = (name: string) =>
      Object.entries(service(name).depends_on ?? {}).map(([on, { condition }]) => `${on} ${condition}`)
    const members = ['mongo1', 'mongo2', 'mongo3'].map((name) => `${name} service_healthy`)
    expect(order('proxy')).toEqual(['countersign service_healthy'])
    expect(order('countersign')).toEqual(['mongo-init service_completed_successfully', ...members])
    expect(order('mongo-init')).toEqual(members)
    for (const name of ['mongo1', 'mongo2', 'mongo3'])
      expect(order(name)).toEqual(['mongo-key service_completed_successfully'])
  })

  it('give no process more rights than it needs', () => {
    const running = Object.values(compose.services).filter(({ restart }) => restart !== undefined)
    expect(running).toHaveLength(5)
    for (const { security_opt } of running) expect(security_opt).toEqual(['no-new-privileges:true'])
    for (const name of ['proxy', 'countersign'])
      expect([service(name).cap_drop, service(name).read_only]).toEqual([['ALL'], true])
    expect(service('countersign').cap_add).toBeUndefined()
  })
})

it('no log grows without bound', () => {
  expect(Object.values(compose.services).filter(({ logging }) => logging?.driver !== 'local')).toEqual([])
})

it('files and connections suffice for the waits that the service takes, two connections each', () => {
  const { MAX_OPEN_WAITS = '' } = service('countersign').environment ?? {}
  expect(MAX_OPEN_WAITS).toBe('')
  const number = (name: string) => Number(new RegExp(`${name} (\\d+);`).exec(shipped('nginx.conf'))?.[1])
  expect(number('worker_connections')).toBeGreaterThan(2 * 1.1 * readConfig({}).maxOpenWaits)
  expect(number('worker_rlimit_nofile')).toBeGreaterThan(number('worker_connections'))
  for (const name of ['proxy', 'countersign'])
    expect(service(name).ulimits?.nofile.hard).toBeGreaterThanOrEqual(number('worker_rlimit_nofile'))
})

it('has a place for the file of FIDO_METADATA_FILE', () => {
  expect(service('countersign').volumes).toEqual(['./deploy/fido:/fido:ro'])
})

describe('the service under docker compose', () => {
  const { environment = {}, deploy, stop_grace_period } = service('countersign')

  it('runs as two processes', () => expect(deploy?.replicas).toBe(2))

  it('is given every setting but those of its image and the switches that production refuses', () => {
    // STORE asks for the embedded one.
    const ofTheImage = ['HOST', 'PORT', 'DATA_DIR', 'STORE']
    const refused =
      /^(NODE_TLS_REJECT_UNAUTHORIZED|NODE_USE_ENV_PROXY|\w+_PROXY|TEAMS_(OPENID_URL|LOGIN_URL|SERVICE_HOSTS|ALLOW_UNAUTHENTICATED))$/
    const wanted = VARIABLES.filter((name) => name === 'TRUST_PROXY' || !refused.test(name))
    expect(Object.keys(environment).sort()).toEqual(
      wanted.filter((name) => !ofTheImage.includes(name)).sort(),
    )
  })

  it('is in production unless .env says otherwise, and counts one proxy', () => {
    expect(environment).toMatchObject({ NODE_ENV: 'production', TRUST_PROXY: '1' })
  })

  it('has time to finish what is under way', () => {
    const [answering, longestAttempt, stopMargin, givingBack] = [5, 30, 10, 2]
    const worst = answering + longestAttempt + stopMargin + givingBack
    expect(Number(stop_grace_period?.replace('s', ''))).toBeGreaterThan(worst)
  })

  it.each(Object.keys(SECRETS))('does not start without %s, and says what to run', (name) => {
    expect(() => readComposeFile('docker-compose.yml', { ...SECRETS, [name]: '' })).toThrow(
      `required variable ${name} is missing a value: is missing; run: sh deploy/new-env.sh`,
    )
  })

  it('reaches MongoDB as its own user, and the root password reaches only MongoDB', () => {
    expect(environment.MONGODB_URI).toBe(
      'mongodb://countersign:app-password@mongo1:27017,mongo2:27017,mongo3:27017/countersign?replicaSet=rs0',
    )
    const knowing = Object.entries(compose.services).filter(([, about]) =>
      JSON.stringify(about).includes(SECRETS.MONGO_ROOT_PASSWORD),
    )
    expect(knowing.map(([name]) => name)).toEqual(['mongo1', 'mongo-init'])
  })
})

describe('MongoDB under docker compose', () => {
  const members = ['mongo1', 'mongo2', 'mongo3']

  it('is three members of one set with a key file, on a network without a way out', () => {
    for (const name of members) {
      const { command = [], networks, volumes } = service(name)
      expect(command.join(' ')).toContain('--replSet rs0 --keyFile /keys/mongo.key')
      expect(networks).toEqual(['store'])
      expect(volumes).toEqual([`${name}-data:/data/db`, 'mongo-key:/keys:ro'])
    }
    expect(compose.networks?.store?.internal).toBe(true)
    expect(service('mongo-key').entrypoint?.at(-1)).toBe('/keys/mongo.key')
    expect(service('mongo-init').environment?.MONGO_MEMBERS).toBe(
      members.map((name) => `${name}:27017`).join(','),
    )
  })

  it('takes root from the first member alone: members with data of their own could not join', () => {
    expect(members.map((name) => service(name).environment?.MONGO_INITDB_ROOT_USERNAME)).toEqual([
      'root',
      undefined,
      undefined,
    ])
  })
})

describe('ports and names', () => {
  const runtime = parseDockerfile(readFileSync(packagePath('Dockerfile'), 'utf8')).at(-1)?.instructions ?? []

  it('agree from the published port over the proxy to the process', () => {
    const { PORT } = pairs(textOf(runtime, 'ENV'))
    expect(shipped('upstream.conf')).toContain(`server countersign:${PORT} resolve`)
    expect(shipped('listen-http.conf')).toMatch(/listen 8080;/)
    expect(shipped('listen-https.conf')).toMatch(/listen 8443 ssl;[\s\S]*listen 8080;/)
    expect(compose.services).toHaveProperty('countersign')
  })

  it('share networks where they talk', () => {
    expect(service('proxy').networks).toEqual(['front'])
    expect(service('countersign').networks).toEqual(['front', 'store'])
    expect(service('mongo-init').networks).toEqual(['store'])
  })
})

const composeVersion = versionOfCompose()
describe.skipIf(composeVersion === undefined)(
  `docker compose ${composeVersion ?? '(not installed: SKIPPED)'}`,
  () => {
    it('reads the files as these tests do', async () => {
      const folder = await useProject()
      await cp(packagePath('docker-compose.yml'), join(folder, 'docker-compose.yml'))
      await cp(packagePath('deploy'), join(folder, 'deploy'), { recursive: true })
      const config = (...args: string[]) =>
        promisify(execFile)(...composeCommand(...args, 'config'), {
          cwd: folder,
          env: { PATH: process.env.PATH },
        })
      await expect(config()).rejects.toThrow(/is missing; run: sh deploy\/new-env\.sh/)
      await newEnv(folder)
      const { stdout } = await config()
      expect(parse(stdout)).toMatchObject({
        services: {
          countersign: { deploy: { replicas: 2 }, environment: { BASE_URL: 'http://localhost:8080' } },
          mongo3: { image: service('mongo3').image },
        },
      })
      const both = FILES.flatMap((file) => ['-f', file])
      await expect(config(...both)).rejects.toThrow(/TLS_DIR is missing a value/)
    })
  },
)

/** The plug-in of the docker command, or the program DOCKER_COMPOSE names. */
function composeCommand(...args: string[]): [string, string[]] {
  const program = process.env.DOCKER_COMPOSE
  return program === undefined ? ['docker', ['compose', ...args]] : [program, args]
}

function versionOfCompose(): string | undefined {
  try {
    const [program, args] = composeCommand('version', '--short')
    return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
  }
}
