import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.ts'
import { packagePath } from '../../src/config/package-path.ts'
import { START_MS, untilHolds } from './patience.ts'

/** What a command left behind. */
export interface CliRun {
  code: number | null
  stdout: string
  stderr: string
  /** stdout as JSON; throws when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely; a wrong path fails the assertion
  json(): any
  /** stderr as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  error(): any
}

export interface CliOptions {
  /** The whole environment besides PATH: nothing of the tests' own leaks in. */
  env?: Record<string, string>
  stdin?: string
}

export interface ProcessOptions extends CliOptions {
  cwd?: string
}

/** A command that runs until it is stopped. */
export interface RunningCli {
  child: ChildProcess
  /** Resolves with the first line on stdout or stderr that matches; rejects when the command ends without one. */
  line(pattern: RegExp): Promise<RegExpExecArray>
  /** Sends the signal and waits for the end. @returns the exit code */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const BIN = packagePath('bin/countersign.mjs')

/** Runs a command to its end, in this process. */
export async function cli(arguments_: string[], options: CliOptions = {}): Promise<CliRun> {
  const written = { stdout: '', stderr: '' }
  const into = (stream: keyof typeof written) => ({
    write: (text: string) => {
      written[stream] += text
    },
  })
  const code = await runCli(arguments_, {
    env: { STORE_TIMEOUT_MS: '90000', ...options.env },
    stdin: Readable.from([Buffer.from(options.stdin ?? '')]),
    stdout: into('stdout'),
    stderr: into('stderr'),
  })
  return ended({ code, ...written })
}

/** Runs the built command line to its end, as a process of its own: what its users do. */
export async function cliProcess(arguments_: string[], options: ProcessOptions = {}): Promise<CliRun> {
  const child = start(arguments_, options)
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin?.end(options.stdin ?? '')
  const code = await new Promise<number | null>((done) => child.once('close', done))
  return ended({ code, stdout, stderr })
}

function ended(run: Pick<CliRun, 'code' | 'stdout' | 'stderr'>): CliRun {
  return { ...run, json: () => JSON.parse(run.stdout), error: () => JSON.parse(run.stderr) }
}

/** Starts a command that stays; it ends with the test at the latest. */
export function startCli(arguments_: string[], options: ProcessOptions = {}): RunningCli {
  const child = start(arguments_, options)
  const ended = new Promise<number | null>((done) => child.once('close', done))
  let output = ''
  const watchers = new Set<() => void>()
  const wake = (): void => {
    for (const look of [...watchers]) look()
  }
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
      wake()
    })
  let over = false
  void ended.then(() => {
    over = true
    wake()
  })
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal)
    return ended
  }
  onTestFinished(async () => void (await stop('SIGKILL')))
  return {
    child,
    stop,
    async line(pattern) {
      const found = () => pattern.exec(output)
      await untilHolds(watchers, String(pattern), () => over || found() !== null, START_MS)
      const match = found()
      if (match === null) throw new Error(`the command ended without ${pattern}:\n${output}`)
      return match
    },
  }
}

/** An empty folder, and the environment of a service of its own in it. */
export async function useDataDir(): Promise<{ folder: string; env: Record<string, string> }> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { folder, env: { DATA_DIR: join(folder, 'data') } }
}

function start(arguments_: string[], { env, cwd }: ProcessOptions): ChildProcess {
  return spawn(process.execPath, [BIN, ...arguments_], {
    // Away from the package: a .env of the developer must not decide.
    cwd: cwd ?? tmpdir(),
    env: { PATH: process.env.PATH ?? '', STORE_TIMEOUT_MS: '90000', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}
