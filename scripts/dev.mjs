// Rebuilds on change and restarts the service: tsc and vite watch the sources, node --watch the bundle that runs.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandOf, parts } from './parts.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const tool = (name) => join(root, 'node_modules', '.bin', name)

const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), '--if-stale'], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

// Each in a process group of its own: tsc runs a child that a signal to its parent alone would leave behind.
const run = (command, ...args) => spawn(command, args, { cwd: root, stdio: 'inherit', detached: true })
const watch = (part) => {
  // What runs stays until it is written over: a service that finds nothing builds everything.
  const mode = part.tsc === undefined ? '--no-emptyOutDir' : '--preserveWatchOutput'
  const [command, ...args] = commandOf(part, '--watch', mode)
  return run(tool(command), ...args)
}
const watchers = [
  ...parts.map(watch),
  run(process.execPath, '--watch', '--watch-preserve-output', join(root, 'bin/start.mjs')),
]
let stopping = false
const stop = () => {
  if (stopping) return
  stopping = true
  for (const { pid, exitCode, signalCode } of watchers) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGTERM')
  }
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
for (const child of watchers) child.once('exit', stop)
