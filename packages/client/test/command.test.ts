import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import { waitUntil } from '../../../test/support/chat-platform.ts'
import { CALLER_COMMANDS } from '../cli/run-caller.ts'
import { COMMAND, startCaller } from './caller.ts'
import { type RealService, startRealService } from './real-service.ts'

let service: RealService
let folder: string
let key: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'caller-'))
  service = await startRealService()
  key = await service.newKey()
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

function start(argv: string[], env: Record<string, string> = {}, input = '') {
  const own = { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key, ...env }
  return startCaller(argv, { cwd: folder, env: own, input })
}

describe('countersign ask', () => {
  it.each([
    ['approved', 0, 'is approved'],
    ['rejected', 10, 'was rejected: no'],
  ] as const)('%s ends with %i', async (decision, code, words) => {
    await writeFile(join(folder, 'c.json'), '{"amount":"120"}')
    const { asked, ended } = start(['ask', `Pay ${decision}`, '--context', '@c.json'])
    const id = await asked()
    await service.decide(id, decision, 'no')
    expect(await ended).toMatchObject({ code, out: `${id} ${words}\n` })
    if (decision === 'rejected') return
    const { out } = await start(['ask', `Pay ${decision}`, '--context', '@c.json', '--within', '0', '--json'])
      .ended
    expect(JSON.parse(out)).toMatchObject({ status: 'pending', id: expect.not.stringMatching(id) })
  })

  it('withdrawn ends with 12, an undecided one with 13, one that was used with 14', async () => {
    const { asked, ended } = start(['ask', 'Deploy', '--for', 'build 7'])
    const id = await asked()
    expect((await start(['ask', 'Deploy', '--for', 'build 7', '--within', '1']).ended).code).toBe(13)
    await service.decide(id, 'approved')
    expect((await ended).code).toBe(0)
    const again = await start(['ask', 'Deploy', '--for', 'build 7']).ended
    expect(again).toMatchObject({ code: 14, out: expect.stringContaining('used before') })
    const gone = start(['ask', 'Never mind'])
    const path = `${service.url}/api/v1/approvals/${await gone.asked()}/cancel`
    expect((await fetch(path, { method: 'POST', headers: { authorization: `Bearer ${key}` } })).status).toBe(
      200,
    )
    expect((await gone.ended).code).toBe(12)
  })

  it('killed and called again, it is one request', async () => {
    const own = await service.newKey()
    const first = start(['ask', 'Drop table x'], { COUNTERSIGN_KEY: own })
    const id = await first.asked()
    first.child.kill('SIGKILL')
    await first.ended
    const second = start(['ask', 'Drop table x'], { COUNTERSIGN_KEY: own })
    expect(await second.asked()).toBe(id)
    await service.decide(id, 'approved')
    expect((await second.ended).code).toBe(0)
    expect(await service.requestsOf(own)).toHaveLength(1)
  })

  it.each<[string, string[], Record<string, string>, RegExp]>([
    ['no action', ['ask'], {}, /one action, in quotes/],
    ['two actions', ['ask', 'a', 'b'], {}, /one action, in quotes/],
    ['a context that is no object', ['ask', 'a', '--context', '[1]'], {}, /--context must be a JSON object/],
    ['a file that is not there', ['ask', 'a', '--context', '@none.json'], {}, /none\.json/],
    ['an unknown option', ['ask', 'a', '--loud'], {}, /--loud/],
    ['a time in words', ['ask', 'a', '--within', 'soon'], {}, /--within must be a whole number/],
    ['a time the service refuses', ['ask', 'a', '--ttl', '5'], {}, /ttl_seconds/],
    ['an unknown command', ['aks', 'a'], {}, /no command aks/],
    ['no key', ['ask', 'a'], { COUNTERSIGN_KEY: '' }, /set COUNTERSIGN_KEY as well/],
    [
      'neither address nor key',
      ['ask', 'a'],
      { COUNTERSIGN_KEY: '', COUNTERSIGN_URL: '' },
      /countersign login/,
    ],
    ['a wrong key', ['ask', 'a'], { COUNTERSIGN_KEY: 'sa_live_wrong' }, /invalid or missing API key/],
    ['credentials that others can read', ['ask', 'a'], OPEN, /chmod 600/],
  ])('%s ends with 20 and a sentence', async (name, argv, env, words) => {
    if (name.startsWith('credentials')) await writeFile(join(folder, 'open.json'), '{}', { mode: 0o644 })
    const { code, out, err } = await start(argv, env).ended
    expect({ code, out }).toEqual({ code: 20, out: '' })
    expect(err).toMatch(words)
    expect(err).not.toMatch(/^ +at /m)
  })

  it('a sandbox decision does not count, unless it is allowed', async () => {
    const env = { COUNTERSIGN_KEY: await service.newKey(true) }
    const refused = await start(['ask', 'Try'], env).ended
    expect(refused).toMatchObject({
      code: 20,
      err: expect.stringContaining('no person decides about this sandbox key'),
    })
    expect((await start(['ask', 'Try', '--allow-sandbox'], env).ended).code).toBe(0)
  })
})

describe("the service's own countersign", () => {
  const bin = packagePath('bin/countersign.mjs')
  const run = (...argv: string[]) => spawnSync(process.execPath, [bin, ...argv], { encoding: 'utf8' })

  it('names the commands of callers, and hands them on', () => {
    const { stdout } = run('--help')
    for (const [name, { about }] of Object.entries(CALLER_COMMANDS)) {
      expect(stdout.replace(/\s+/g, ' ')).toContain(` ${name} ${about}`)
      expect(run('completion', 'bash').stdout).toMatch(new RegExp(`words='[^']* ${name} `))
    }
    expect(run('ask', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('ask <action>') })
  })
})

describe('countersign login', () => {
  const none = { COUNTERSIGN_URL: '', COUNTERSIGN_KEY: '' }
  const saved = () => join(folder, '.config/countersign/credentials.json')
  const login = (input: string, ...argv: string[]) =>
    start(['login', '--url', service.url, ...argv], none, input).ended
  afterEach(() => rm(join(folder, '.config'), { recursive: true, force: true }))

  it('keeps a key that works where only its owner reads it, for the other commands, until logout', async () => {
    const ended = await login(`${key}\n`)
    expect(ended).toEqual({ code: 0, err: '', out: `The key works, and is saved in ${saved()}\n` })
    expect(JSON.parse(await readFile(saved(), 'utf8'))).toEqual({ url: service.url, key })
    const modes = [saved(), dirname(saved())].map((path) => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o600, 0o700])
    expect((await start(['ask', 'Login', '--within', '0'], none).ended).code).toBe(13)
    expect((await start(['logout'], none).ended).code).toBe(0)
    expect(existsSync(saved())).toBe(false)
    expect((await start(['logout'], none).ended).out).toBe('No key was saved.\n')
  })

  it('gets a key from the owner of an account, who types the code that is shown', async () => {
    const { child, ended } = start(
      ['login', '--url', service.url, '--email', 'owner@example.com', '--name', 'Release agent'],
      none,
    )
    let shown = ''
    child.stderr?.on('data', (text: string) => (shown += text))
    await waitUntil(() => expect(shown).toMatch(/[A-Z]{4}-[A-Z]{4}/))
    await service.giveKey(/[A-Z]{4}-[A-Z]{4}/.exec(shown)?.[0] ?? '')
    const { code, out, err } = await ended
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(saved()) })
    expect(JSON.parse(await readFile(saved(), 'utf8')).key).toMatch(/^sa_live_/)
    expect(out + err).not.toContain('sa_live_')
  })

  it('asks at a terminal without showing what is typed', async () => {
    const line = `'${process.execPath}' '${COMMAND}' login --url ${service.url}`
    const env = { HOME: folder, ...none }
    const terminal = startCaller(
      { shell: `script -qec "${line}" /dev/null` },
      { cwd: folder, env, open: true },
    )
    let shown = ''
    terminal.child.stdout?.on('data', (text: string) => (shown += text))
    await waitUntil(() => expect(shown).toContain('API key (not shown): '))
    terminal.child.stdin?.write(`${key}\r`)
    await waitUntil(() => expect(shown).toContain('The key works'))
    terminal.child.stdin?.end()
    expect((await terminal.ended).code).toBe(0)
    expect(shown).not.toContain(key)
    expect(JSON.parse(await readFile(saved(), 'utf8')).key).toBe(key)
  })

  it.each<[string, string, string[], RegExp]>([
    ['a key that the service does not know', `sa_live_${'0'.repeat(49)}`, [], /invalid or missing API key/],
    ['something else', 'password', [], /this is no API key/],
    ['nothing', '', [], /this is no API key/],
    ['a key as an argument', '', [`sa_live_${'1'.repeat(49)}`], /read from stdin/],
    ['a key as an option', '', [`--key=sa_live_${'1'.repeat(49)}`], /Unknown option '--key'/],
    ['no address', 'sa_live_1', ['--url', ''], /needs --url/],
    ['what is no address', 'sa_live_1', ['--url', 'example.com'], /https:\/\/approvals\.example\.com/],
    ['what is no e-mail address', '', ['--email', 'owner'], /is not an e-mail address/],
  ])('saves nothing for %s, and repeats no key', async (_, input, argv, words) => {
    const { code, out, err } = await login(input, ...argv)
    expect({ code, out }).toEqual({ code: 20, out: '' })
    expect(err).toMatch(words)
    expect(err).not.toMatch(/sa_live_\d/)
    expect(existsSync(saved())).toBe(false)
  })
})

const OPEN = { COUNTERSIGN_KEY: '', COUNTERSIGN_URL: '', COUNTERSIGN_CREDENTIALS: 'open.json' }

describe('countersign mcp', () => {
  const self = { name: 'test', version: '1' }
  const process_ = () => ({
    command: process.execPath,
    args: [COMMAND, 'mcp'],
    env: { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key },
  })
  type CallTool = (name: string, args: Record<string, unknown>) => Promise<unknown>
  const CLIENTS: [string, () => Promise<CallTool>][] = [
    [
      'client v1',
      async () => {
        const client = new OlderClient(self)
        await client.connect(new OlderStdio(process_()))
        onTestFinished(() => client.close())
        return (name, args) => client.callTool({ name, arguments: args })
      },
    ],
    [
      'client v2',
      async () => {
        const client = new Client(self, { versionNegotiation: { mode: 'auto' } })
        await client.connect(new StdioClientTransport(process_()))
        onTestFinished(() => client.close())
        return (name, args) => client.callTool({ name, arguments: args })
      },
    ],
  ]

  it.each(CLIENTS)(
    '%s asks and uses through stdin and stdout, over a restart of the service',
    async (name, connect) => {
      const call = await connect()
      const asked = { action: `Pay by ${name}`, context: { amount: '120' } }
      const waits = call('request_approval', { ...asked, wait_seconds: 30 })
      const mine = async () => (await service.requestsOf(key)).find(({ action }) => action === asked.action)
      await waitUntil(async () => expect(await mine()).toBeDefined())
      await service.restart('SIGKILL')
      const { id = '' } = (await mine()) ?? {}
      await service.decide(id, 'approved')
      expect(await waits).toMatchObject({ structuredContent: { request_id: id, status: 'approved' } })
      expect(await call('consume_approval', { request_id: id, ...asked })).toMatchObject({
        structuredContent: { used: true, status: 'approved' },
      })
      expect(await call('consume_approval', { request_id: id, ...asked })).toMatchObject({ isError: true })
    },
  )

  it.each(CLIENTS)(
    '%s hears at once that there is no tool of a name that no header holds',
    async (_, connect) => {
      const call = await connect()
      const answer = await call('prüfen\n→', {}).catch((error) => ({ error: String(error) }))
      expect(JSON.stringify(answer)).toMatch(/prüfen.*not found/)
    },
  )

  it('answers what is no message as the protocol does', async () => {
    const { out, code } = await start(['mcp'], {}, '{\n').ended
    expect({ code, out: JSON.parse(out) }).toMatchObject({
      code: 0,
      out: { jsonrpc: '2.0', id: null, error: { code: -32700 } },
    })
  })

  it('hands on what the service refuses', async () => {
    const { env, ...command } = process_()
    const client = new OlderClient(self)
    const wrong = new OlderStdio({ ...command, env: { ...env, COUNTERSIGN_KEY: 'sa_live_wrong' } })
    await expect(client.connect(wrong)).rejects.toThrow(/invalid or missing API key/)
    await client.close()
  })
})
