import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request, Server } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../src/config/package-path.ts'
import { cli, useDataDir } from './support/cli.ts'
import { freePort, startService, useService } from './support/service.ts'
import { spawnByNpm, spawnService, startServiceProcess } from './support/service-process.ts'
import { startStopwatch } from './support/stopwatch.ts'
import { useWorker } from './support/worker.ts'

/** Whether that port of 127.0.0.1 takes connections. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1')
    probe.once('connect', () => resolve(true))
    probe.once('error', () => resolve(false))
    probe.once('close', () => probe.destroy())
  })
}

const LISTENING = 'tracing:net.server.listen:asyncEnd'

it('does not go on listening when it fails to start after it began to', async () => {
  const port = await freePort()
  let listened = false
  const note = (message: unknown): void => {
    if (Object(message).server instanceof Server) listened = true
  }
  subscribe(LISTENING, note)
  onTestFinished(() => void unsubscribe(LISTENING, note))
  const localTime = (): number => {
    if (listened) throw new Error('no time')
    return Date.now()
  }
  const env = { PORT: String(port), BASE_URL: `http://localhost:${port}`, HOST: '127.0.0.1' }
  await expect(useService({ env, localTime })).rejects.toThrow('no time')
  expect(listened).toBe(true)
  expect(await answers(port)).toBe(false)
})

it('lets go of the store also when something else cannot be closed, and tells what', async () => {
  const worker = await useWorker()
  const service = await startService({ database: worker.database })
  const { deps, connection } = service.composition
  deps.sender.close = () => {
    throw new Error('the sender does not close')
  }
  await expect(service.close()).rejects.toThrow('the sender does not close')
  expect(connection.readyState).toBe(0)
})

/** Loaded before the service: ends it by these signals, 100 ms apart, as soon as it takes requests. */
const impatient = (signals: string[]) => `
import { subscribe } from 'node:diagnostics_channel'
import { Server } from 'node:http'
subscribe('${LISTENING}', ({ server }) => {
  if (server instanceof Server)
    ${JSON.stringify(signals)}.forEach((signal, index) =>
      index === 0 ? process.kill(process.pid, signal) : setTimeout(() => process.kill(process.pid, signal), 100 * index))
})
`

it.each([
  ['by SIGTERM at the first sign of life', ['SIGTERM']],
  // A terminal signals the whole group, and npm forwards its own copy.
  ['by SIGINT that comes twice', ['SIGINT', 'SIGINT']],
])('stops cleanly %s', async (_how, signals) => {
  const [port, { folder, env }] = [String(await freePort()), await useDataDir()]
  const preload = join(folder, 'impatient.mjs')
  await writeFile(preload, impatient(signals))
  const service = spawnService({ ...env, PORT: port, NODE_OPTIONS: `--import ${preload}` })
  onTestFinished(() => service.end('SIGKILL'))
  const [code, signal]: unknown[] = await once(service.child, 'exit')
  expect([code, signal], service.output()).toEqual([0, null])
  expect(service.output()).toMatch(/stopping[\s\S]*\bstopped\b/)
  expect(existsSync(join(env.DATA_DIR ?? '', 'store.db-wal'))).toBe(false)
})

it('is the program of the sources, and stops when the npm that started it is stopped, before that npm is gone', async () => {
  const [port, { env }] = [await freePort(), await useDataDir()]
  const service = spawnByNpm({ ...env, PORT: String(port), BASE_URL: `http://localhost:${port}` })
  onTestFinished(() => endGroup(service.child.pid))
  await service.line(/Countersign is running/)
  // A bundler that takes a built-in's throw for nothing leaves a guard out.
  const malformed = await fetch(`http://localhost:${port}/api/v1/approvals/%ff/verify`)
  expect([malformed.status, await malformed.json()]).toMatchObject([404, { error: 'request not found' }])
  service.child.kill('SIGTERM')
  const [code, signal]: unknown[] = await once(service.child, 'exit')
  expect([code, signal, await answers(port)], service.output()).toEqual([0, null, false])
})

it('is bundled without the table of domain names, and refuses every name that takes one', async () => {
  const ours: unknown = await import(packagePath('scripts/domain-names.mjs'))
  const read = (name: string): unknown => Object(ours).toASCII(name)
  expect(['db-1.example.com', 'DB.Example.COM', '127.0.0.1'].map(read)).toEqual([
    'db-1.example.com',
    'db.example.com',
    '127.0.0.1',
  ])
  for (const name of [
    'münchen.example',
    'xn--a',
    'a b',
    'good.com/.evil.com',
    'a#b',
    'a%41',
    'a\tb',
    'ẞ.de',
    '',
  ])
    expect(read(name), name).toBeNull()
  const folder = packagePath('dist/service')
  for (const name of await readdir(folder)) {
    if (name.endsWith('.js'))
      expect(await readFile(join(folder, name), 'utf8'), name).not.toContain('[[[0,44],')
  }
})

function endGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

it('tells at the start that cards go to Slack, and that the token does not work, before the first request', async () => {
  const [port, nobody] = [String(await freePort()), await freePort()]
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-chat-start-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const service = await startServiceProcess({
    PORT: port,
    BASE_URL: `http://localhost:${port}`,
    DATA_DIR: dataDir,
    SLACK_BOT_TOKEN: 'xoxb-wrong',
    SLACK_SIGNING_SECRET: 'b'.repeat(32),
    SLACK_API_URL: `http://127.0.0.1:${nobody}/api/`,
  })
  onTestFinished(() => service.end('SIGTERM'))
  await service.line(/cards in chat are switched on/)
  await service.line(/finding the workspace of the Slack bot token failed/)
})

it('answers requests that wait to be taken when it is stopped', async () => {
  const service = await startService()
  const port = Number(new URL(service.url).port)
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET /healthz HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -1 <&3`
  const clients = spawn('bash', ['-c', `for i in 1 2 3 4 5; do (${ask}) & done; wait`])
  let said = ''
  clients.stdout.on('data', (chunk) => {
    said += String(chunk)
  })
  const ended = once(clients, 'close')
  // Nothing is taken while this loop turns. A connection whose request has not come yet would be closed as idle.
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const asked = new RegExp(`^ *\\d+: ${local} \\S+ 01 \\w+:(?!0{8})`, 'gm')
  const waiting = () => readFileSync('/proc/net/tcp', 'latin1').match(asked)?.length ?? 0
  while (waiting() < 5);
  await service.close()
  await ended
  expect(said).toBe('HTTP/1.1 200 OK\r\n'.repeat(5))
})

it('closes idle connections when it is stopped, and does not wait for them', async () => {
  const [port, { env }] = [await freePort(), await useDataDir()]
  const service = await startServiceProcess({ ...env, PORT: `${port}`, BASE_URL: `http://localhost:${port}` })
  onTestFinished(() => service.end('SIGKILL'))
  const agent = new Agent({ keepAlive: true })
  const outgoing = request({ host: '127.0.0.1', port, path: '/healthz', agent }).end()
  const [answer]: IncomingMessage[] = await once(outgoing, 'response')
  const { socket } = answer ?? expect.unreachable()
  answer?.resume()
  await once(agent, 'free')
  const ended = [once(socket, 'close'), once(service.child, 'exit')]
  const stop = startStopwatch()
  service.child.kill('SIGTERM')
  await ended[0]
  // Connections with a request under way are cut after 5 s.
  expect(stop()).toBeLessThan(4_000)
  expect(await ended[1]).toEqual([0, null])
})

it('goes on when nothing reads its log any more, and a command when its output finds no room', async () => {
  const [port, { env }] = [String(await freePort()), await useDataDir()]
  const service = await startServiceProcess({ ...env, PORT: port, BASE_URL: `http://localhost:${port}` })
  onTestFinished(() => service.end('SIGKILL'))
  service.child.stdout?.destroy()
  // Each of them is a line of the log.
  for (let asked = 0; asked < 3; asked += 1)
    expect((await fetch(`http://localhost:${port}/api/v1/approvals`)).status).toBe(401)
  const said = (command: string) => {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', command, process.execPath, packagePath('bin/countersign.mjs')],
      {
        env: { PATH: process.env.PATH, ...env },
        encoding: 'utf8',
      },
    )
    return [status, stderr]
  }
  expect(said('"$0" "$1" --help > /dev/full')).toEqual([
    1,
    expect.stringMatching(/^writing the output failed: ENOSPC.*; changes made before this stay\n$/),
  ])
  expect(said('{ "$0" "$1" user list; echo "ended with $?" >&2; } | true')).toEqual([0, 'ended with 0\n'])
  await service.end('SIGTERM')
  expect(service.child.exitCode).toBe(0)
})

it('says what is wrong with a store that it cannot open, and ends at once by itself', async () => {
  const [port, { folder: DATA_DIR }] = [String(await freePort()), await useDataDir()]
  await writeFile(join(DATA_DIR, 'store.db'), 'no database, and longer than the head of one'.repeat(100))
  const { status, signal, stderr } = spawnSync(process.execPath, [packagePath('bin/start.mjs')], {
    env: { PATH: process.env.PATH, DATA_DIR, PORT: port, BASE_URL: `http://localhost:${port}` },
    encoding: 'utf8',
  })
  expect([status, signal, stderr]).toEqual([
    1,
    null,
    expect.stringMatching(/^the store file .* is damaged: .*\n$/),
  ])
})

it('refuses what it cannot write on a disk without room, loses nothing, and goes on by itself; cannot start on one', async () => {
  const [port, { env }] = [String(await freePort()), await useDataDir()]
  const ready = { ...env, PORT: port, BASE_URL: `http://localhost:${port}` }
  await cli(['user', 'invite', 'a@example.com'], { env: ready })
  const made = ['key', 'create', '--owner', 'a@example.com', '--name', 'k', '--sandbox', '--json']
  const { raw_key } = (await cli(made, { env: ready })).json()
  const unused = (await cli(made, { env: ready })).json()
  const service = await startServiceProcess(ready)
  onTestFinished(() => service.end('SIGKILL'))
  const send = async (path: string, { key = raw_key, ...init }: RequestInit & { key?: string } = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`http://localhost:${port}${path}`, { ...init, headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const create = (action: string) =>
    send('/api/v1/approvals/request', { method: 'POST', body: JSON.stringify({ action }) })
  // As a full disk does: no byte more in any file, and none of them is as short as that.
  const room = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(service.child.pid), `--fsize=${bytes}:`])
  const away = { error: 'storage_unavailable', message: expect.any(String), retry_after: 3 }

  expect((await create('before')).status).toBe(201)
  room('512')
  expect(await create('meanwhile')).toEqual({ status: 503, body: away })
  expect(await send('/readyz')).toEqual({ status: 503, body: away })
  await service.line(/the store accepts no writes.*store\.db.* KiB free/)
  // Its use is to be noted beside what it reads.
  for (let read = 0; read < 5; read += 1)
    expect(await send('/api/v1/approvals', { key: unused.raw_key })).toMatchObject({ status: 200 })
  room('unlimited')
  await expect.poll(async () => (await send('/readyz')).status).toBe(200)
  expect((await create('after')).status).toBe(201)
  await service.line(/the store is available again/)
  const { body } = await send('/api/v1/approvals')
  expect(body.data.map(({ action }: { action: string }) => action)).toEqual(['after', 'before'])
  await service.end('SIGTERM')
  expect((await cli(['audit', 'check'], { env: ready })).code).toBe(0)

  const start = ['-c', 'ulimit -S -f 1; exec "$0" "$1"', process.execPath, packagePath('bin/start.mjs')]
  const options = { env: { PATH: process.env.PATH, ...ready }, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync('sh', start, options)
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^the store file .*store\.db cannot be used .*\n$/),
  ])
})

it('says once that its file descriptors ran out, and that the outage is over; others in its folder are told of', async () => {
  const [port, { env }] = [await freePort(), await useDataDir()]
  const ready = { ...env, PORT: String(port), BASE_URL: `http://localhost:${port}`, MAX_OPEN_WAITS: '9' }
  await mkdir(env.DATA_DIR ?? '')
  await chmod(env.DATA_DIR ?? '', 0o777)
  const service = await startServiceProcess(ready)
  onTestFinished(() => service.end('SIGKILL'))
  expect(service.output()).toContain(
    `others can write into ${env.DATA_DIR}; run: chmod 700 ${env.DATA_DIR}\n`,
  )
  const pid = String(service.child.pid)
  const limit = (await readdir(`/proc/${pid}/fd`)).length + 20
  execFileSync('prlimit', ['--pid', pid, `--nofile=${limit}:`])
  const doctor = await cli(['doctor', '--json'], { env: ready })
  expect(doctor.json().checks).toContainEqual({
    name: 'Descriptors',
    status: 'warn',
    detail: `a process may open ${limit}; MAX_OPEN_WAITS=9 needs 520 at most`,
    fix: 'Raise the limit of open files (systemd: LimitNOFILE, Docker: ulimits, a shell: ulimit -n), or set MAX_OPEN_WAITS=1.',
  })
  const callers = Array.from({ length: 60 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  // As short as an outage can be: it is over once the first caller was dropped.
  await Promise.race(callers.map((caller) => once(caller, 'close')))
  for (const caller of callers) caller.destroy()
  await service.line(/error file descriptors ran out; new connections are dropped until some are closed/)
  await service.line(/info {2}file descriptors are available again/)
  expect(service.output().match(/file descriptors ran out/g)).toHaveLength(1)
  expect((await fetch(`http://localhost:${port}/healthz`)).status).toBe(200)
})
