import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { LIGHT_NPX } from '../support/npx.ts'
import { freePort } from '../support/service.ts'

const PAGE = readFileSync(packagePath('docs/callbacks.md'), 'utf8')
const SECTION = /^## Receiving callbacks\n([\s\S]*?)^## /m.exec(PAGE)?.[1] ?? ''

/** A receiver of the documents, as a process of its own. */
export interface ExampleReceiver {
  port: number
  /** Posts to it. @returns the status; 0 when it closed the connection without an answer */
  post(headers: Record<string, string>, body: string): Promise<number>
  /** What it acted on: one line each. Complete once it has ended. */
  acted(): string[]
  /** What it printed beside that. Complete once it has ended. */
  said(): string
  end(): Promise<void>
}

/** The one code block of that language, or the shell block with that word, in the section on callbacks. */
export function docsBlock(language: string, word = ''): string {
  const blocks = [...SECTION.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, name, text]) => name === language && text?.includes(word))
    .map(([, , text]) => text ?? '')
  const [block, ...more] = blocks
  if (block === undefined || more.length > 0)
    throw new Error(`${blocks.length} blocks of ${language} ${word}`)
  return block
}

/** A command that the section's text names in passing. */
export function docsCommand(start: string): string {
  return new RegExp(`\`(${start}[^\`]*)\``).exec(SECTION)?.[1] ?? expect.unreachable(`no ${start}`)
}

/** Runs a shell command of the documents but for names of files, addresses and secrets, in the package's folder. */
export async function runShell(
  command: string,
  changes: Record<string, string>,
  variables: Record<string, string> = {},
): Promise<string> {
  const script = Object.entries(changes).reduce((text, [from, to]) => text.replaceAll(from, to), command)
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...variables }
  const cwd = packagePath('.')
  return (await promisify(execFile)('bash', ['--norc', '-euc', LIGHT_NPX + script], { cwd, env })).stdout
}

/** A folder with the code of the documents, to run its commands in. */
export async function exampleFolder(): Promise<{ path: string; port: number; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'countersign-example-'))
  const port = await freePort()
  await mkdir(join(path, 'examples'))
  for (const [language, name] of [
    ['ts', 'receiver.ts'],
    ['python', 'receiver.py'],
  ] as const) {
    await writeFile(join(path, 'examples', name), docsBlock(language).replaceAll('4000', String(port)))
  }
  return { path, port, remove: () => rm(path, { recursive: true, force: true }) }
}

/** Starts a receiver by the command of the documents and waits until it takes connections. */
export async function startExample(
  folder: { path: string; port: number },
  command: string,
  environment: Record<string, string>,
): Promise<ExampleReceiver> {
  const script = command.replace(/^export .*$/gm, '')
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  const child = spawn('bash', ['--norc', '-euc', script], {
    cwd: folder.path,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what the shell started ends with it.
    detached: true,
  })
  const out: string[] = []
  const err: string[] = []
  child.stdout.on('data', (chunk: unknown) => out.push(String(chunk)))
  child.stderr.on('data', (chunk: unknown) => err.push(String(chunk)))
  const closed = once(child, 'close')
  while (!(await isOpen(folder.port))) {
    if (child.exitCode === null) await setTimeout(20)
    else {
      await closed
      throw new Error(`the receiver ended: ${err.join('')}`)
    }
  }
  return {
    port: folder.port,
    post: (headers, body) => post(folder.port, headers, body),
    acted: () => out.join('').split('\n').filter(Boolean),
    said: () => err.join(''),
    end: () => end(child),
  }
}

async function post(port: number, headers: Record<string, string>, body: string): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

/** Resolves when it is gone and everything it wrote has been read. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  process.kill(-child.pid, 'SIGTERM')
  await closed
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Says more than it sends, and leaves. */
export function hangUpInTheMiddle(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy())
    })
    socket.once('close', () => resolve())
    socket.once('error', reject)
  })
}
