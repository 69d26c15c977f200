import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { packagePath } from '../../src/config/package-path.ts'
import { START_MS, untilHolds } from './patience.ts'

/** The service as its users start it: `node bin/start.mjs` in a process of its own, with its embedded store. */
export interface ServiceProcess {
  child: ChildProcess
  /** Everything written to stdout and stderr. */
  output(): string
  /** Waits for a line that matches. @throws when the process ends first, or after `ms` */
  line(pattern: RegExp, ms?: number): Promise<RegExpExecArray>
  /** Ends it by that signal and waits until it is gone and all it wrote is here. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** Starts one and waits until it answers requests. */
export async function startServiceProcess(env: Record<string, string>): Promise<ServiceProcess> {
  const service = spawnService(env)
  await service.line(/Countersign is running/)
  return service
}

/** Starts one and does not wait. */
export function spawnService(env: Record<string, string>): ServiceProcess {
  return watchService(spawn(process.execPath, [packagePath('bin/start.mjs')], optionsFor(env)))
}

/** As the README says, from the package's folder; leads a process group, so that what it leaves behind can be ended. */
export function spawnByNpm(env: Record<string, string>): ServiceProcess {
  return watchService(spawn('npm', ['start'], { ...optionsFor(env), cwd: packagePath('.'), detached: true }))
}

function optionsFor(env: Record<string, string>) {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  // The machine of the tests may be busier than one that serves people.
  return { env: { ...inherited, STORE_TIMEOUT_MS: '90000', ...env }, stdio: 'pipe' } as const
}

/** Watches a service that was started by other means. */
export function watchService(child: ChildProcessWithoutNullStreams): ServiceProcess {
  let output = ''
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const look of [...watchers]) look()
  }
  const collect = (chunk: unknown): void => {
    output += String(chunk)
    changed()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  // Not `exit`: what it wrote last may come after that.
  let over = false
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      over = true
      changed()
      resolve()
    })
  })
  return {
    child,
    output: () => output,
    async line(pattern, ms = START_MS) {
      const found = () => pattern.exec(output)
      await untilHolds(watchers, String(pattern), () => over || found() !== null, ms)
      const match = found()
      if (match === null) throw new Error(`the service ended:\n${output}`)
      return match
    },
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await closed
    },
  }
}
