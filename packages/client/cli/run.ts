import { spawn, spawnSync } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { accessSync, constants, openSync, readSync, statSync } from 'node:fs'
import { constants as os } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { countersign } from '../src/client.ts'
import { Invalid } from '../src/errors.ts'
import { secondsOf, wordsOf } from './ask.ts'
import { readCredentials } from './credentials.ts'
import { EXIT } from './exit-codes.ts'
import { USE_WITHIN_SECONDS } from './hook.ts'
import { hashFile, hashNamedFiles, hashOpenFile } from './named-files.ts'
import { actionOf } from './shown-arguments.ts'

const HELP = `countersign run [options] -- <command> [arguments]

Asks a person to approve the command, and then runs it, once. They see the arguments, the directory, the SHA-256 of the program and of
each file among the arguments, and the state of git. All of it must still be the same after they approved. Exit code: that of the
command; if it did not run, 10 rejected, 11 expired, 12 withdrawn, 13 not decided within --within, 14 used before, 20 could not ask.

  --env <name>          also show that the command gets this variable, without its value; another value is another question. May be
                        repeated
  --ttl <seconds>       how long the request waits, 60 to 604800
  --within <seconds>    how long this command waits; the request stays
  --allow-sandbox       let the decision of a sandbox key count: for trials only`

const OPTIONS = {
  env: { type: 'string', multiple: true, default: [] as string[] },
  ttl: { type: 'string' },
  within: { type: 'string' },
  'allow-sandbox': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Variables by which something else runs than the program alone: shown without being asked for. */
const LOADERS =
  /^(LD_|DYLD_|BASH_FUNC_|(NODE_OPTIONS|BASH_ENV|ENV|PYTHONPATH|PERL5LIB|PERL5OPT|RUBYLIB|RUBYOPT|JAVA_TOOL_OPTIONS)$)/

/** A program, held open: a file that is put in its place is another one. */
interface Program {
  path: string
  file: number
  /** It runs from the open file; anything else would not find what lies beside it. */
  isHeld: boolean
}

/** `countersign run`. @returns the exit code of the command, or why it did not run */
export async function runCommand(argv: string[]): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const { values } = parseArgs({ args: argv.slice(0, end), options: OPTIONS })
  const command = argv.slice(end + 1)
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const program = openProgram(command[0])
  const credentials = readCredentials()
  const found = () => describe(command, program, { names: values.env, key: credentials.key })
  const asked = found()
  const client = countersign({
    ...credentials,
    allowSandbox: values['allow-sandbox'],
    onRetry: (why, seconds) => say(`The service did not answer (${why}); trying again in ${seconds} s.`),
  })
  const outcome = await client.ask({
    action: actionOf('Run', command.map(quote).join(' ')),
    context: asked,
    // A command that was killed and started again asks nobody twice.
    for: [randomUUID(), 'run'],
    fields: { reuse: 'open', use_within_seconds: USE_WITHIN_SECONDS },
    ttlSeconds: secondsOf('ttl', values.ttl),
    withinSeconds: secondsOf('within', values.within),
    onAsked: ({ reviewUrl }) => say(`A person can decide at ${reviewUrl}`),
  })
  if (outcome.status !== 'approved') {
    say(`${wordsOf(outcome)}. The command did not run.`)
    return EXIT[outcome.status]
  }
  const checkUnchanged = () => {
    const now = found()
    const name = Object.keys(asked).find((key) => JSON.stringify(now[key]) !== JSON.stringify(asked[key]))
    if (name !== undefined) throw new Invalid(`${name} changed since a person was asked. Ask again.`)
  }
  checkUnchanged()
  await outcome.use()
  // Once more: using it took a moment.
  checkUnchanged()
  return execute(command, program)
}

function say(words: string): void {
  process.stderr.write(`${words}\n`)
}

/** Finds a program as a shell does, and opens it. @throws Invalid */
function openProgram(name: string | undefined): Program {
  if (!name)
    throw new Invalid('run takes a command after --, as in: countersign run -- ./deploy.sh production')
  const folders = name.includes('/') ? [''] : foldersOfPath()
  const path = folders.map((folder) => resolve(join(folder, name))).find(isExecutable)
  if (path === undefined) throw new Invalid(`there is no program ${name}.`)
  const file = openSync(path, 'r')
  const start = Buffer.alloc(4)
  readSync(file, start, 0, 4, 0)
  const isHeld = process.platform === 'linux' && start.toString('latin1') === '\x7fELF'
  return { path, file, isHeld }
}

function foldersOfPath(): string[] {
  return (process.env.PATH ?? '').split(delimiter)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** What a person is asked about; the same again as long as nothing has changed. @throws Invalid */
function describe(
  command: string[],
  { path, file }: Program,
  { names, key }: { names: string[]; key: string },
): Record<string, unknown> {
  const unset = names.find((name) => process.env[name] === undefined)
  if (unset !== undefined) throw new Invalid(`the environment has no ${unset}.`)
  const sha256 = hashOpenFile(file)
  // The name must still lead to what is held: a script runs by it.
  const byName = hashFile(path)
  if (sha256 === null) throw new Invalid(`${path} is too large to be hashed.`)
  const loaders = Object.keys(process.env).filter((name) => LOADERS.test(name))
  const environment = [...new Set([...names, ...loaders])].sort()
  const files = hashNamedFiles(command.slice(1), process.cwd())
  // Else the approval of a run with one value would serve a repeat with another. Nobody without the key can guess values by it.
  const values = JSON.stringify(environment.map((name) => process.env[name]))
  const environment_hmac = createHmac('sha256', key).update(values).digest('hex')
  return {
    command,
    directory: process.cwd(),
    program: { path, sha256, ...(byName !== sha256 && { replaced_by: byName }) },
    ...(files.length > 0 && { files }),
    ...gitState(),
    ...(environment.length > 0 && { environment, environment_hmac }),
  }
}

/** Nothing that the repository names shall run before anybody was asked: no monitor, no hook. */
const QUIET = ['--no-optional-locks', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']

/** Filters of the repository are turned off, so what they would change counts as dirty. */
function gitState(): { git?: { head: string; dirty: boolean } } {
  const env = {
    ...process.env,
    // A package of the project may have a program called git.
    PATH: foldersOfPath()
      .filter((folder) => isAbsolute(folder) && !/[\\/]node_modules[\\/]/.test(folder))
      .join(delimiter),
    // Objects that are missing would be fetched, by a program that the repository names.
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_TERMINAL_PROMPT: '0',
  }
  const git = (...argv: string[]) => spawnSync('git', [...QUIET, ...argv], { encoding: 'utf8', env })
  const { status, stdout } = git('rev-parse', '--verify', 'HEAD')
  if (status !== 0) return {}
  const head = stdout.trim()
  const settings = git('config', '--null', '--name-only', '--get-regexp', '^filter\\.').stdout.split('\0')
  const filters = new Set(settings.flatMap((name) => /^filter\.(.*)\.[^.]+$/s.exec(name)?.[1] ?? []))
  // `-c` cannot name it.
  if ([...filters].some((name) => name.includes('='))) return { git: { head, dirty: true } }
  const off = [...filters].flatMap((name) =>
    ['clean=', 'smudge=', 'process=', 'required=false'].flatMap((value) => ['-c', `filter.${name}.${value}`]),
  )
  // Of a submodule, which has settings of its own, only the commit is looked at.
  const work = git(...off, 'status', '--porcelain', '--ignore-submodules=dirty')
  return { git: { head, dirty: work.status !== 0 || work.stdout !== '' } }
}

const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

/** Runs it. @returns its exit code, as a shell gives it */
function execute([name = '', ...rest]: string[], { path, file, isHeld }: Program): Promise<number> {
  if (!isHeld) say(`${path} runs by its name: a change in the moment since the last check is not noticed.`)
  // In the child the open file has the number 3.
  const child = spawn(isHeld ? '/proc/self/fd/3' : path, rest, {
    argv0: name,
    stdio: ['inherit', 'inherit', 'inherit', ...(isHeld ? [file] : [])],
  })
  for (const signal of FORWARDED)
    process.on(signal, () => {
      // A terminal sends these two to the command itself.
      if (!(process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child.kill(signal)
    })
  return new Promise((ended, failed) => {
    child.once('error', ({ message }) =>
      failed(new Invalid(`it was approved, but ${path} cannot start: ${message}.`)),
    )
    child.once('exit', (code, signal) => ended(code ?? 128 + (signal === null ? 0 : os.signals[signal])))
  })
}

/** As a person would type it in a shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
