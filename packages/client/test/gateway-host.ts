import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { COMMAND, startCaller } from './caller.ts'
import type { HostileSetting } from './hostile-setting.ts'

export const SERVER = fileURLToPath(new URL('gateway-server.mjs', import.meta.url))

const RULES = `
hold_seconds: 20
rules:
  - { tool: [read, change, die, big, picture, slow, hang, secrets, consult], effect: allow }
  - { tool: pay, effect: approve, title: "Pay {amount} to {to}" }
  - { tool: drop, effect: deny, reason: Tables are dropped by hand. }
`
/** The same, but nobody is waited for. */
export const HASTY_RULES = RULES.replace('hold_seconds: 20', 'hold_seconds: 1')

export const PAY = { to: 'ACME', amount: '120' }
export const PAID = { failed: false, text: 'paid 120 to ACME' }

/** A gateway in front of a bank: its folder has the configuration, and the file in which the bank notes what it ran. */
export interface Bank {
  folder: string
  env: Record<string, string>
  /** Writes `gate.yaml`: these lines, and what every one of these tests has. */
  write(rules: string): Promise<void>
  /** The server: its command, or its address. */
  words: string[]
  /** The words after `countersign`. */
  args(...options: string[]): string[]
  /** Starts the gateway, with the tools pinned as they are. */
  start(...options: string[]): Promise<LineHost>
  /** What `pay` was really given. */
  runs(): Promise<unknown[]>
  /** All requests of the key, newest first. */
  requests(): Promise<{ id: string; action: string; status: string }[]>
  /** What a person sees of a request. */
  read(id: string): Promise<{ action: string; context: Record<string, unknown> }>
}

/** Call it at the top of a file; what it returns is made anew for each test. */
export function useBank(on: HostileSetting): Bank {
  let lock: string | undefined
  const bank = {
    write: (rules) =>
      writeFile(join(bank.folder, 'gate.yaml'), `server: bank\nenv: { TOKEN: "\${BANK_TOKEN}" }\n${rules}`),
    args: (...options) => [
      ...['gateway', '--config', join(bank.folder, 'gate.yaml'), ...options],
      ...['--', ...bank.words],
    ],
    async start(...options) {
      const file = join(bank.folder, 'gate.lock.json')
      if (lock === undefined) {
        const { code, err } = await startCaller(bank.args('--pin'), { cwd: bank.folder, env: bank.env }).ended
        expect(code, err).toBe(0)
        lock = await readFile(file, 'utf8')
      }
      await writeFile(file, lock)
      return startHost(bank.args(...options), bank.env)
    },
    async runs() {
      const text = await readFile(join(bank.folder, 'runs'), 'utf8').catch(() => '')
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    },
    requests: () => on.service.requestsOf(on.key),
    async read(id) {
      const headers = { authorization: `Bearer ${on.key}` }
      const answer = await fetch(`${on.service.url}/api/v1/approvals/${id}`, { headers })
      return Object(await answer.json())
    },
  } as Bank
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    bank.folder = folder
    bank.words = [process.execPath, SERVER]
    bank.env = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      RUNS: join(folder, 'runs'),
      BANK_TOKEN: 'bank-token-4711',
      COUNTERSIGN_URL: on.network.url,
      COUNTERSIGN_KEY: on.key,
    }
    await bank.write(RULES)
  })
  return bank
}

/** An answer, or a message that the server sent by itself. */
interface Heard {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: { isError?: boolean; content?: { text: string }[] } & Record<string, unknown>
  error?: { code: number; message: string }
}

/** A host that speaks line by line, as no official client does. */
export interface LineHost {
  child: ChildProcess
  heard: Heard[]
  lines: string[]
  stderr(): string
  say(message: object | string): void
  /** Sends a request. */
  ask(method: string, params?: object, id?: string | number): Promise<Heard>
  /** Calls a tool. @returns what the model reads */
  call(name: string, args?: object, meta?: object): Promise<{ failed: boolean; text: string }>
  ended: Promise<number | null>
}

/** Starts a program that speaks MCP on stdin and stdout, and says hello. */
export async function startHost(
  args: string[],
  env: Record<string, string>,
  program = COMMAND,
): Promise<LineHost> {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [heard, lines]: [Heard[], string[]] = [[], []]
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdin.on('error', () => {})
  const waiting = new Map<unknown, (answer: Heard) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: Heard = JSON.parse(line)
    lines.push(line)
    heard.push(message)
    if (message.method === undefined) waiting.get(message.id)?.(message)
  })
  let last = 0
  const say = (message: object | string) =>
    child.stdin.write(
      `${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
    )
  const ask: LineHost['ask'] = (method, params, id = ++last) => {
    say({ id, method, params })
    return new Promise((resolve) => waiting.set(id, resolve))
  }
  const host: LineHost = {
    child,
    heard,
    lines,
    stderr: () => errors,
    say,
    ask,
    async call(name, args = {}, _meta = undefined) {
      const { result, error } = await ask('tools/call', { name, arguments: args, _meta })
      return {
        failed: error !== undefined || result?.isError === true,
        text: error?.message ?? result?.content?.[0]?.text ?? '',
      }
    },
    ended: new Promise((resolve) => child.on('close', resolve)),
  }
  const clientInfo = { name: 'host', version: '1' }
  const hello = await ask(
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo },
    'hello',
  )
  expect(hello.result).toMatchObject({ serverInfo: { name: 'bank' } })
  say({ method: 'notifications/initialized' })
  return host
}
