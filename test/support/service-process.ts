import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { packagePath } from '../../src/package-path.ts'

/** The service as its users start it: `node bin/start.mjs` in a process of its own, with its embedded store. */
export interface ServiceProcess {
  child: ChildProcess
  /** Everything written to stdout and stderr. */
  output(): string
  /** Waits for a line that matches. @throws when the process ends first */
  line(pattern: RegExp): Promise<RegExpExecArray>
  /** Ends it by that signal and waits until it is gone. */
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
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  const child = spawn(process.execPath, [packagePath('bin/start.mjs')], {
    env: { ...inherited, ...env },
    stdio: 'pipe',
  })
  let output = ''
  const collect = (chunk: unknown): void => {
    output += String(chunk)
    child.emit('output')
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  return {
    child,
    output: () => output,
    async line(pattern) {
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) return match
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`the service ended:\n${output}`)
        await Promise.race([once(child, 'output'), once(child, 'exit')])
      }
    },
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}
