import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A process of a test, with everything it writes. */
export interface WatchedProcess {
  child: ChildProcess
  output(): string
  /** Waits for output that matches. @throws when the process ends first */
  line(pattern: RegExp): Promise<RegExpExecArray>
  /** Ends it by that signal, unless it is gone, and waits until it is. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts a program and keeps what it writes to stdout and stderr. A service among them waits for a busy store. */
export function startProcess(
  program: string,
  args: string[],
  { cwd, env }: Pick<SpawnOptions, 'cwd'> & { env: NodeJS.ProcessEnv },
): WatchedProcess {
  const waiting = { STORE_TIMEOUT_MS: '90000', ...env }
  return watchProcess(spawn(program, args, { cwd, env: waiting, stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** Keeps what a process writes. */
export function watchProcess(child: ChildProcess): WatchedProcess {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += String(chunk)
      child.emit('output')
    })
  }
  const over = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    child,
    output: () => output,
    async line(pattern) {
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) return match
        if (over()) throw new Error(`${child.spawnfile} ended without ${pattern}:\n${output}`)
        await Promise.race([once(child, 'output'), once(child, 'exit')])
      }
    },
    async end(signal) {
      if (over()) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}
