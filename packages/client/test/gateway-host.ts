import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { COMMAND } from './caller.ts'
import type { HostileSetting } from './hostile-setting.ts'

export const SERVER = fileURLToPath(new URL('gateway-server.mjs', import.meta.url))

/** A folder with the configuration of a gateway, and the file in which the server notes what it ran. */
export interface Bank {
  folder: string
  /** Writes `gate.yaml`: these lines, and what every one of these tests has. */
  write(rules: string): Promise<void>
  /** What `pay` was really given. */
  runs(): Promise<unknown[]>
  env: Record<string, string>
  /** The words after `countersign gateway`. */
  args(...options: string[]): string[]
}

export async function makeBank({ network, key }: Pick<HostileSetting, 'network' | 'key'>): Promise<Bank> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'gate.yaml')
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    RUNS: join(folder, 'runs'),
    BANK_TOKEN: 'bank-token-4711',
    COUNTERSIGN_URL: network.url,
    COUNTERSIGN_KEY: key,
  }
  return {
    folder,
    env,
    write: (rules) => writeFile(config, `server: bank\nenv: { TOKEN: "\${BANK_TOKEN}" }\n${rules}`),
    args: (...options) => ['gateway', '--config', config, ...options, '--', process.execPath, SERVER],
    async runs() {
      const text = await readFile(env.RUNS, 'utf8').catch(() => '')
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    },
  }
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
