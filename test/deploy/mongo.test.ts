import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createContext, Script } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'

describe('make-key-file.sh', () => {
  const script = packagePath('deploy/mongo/make-key-file.sh')
  const make = (file: string) => execFileSync('sh', [script, file, userInfo().username]).toString()

  it('makes a key that MongoDB accepts: 6 to 1024 base64 characters, readable by its owner alone', async () => {
    const file = join(await useFolder(), 'mongo.key')
    expect(make(file)).toBe('replica set key made\n')
    expect(readFileSync(file, 'utf8').replace(/\s/g, '')).toMatch(/^[A-Za-z0-9+/]{1008}$/)
    expect(statSync(file).mode & 0o777).toBe(0o400)
  })

  it('keeps a key that is there, and mends who may read it', async () => {
    const file = join(await useFolder(), 'mongo.key')
    await writeFile(file, 'a-key-in-use', { mode: 0o644 })
    expect(make(file)).toBe('')
    expect(readFileSync(file, 'utf8')).toBe('a-key-in-use')
    expect(statSync(file).mode & 0o777).toBe(0o400)
  })

  it('replaces a key that was never finished', async () => {
    const file = join(await useFolder(), 'mongo.key')
    await writeFile(file, '')
    expect(make(file)).toBe('replica set key made\n')
  })
})

async function useFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-key-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** What MongoDB throws, as mongosh shows it. */
class ServerError extends Error {
  readonly codeName: string
  constructor(codeName: string) {
    super(`refused: ${codeName}`)
    this.codeName = codeName
  }
}

interface User {
  pwd: string
  roles: { role: string; db: string }[]
}

/** As much of a replica set as the script asks for. Connecting costs it a step of its start. */
class Cluster {
  /** What every further connection meets, first come first served; after that it works. */
  readonly trouble: string[]
  config: { _id: string; members: { _id: number; host: string }[] } | undefined
  readonly users = new Map<string, User>()
  readonly addresses: string[] = []
  readonly said: string[] = []
  slept = 0
  exitCode: number | undefined

  constructor(...trouble: string[]) {
    this.trouble = trouble
  }

  run(): void {
    const path = packagePath('deploy/mongo/init-replica-set.js')
    const environment = {
      MONGO_MEMBERS: 'mongo1:27017,mongo2:27017,mongo3:27017',
      MONGO_ROOT_PASSWORD: 'ro/ot',
      MONGO_APP_PASSWORD: 'app',
    }
    const globals = {
      process: { env: environment },
      encodeURIComponent,
      connect: (address: string) => this.connect(address),
      sleep: (milliseconds: number) => {
        this.slept += milliseconds
      },
      print: (line: string) => this.said.push(line),
      quit: (code: number) => {
        this.exitCode = code
      },
    }
    new Script(readFileSync(path, 'utf8'), { filename: path }).runInContext(createContext(globals))
  }

  private connect(address: string) {
    this.addresses.push(address)
    const trouble = this.trouble.shift()
    if (trouble !== undefined) throw new ServerError(trouble)
    if (address.includes('replicaSet=') && this.config === undefined) throw new ServerError('no primary')
    return {
      adminCommand: (command: { replSetGetStatus?: 1; replSetInitiate?: Cluster['config'] }) => {
        if (command.replSetInitiate !== undefined) this.config = structuredClone(command.replSetInitiate)
        else if (this.config === undefined) throw new ServerError('NotYetInitialized')
        return { ok: 1 }
      },
      getSiblingDB: (database: string) => ({
        getUser: (name: string) => (this.users.has(`${database}.${name}`) ? { user: name } : null),
        createUser: ({ user, ...rest }: User & { user: string }) =>
          this.users.set(`${database}.${user}`, structuredClone(rest)),
        updateUser: (name: string, rest: User) =>
          this.users.set(`${database}.${name}`, structuredClone(rest)),
      }),
    }
  }
}

const granted = { pwd: 'app', roles: [{ role: 'readWrite', db: 'countersign' }] }
const members = [
  { _id: 0, host: 'mongo1:27017' },
  { _id: 1, host: 'mongo2:27017' },
  { _id: 2, host: 'mongo3:27017' },
]

describe('init-replica-set.js', () => {
  it('forms the set on its first member, then makes a user that may use its own database only', () => {
    const cluster = new Cluster()
    cluster.run()
    expect([cluster.exitCode, cluster.said]).toEqual([0, ['replica set formed', 'user made']])
    expect(cluster.config).toEqual({ _id: 'rs0', members })
    expect([...cluster.users]).toEqual([['countersign.countersign', granted]])
    expect(cluster.addresses).toEqual([
      'mongodb://root:ro%2Fot@mongo1:27017/admin?serverSelectionTimeoutMS=2000&directConnection=true',
      'mongodb://root:ro%2Fot@mongo1:27017,mongo2:27017,mongo3:27017/admin?serverSelectionTimeoutMS=2000&replicaSet=rs0',
    ])
  })

  it('changes nothing on a set that is as it should be', () => {
    const cluster = new Cluster()
    cluster.config = { _id: 'rs0', members: [...members].reverse() }
    cluster.users.set('countersign.countersign', granted)
    cluster.run()
    expect([cluster.exitCode, cluster.said]).toEqual([0, []])
    expect(cluster.config.members).toEqual([...members].reverse())
    expect([...cluster.users]).toEqual([['countersign.countersign', granted]])
  })

  it('gives an existing user the password of today and no more than its rights', () => {
    const cluster = new Cluster()
    cluster.config = { _id: 'rs0', members }
    cluster.users.set('countersign.countersign', { pwd: 'old', roles: [{ role: 'root', db: 'admin' }] })
    cluster.run()
    expect([cluster.exitCode, [...cluster.users.values()]]).toEqual([0, [granted]])
  })

  it('goes on where it was while members start, the set elects and connections break', () => {
    const cluster = new Cluster('ECONNREFUSED', 'AuthenticationFailed', 'NoReplicationEnabled')
    cluster.run()
    expect([cluster.exitCode, cluster.slept]).toEqual([0, 3000])
    const election = new Cluster()
    election.trouble.push(...['', 'ServerSelection', 'ServerSelection'].filter(Boolean))
    election.config = { _id: 'rs0', members }
    election.run()
    expect([election.exitCode, election.slept, election.users.size]).toEqual([0, 2000, 1])
  })

  it('gives up after two minutes and says why', () => {
    const cluster = new Cluster(...Array.from({ length: 200 }, () => 'HostUnreachable'))
    cluster.run()
    expect([cluster.exitCode, cluster.slept]).toEqual([1, 120_000])
    expect(cluster.said).toEqual(['The replica set is not ready: refused: HostUnreachable'])
  })

  it('tells a changed root password from a slow start', () => {
    const cluster = new Cluster(...Array.from({ length: 200 }, () => 'AuthenticationFailed'))
    cluster.run()
    expect(cluster.exitCode).toBe(1)
    expect(cluster.said.at(-1)).toBe(
      'MONGO_ROOT_PASSWORD must be the one with which the volumes were first started.',
    )
  })
})
