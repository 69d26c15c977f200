// Rebuilds on change and restarts the service: tsc and vite watch the sources, node --watch the compiled files.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tool = (name) => join(root, 'node_modules', '.bin', name)

const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), '--if-stale'], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

const watchers = [
  spawn(tool('tsc'), ['-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'], {
    cwd: root,
    stdio: 'inherit',
  }),
  spawn(
    tool('vite'),
    ['build', '--watch', '--config', 'webauthn-page/vite.config.ts', '--logLevel', 'warn'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  ),
  spawn(process.execPath, ['--watch', '--watch-preserve-output', join(root, 'bin/start.mjs')], {
    cwd: root,
    stdio: 'inherit',
  }),
]
const stop = () => {
  for (const child of watchers) child.kill('SIGTERM')
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
for (const child of watchers) child.once('exit', stop)
