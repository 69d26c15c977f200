import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { cli } from '../support/cli.ts'
import { expectStatus, linkToken } from '../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { freePort } from '../support/service.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'
import { startProcess, type WatchedProcess } from './child.ts'
import { parseDotEnv, readComposeFile } from './compose-file.ts'
import { fillProject, newEnv } from './env-file.ts'
import { describeWithNginx, type RunningProxy, startProxy, useProxy } from './nginx.ts'

describeWithNginx('two processes on one countersign store, behind the proxy', () => {
  const authenticator = createSoftAuthenticator()
  const running: WatchedProcess[] = []
  let folder: string
  let url: string
  let proxy: RunningProxy
  let environment: Record<string, string>
  let ports: [number, number]
  let browser: HttpClient
  let key: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-processes-'))
    ports = [await freePort(), await freePort()]
    const processes = ports.map((port) => `127.0.0.1:${port}`)
    proxy = await startProxy({ processes })
    url = `http://localhost:${proxy.port}`
    const own = { PATH: process.env.PATH ?? '', DATA_DIR: join(folder, 'data') }
    const store = countersign(['store'], own)
    const [, MONGODB_URI = ''] = await store.line(/^MONGODB_URI=(\S+)$/m)
    environment = { ...own, ...(await composeEnvironment()), MONGODB_URI }
    for (const port of ports) await serve(port)
    await enrol()
  })
  afterAll(async () => {
    for (const each of running.reverse()) await each.end('SIGTERM')
    await proxy.end()
    await rm(folder, { recursive: true, force: true })
  })

  function countersign(args: string[], env: Record<string, string>): WatchedProcess {
    const options = { cwd: folder, env }
    const started = startProcess(process.execPath, [packagePath('bin/countersign.mjs'), ...args], options)
    running.push(started)
    return started
  }

  async function serve(port: number, host = '127.0.0.1'): Promise<WatchedProcess> {
    const service = countersign(['serve'], { ...environment, HOST: host, PORT: String(port) })
    await service.line(/Countersign is running/)
    return service
  }

  /** What docker-compose.yml gives the service for this address. */
  async function composeEnvironment(): Promise<Record<string, string>> {
    await fillProject(folder)
    await newEnv(folder, url)
    const dotEnv = parseDotEnv(readFileSync(join(folder, '.env'), 'utf8'))
    return readComposeFile('docker-compose.yml', dotEnv).services.countersign?.environment ?? {}
  }

  /** Enrols an owner and makes a key, all through the proxy. */
  async function enrol(): Promise<void> {
    const invited = await cli(['user', 'invite', 'owner@example.com', '--json'], { env: environment })
    const token = linkToken(invited.json().enroll_url)
    browser = createHttpClient(url)
    const asked = await browser.post('/api/v1/enrollment/passkey/options', { token })
    const credential = authenticator.register(expectStatus(asked, 200).options, { origin: url })
    expectStatus(
      await browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'laptop', credential }),
      201,
    )
    key = await newKey()
  }

  /** Its minute of the rate limit begins when it is used first. */
  const newKey = async (): Promise<string> =>
    expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'agent' }), 201).raw_key

  const call = (base: string, path: string, body?: object) =>
    fetch(`${base}/api/v1/approvals${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })

  /** Asks one process directly. */
  async function ask(port = ports[0]): Promise<string> {
    const made = await call(`http://localhost:${port}`, '/request', { action: 'Deploy release 4.2' })
    expect(made.status).toBe(201)
    return JSON.parse(await made.text()).id
  }

  async function approve(id: string): Promise<void> {
    const asked = await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' })
    const passkey = authenticator.authenticate(expectStatus(asked, 200).options, { origin: url })
    expectStatus(
      await browser.post(`/api/v1/approvals/${id}/decision`, { decision: 'approved', passkey }),
      200,
    )
  }

  /** Sends two waits, and resolves when both have arrived at the service: each is counted as a read. */
  async function startWaits(base: string, id: string): Promise<{ answers: Promise<Response[]> }> {
    const readsLeft = async () => {
      const read = await call(`http://localhost:${ports[0]}`, `/${id}`)
      return Number(read.headers.get('x-ratelimit-remaining'))
    }
    const before = await readsLeft()
    const answers = Promise.all([1, 2].map(() => call(base, `/${id}/wait?timeout=60`)))
    let own = 0
    const arrived = async () => {
      own += 1
      return before - (await readsLeft()) - own
    }
    // Each look is a read, too: at this pace they never reach the limit, which would refuse the waits.
    await expect.poll(arrived, { interval: 1000 }).toBe(2)
    return { answers }
  }

  /** Which processes answered the waits, by the proxy's log. */
  const answeredBy = (through: RunningProxy, id: string): string[] =>
    [...through.log().matchAll(/"GET (\S+)" .* upstream=(.+) request_id/g)]
      .filter(([, asked]) => asked === `/api/v1/approvals/${id}/wait`)
      .map(([, , upstream = '']) => upstream)

  it('wakes a wait on either process when a request made on one is decided through the proxy', async () => {
    key = await newKey()
    const id = await ask()
    const { answers } = await startWaits(url, id)
    await approve(id)
    for (const answer of await answers) {
      expect(answer.status).toBe(200)
      expect(JSON.parse(await answer.text())).toMatchObject({ id, status: 'approved' })
    }
    const verified = await fetch(`${url}/api/v1/approvals/${id}/verify`)
    expect(JSON.parse(await verified.text())).toMatchObject({ valid: true })
    await expect
      .poll(() => answeredBy(proxy, id).sort())
      .toEqual(ports.map((port) => `127.0.0.1:${port}`).sort())
  })

  it('passes events on as they happen, on either process', async () => {
    const id = await ask()
    const streams = await Promise.all([call(url, `/${id}/events`), call(url, `/${id}/events`)])
    const readers = streams.map((stream) => stream.body?.pipeThrough(new TextDecoderStream()).getReader())
    const readTo = async (pattern: RegExp): Promise<void> => {
      for (const reader of readers) {
        let text = ''
        for (let parts = 0; parts < 20 && !pattern.test(text); parts += 1) {
          const { value = '', done } = (await reader?.read()) ?? expect.unreachable()
          if (done) break
          text += value
        }
        expect(text).toMatch(pattern)
      }
    }
    await readTo(/^event: status\n.*\ndata: .*"status":"pending"/m)
    await approve(id)
    await readTo(/^event: status\n.*\ndata: .*"status":"approved"/m)
    for (const reader of readers) expect((await reader?.read())?.done).toBe(true)
  })

  it('T65: counts a caller by the address it connects from, whatever it writes into X-Forwarded-For', async () => {
    const remaining = async (port: number, from: string, forwarded: string): Promise<number> => {
      const path = '/api/v1/approvals/req_00000000000000000000000000/verify'
      const headers = { 'X-Forwarded-For': forwarded }
      const sent = request({ host: '127.0.0.1', port, path, localAddress: from, headers, agent: false }).end()
      const [answer]: IncomingMessage[] = await once(sent, 'response')
      answer?.resume()
      return Number(answer?.headers['x-ratelimit-remaining'])
    }
    const forgeries = ['198.51.100.1', '198.51.100.2, 198.51.100.3', '127.0.0.1', 'unknown']
    for (const [index, forged] of forgeries.entries()) {
      expect(await remaining(proxy.port, '127.0.0.3', forged)).toBe(299 - index)
    }
    // Another caller has a limit of its own: the proxy's word is heard, by both processes.
    expect(await remaining(proxy.port, '127.0.0.2', '127.0.0.1')).toBe(299)
    expect(await remaining(proxy.port, '127.0.0.2', '127.0.0.1')).toBe(298)
    // The last entry alone counts, as the proxy appended it.
    expect(await remaining(ports[0], '127.0.0.1', '127.0.0.1, 203.0.113.1')).toBe(299)
    expect(await remaining(ports[1], '127.0.0.1', '127.0.0.2, 203.0.113.1')).toBe(298)
  })

  it('loses no request while one process stops and another takes its port', async () => {
    const leaving = running.at(-1) ?? expect.unreachable()
    const statuses = new Set<number>()
    let stopped = false
    const knock = async (): Promise<void> => {
      for (let count = 0; count < 2_000 && !stopped; count += 1)
        statuses.add((await fetch(`${url}/readyz`)).status)
    }
    const knocking = Promise.all([knock(), knock()])
    await leaving.end('SIGTERM')
    expect(leaving.child.exitCode).toBe(0)
    await serve(ports[1])
    stopped = true
    await knocking
    expect([...statuses]).toEqual([200])
  })

  it('answers a wait although the process that held it is killed', async () => {
    key = await newKey()
    const id = await ask(ports[1])
    // Fresh, so that it knows nothing of a process that was away and gives one wait to each.
    const fresh = await useProxy({ processes: ports.map((port) => `127.0.0.1:${port}`) })
    const { answers } = await startWaits(`http://localhost:${fresh.port}`, id)
    await (running.at(-1) ?? expect.unreachable()).end('SIGKILL')
    await approve(id)
    for (const answer of await answers) {
      expect(answer.status).toBe(200)
      expect(JSON.parse(await answer.text())).toMatchObject({ id, status: 'approved' })
    }
    // One of them went to both: killed on the first, answered by the second.
    const [stayed, died] = ports.map((port) => `127.0.0.1:${port}`)
    await expect.poll(() => answeredBy(fresh, id).sort()).toEqual([stayed, `${died}, ${stayed}`].sort())
  })

  it('three members, each on an address of its own, lose nothing when one is killed, and take it back', async () => {
    key = await newKey()
    const port = await freePort()
    const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const
    const [first, second, third] = hosts.map((host) => `http://${host}:${port}`) as [string, string, string]
    const members: WatchedProcess[] = []
    for (const host of hosts) members.push(await serve(port, host))
    const { port: balancer } = await useProxy({ processes: hosts.map((host) => `${host}:${port}`) })
    const create = async (n: number): Promise<string> => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
      const init = { method: 'POST', body: JSON.stringify({ action: `Step ${n}` }) }
      const send = () =>
        fetch(`http://localhost:${balancer}/api/v1/approvals/request`, {
          ...init,
          headers: { ...headers, 'Idempotency-Key': `step-${n}` },
        })
      // As every caller should: with the same key until there is an answer.
      let made = await send()
      for (let again = 0; made.status >= 500 && again < 5; again += 1) made = await send()
      expect(made.status).toBe(201)
      return JSON.parse(await made.text()).id
    }
    const waited = await create(0)
    const wait = (member: string) => call(member, `/${waited}/wait?timeout=60`)
    const waits = [wait(first), wait(third)]
    const before = await Promise.all([1, 2, 3, 4, 5, 6].map(create))
    const during = [7, 8, 9, 10, 11, 12].map(create)
    await members[1]?.end('SIGKILL')
    const after = await Promise.all([13, 14, 15, 16, 17, 18].map(create))
    const made = [waited, ...before, ...(await Promise.all(during)), ...after].sort()
    expect(new Set(made).size).toBe(19)

    await approve(waited)
    for (const answer of await Promise.all(waits))
      expect(JSON.parse(await answer.text())).toMatchObject({ id: waited, status: 'approved' })
    const uses = await Promise.all([first, third].map((member) => call(member, `/${waited}/consume`, {})))
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 409])

    await serve(port, hosts[1])
    for (const member of [first, second, third]) {
      const listed = JSON.parse(await (await call(member, '?limit=100')).text())
      expect(listed.data.map(({ id }: { id: string }) => id).sort()).toEqual(made)
    }
  })
})
