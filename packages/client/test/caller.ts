import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { waitUntil } from '../../../test/support/chat-platform.ts'

/** The command of the client, as it is built. */
export const COMMAND = fileURLToPath(new URL('../bin/countersign.js', import.meta.url))

interface Ended {
  code: number | null
  out: string
  err: string
}

/** A command that runs. */
export interface Caller {
  child: ChildProcess
  ended: Promise<Ended>
  /** The id that it says on stderr. */
  asked(): Promise<string>
}

interface CallerOptions {
  cwd: string
  env: Record<string, string>
  input?: string
  /** Leaves stdin open for more. */
  open?: boolean
}

/** Starts the command as a process with nothing but the given settings. @param shell a line for `sh` instead of the arguments */
export function startCaller(
  argv: string[] | { shell: string },
  { cwd, env, input = '', open = false }: CallerOptions,
): Caller {
  const line = Array.isArray(argv) ? [process.execPath, COMMAND, ...argv] : ['/bin/sh', '-c', argv.shell]
  const [program = '', ...rest] = line
  const child = spawn(program, rest, { cwd, env: { PATH: process.env.PATH, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  // A command may end before it has read everything.
  child.stdin.on('error', () => {})
  if (!open) child.stdin.end(input)
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  const asked = async (): Promise<string> => {
    await waitUntil(() => expect(err).toMatch(/req_\w+/))
    return /req_\w+/.exec(err)?.[0] ?? ''
  }
  return { child, ended, asked }
}
